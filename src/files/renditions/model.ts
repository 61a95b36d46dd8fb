import type { BaseConfig } from '../../config/service.ts'
import type { FileClass } from '../classes.ts'

type Configured = BaseConfig['produce_config']['value']
type ConfiguredRecipe = Configured['classes']['image']['versions'][number]

/** How a rendition is made: by the base configuration, or by a program that is installed beside the service. */
export interface Recipe extends Omit<ConfiguredRecipe, 'recipe' | 'extensions' | 'displayname'> {
  readonly recipe: ConfiguredRecipe['recipe'] | 'program'
  readonly extensions: readonly string[]
  readonly displayname: Readonly<Record<string, string>>
  readonly program?: RecipeProgram
}

/** A recipe of a program, as the file service sees it. */
export interface RecipeProgram {
  readonly name: string
  readonly params: Readonly<Record<string, unknown>>
  /** Changes whenever the output for the same file may change. */
  readonly fingerprint: string
}

/** A rendition to be made; a lower priority comes first. */
export interface Scheduled {
  readonly fileId: number
  readonly recipe: Recipe
  /** Its turn: `turnsOf` the recipes. */
  readonly turn: number
  /** Added to the priority of the recipe. */
  readonly priority: number
}

export interface RenditionSettings extends Omit<Configured, 'classes'> {
  readonly classes: {
    readonly [kind in keyof Configured['classes']]: Omit<Configured['classes'][kind], 'versions'> & {
      readonly versions: readonly Recipe[]
    }
  }
}

/** The members of an original that recipes depend on. */
export interface OriginalType {
  readonly class: FileClass
  readonly extension: string
}

/** A job is tried again when it failed for lack of a database or of space, not for a bad file. */
export const maxAttempts = 8
