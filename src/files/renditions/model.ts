import type { BaseConfig } from '../../config/service.ts'
import type { FileClass } from '../classes.ts'

/** How a rendition is made, as the base configuration has it. */
export type Recipe = BaseConfig['produce_config']['value']['classes']['image']['versions'][number]

/** A rendition that is to be made; of smaller priority is made earlier. */
export interface Scheduled {
  readonly fileId: number
  readonly recipe: Recipe
  /** When it is made: `turnsOf` the recipes. */
  readonly turn: number
  /** Added to that of the recipe. */
  readonly priority: number
}

export type RenditionSettings = BaseConfig['produce_config']['value']

/** An original as far as recipes depend on it. */
export interface OriginalType {
  readonly class: FileClass
  readonly extension: string
}

/** A job is tried again when it could not do its work for lack of a database or of space, not for a bad file. */
export const maxAttempts = 8
