/** Asks recipes of plugins about files, for the fields of a mapping. */
import type { AskRecipes, FileMetadata, Question } from '../../files/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import { type MappableRecipes, missingParam, type RecipeConfigs } from '../../plugins/service.ts'
import type { FieldOfRecipe, Mapping } from '../model.ts'
import { jsonReading, stepsOf, valueAt } from './read-json.ts'
import type { Reading } from './read-tags.ts'

export interface AskDeps {
  readonly recipes: Pick<MappableRecipes, 'programOf'>
  readonly ask: AskRecipes
}

export interface Asking {
  readonly mapping: Mapping
  /** The recipes of the fields to fill. */
  readonly names: ReadonlySet<string>
  /** Parameters for the recipes; earlier entries win. */
  readonly configs: readonly RecipeConfigs[]
}

export type RecipeReader = (fileId: number, field: FieldOfRecipe) => Reading | null

/** Answers of the recipes about the files. A missing recipe, or one for other files, gives no values. @throws {AppError} */
export async function askRecipes(
  { recipes, ask }: AskDeps,
  actor: Actor,
  { mapping, names, configs }: Asking,
  files: ReadonlyMap<number, FileMetadata>,
): Promise<RecipeReader> {
  const questions: Question[] = []
  for (const [name, { params, config, errorPath }] of Object.entries(mapping.recipes ?? {})) {
    if (!names.has(name)) continue
    const found = recipes.programOf(name, params, [...configs.map((one) => one[name]?.params ?? {}), config])
    if (!found) continue
    const { program, extensions } = found
    const missing = missingParam(params, program.params)
    if (missing !== undefined) {
      const path = `mapping_recipe_configs.${name}.params.${missing}`
      throw badRequest(`${path}: the recipe needs it`, { path })
    }
    const steps = errorPath === null ? null : stepsOf(errorPath)
    const problemIn = (value: unknown): string | null => (steps === null ? null : problemAt(value, steps))
    for (const [fileId, { extension }] of files) {
      if (extensions.length > 0 && !extensions.includes(extension)) continue
      questions.push({ fileId, program, problemIn })
    }
  }
  const answers = await ask(actor, questions)
  const said = new Map<string, unknown>()
  for (const [{ fileId, program }, answer] of answers) {
    if (answer.kind === 'said') said.set(`${fileId} ${program.name}`, answer.value)
  }
  return (fileId, { name, path, type }) => jsonReading(valueAt(said.get(`${fileId} ${name}`), stepsOf(path)), type)
}

function problemAt(value: unknown, steps: readonly string[]): string | null {
  const found = valueAt(value, steps)
  if (found === undefined || found === null || found === '' || found === false) return null
  return (typeof found === 'string' ? found : JSON.stringify(found)).slice(0, 2000)
}
