/** Recipes that come with programs installed beside the service: for renditions, and for reading metadata of files. */
import type { BaseConfig } from '../../../config/service.ts'
import type { OriginalType, Recipe, RecipeProgram, RenditionSettings } from '../model.ts'
import { CannotMake } from '../workshop/failure.ts'

export interface AddedRendition
  extends Pick<Recipe, 'name' | 'displayname' | 'source' | 'extensions' | 'rights_management' | 'group' | 'priority'> {
  readonly class: keyof RenditionSettings['classes']
  readonly program: RecipeProgram
}

export interface RecipeSource {
  readonly path: string
  readonly extension: string
}

/** A program's statement about a file. */
export interface ProgramMetadata {
  /** As JSON; null: it is not JSON. */
  readonly values: readonly { readonly text: string; readonly value: unknown }[]
  /** Texts for the full-text search. */
  readonly texts: readonly string[]
}

/** The programs for recipes, and how they run. */
export interface RecipePrograms {
  /** The programs that read originals of the type. */
  saying(type: OriginalType): readonly RecipeProgram[]
  /** Makes a file in the folder; answers its path. @throws {CannotMake} */
  make(program: RecipeProgram, source: RecipeSource, into: string, signal: AbortSignal): Promise<string>
  /** @throws {CannotMake} */
  say(program: RecipeProgram, source: RecipeSource, signal: AbortSignal): Promise<ProgramMetadata>
  /** The same for a waiting caller: also where it has no place for one more. @throws {CannotMake} */
  ask(program: RecipeProgram, source: RecipeSource, signal: AbortSignal): Promise<ProgramMetadata>
}

/** Used until the programs are loaded: jobs run later. */
export const noPrograms: RecipePrograms = {
  saying: () => [],
  make: (program) => Promise.reject(notThere(program)),
  say: (program) => Promise.reject(notThere(program)),
  ask: (program) => Promise.reject(notThere(program)),
}

function notThere({ name }: RecipeProgram): CannotMake {
  return new CannotMake('unavailable', `there is no recipe ${name} here`)
}

type Configured = Pick<BaseConfig, 'produce_config'>
export type WithRecipes<T extends Configured> = Omit<T, 'produce_config'> & {
  readonly produce_config: { readonly value: RenditionSettings }
}

/** The settings with added renditions, which come last. Of two with the same name in a class, the first one counts. */
export function withAdded<T extends Configured>() {
  let known: { readonly config: T; readonly added: readonly AddedRendition[]; readonly made: WithRecipes<T> } | null =
    null
  return (config: T, added: readonly AddedRendition[]): WithRecipes<T> => {
    if (added.length === 0) return config as WithRecipes<T>
    if (known?.config === config && known.added === added) return known.made
    const { value } = config.produce_config
    const classes = Object.fromEntries(
      Object.entries(value.classes).map(([kind, one]) => {
        const names = new Set(one.versions.map(({ name }) => name))
        const own = added.filter((rendition) => {
          if (rendition.class !== kind || names.has(rendition.name)) return false
          names.add(rendition.name)
          return true
        })
        return [kind, { ...one, versions: [...one.versions, ...own.map(recipeOf)] }]
      }),
    ) as unknown as RenditionSettings['classes']
    const made = { ...config, produce_config: { ...config.produce_config, value: { ...value, classes } } }
    known = { config, added, made }
    return made
  }
}

function recipeOf({ class: _, ...rendition }: AddedRendition): Recipe {
  return { ...plain, ...rendition, recipe: 'program' }
}

const plain: Omit<
  Recipe,
  'name' | 'displayname' | 'source' | 'extensions' | 'rights_management' | 'group' | 'priority' | 'recipe'
> = {
  format: 'auto',
  size: 0,
  resize_mode: 'max',
  size_minimum: 0,
  quality: 80,
  strip: false,
  colorprofile: 'keep',
  watermark: false,
  caption: false,
  animated: false,
  standard: false,
}
