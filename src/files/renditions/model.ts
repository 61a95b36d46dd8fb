import type { BaseConfig } from '../../config/service.ts'
import type { FileClass } from '../classes.ts'

type Configured = BaseConfig['produce_config']['value']
type ConfiguredRecipe = Configured['classes']['image']['versions'][number]

/** How a rendition is made: as the base configuration has it, or by a program that is installed beside the service. */
export interface Recipe extends Omit<ConfiguredRecipe, 'recipe' | 'extensions' | 'displayname'> {
  readonly recipe: ConfiguredRecipe['recipe'] | 'program'
  readonly extensions: readonly string[]
  readonly displayname: Readonly<Record<string, string>>
  readonly program?: RecipeProgram
}

/** A recipe of a program, as files know it. */
export interface RecipeProgram {
  readonly name: string
  readonly params: Readonly<Record<string, unknown>>
  /** Another one where it may make something else of the same file. */
  readonly fingerprint: string
}

/** A rendition that is to be made; of smaller priority is made earlier. */
export interface Scheduled {
  readonly fileId: number
  readonly recipe: Recipe
  /** When it is made: `turnsOf` the recipes. */
  readonly turn: number
  /** Added to that of the recipe. */
  readonly priority: number
}

export interface RenditionSettings extends Omit<Configured, 'classes'> {
  readonly classes: {
    readonly [kind in keyof Configured['classes']]: Omit<Configured['classes'][kind], 'versions'> & {
      readonly versions: readonly Recipe[]
    }
  }
}

/** An original as far as recipes depend on it. */
export interface OriginalType {
  readonly class: FileClass
  readonly extension: string
}

/** A job is tried again when it could not do its work for lack of a database or of space, not for a bad file. */
export const maxAttempts = 8
