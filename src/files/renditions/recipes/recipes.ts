import { createHash } from 'node:crypto'
import { omit } from '../../../platform/values/records.ts'
import type { OriginalType, Recipe, RenditionSettings } from '../model.ts'
import { isDocument } from '../programs/office.ts'
import { isDirect } from '../sources/sources.ts'
import { drawnMarks, type LoadedMarks, noMarks, visible } from './marks.ts'

/** Increased when the same recipe produces another result: a resync then renews existing renditions. */
const engine = 2

/** The recipes for an original, in the order of the configuration. */
export function recipesFor(settings: RenditionSettings, { class: kind, extension }: OriginalType): readonly Recipe[] {
  if (kind === 'unknown') return []
  const { versions } = settings.classes[kind]
  return versions.filter(({ extensions }) => extensions.length === 0 || extensions.includes(extension))
}

/**
 * The turn of each recipe, by name: at its priority, and never behind recipes that use it as a source. Recipes that need
 * a document as PDF, or the frame of a film, run together, since that step takes longest.
 */
export function turnsOf(recipes: readonly Recipe[], original: OriginalType): ReadonlyMap<string, number> {
  const turns = new Map<string, number>()
  // Sources come before the recipes that use them.
  for (const { name, priority, source } of [...recipes].reverse()) {
    const turn = Math.min(priority, turns.get(name) ?? priority)
    turns.set(name, turn)
    if (source !== '') turns.set(source, Math.min(turn, turns.get(source) ?? turn))
  }
  if (isDirect(original.extension)) return turns
  const together = recipes
    .filter(({ source, recipe }) => source === '' && recipe !== 'program')
    .filter(({ recipe }) => recipe === 'image' || isDocument(original.extension))
    .map(({ name }) => name)
  const first = Math.min(...together.map((name) => turns.get(name) ?? 0))
  for (const name of together) turns.set(name, first)
  return turns
}

/** Settings of a recipe that do not change what it makes. Its marks are in the hash as they are drawn. */
const ignoredByHash = [
  'displayname',
  'standard',
  'rights_management',
  'priority',
  'group',
  'watermark',
  'caption',
] as const

/**
 * A hash that tells whether a rendition was made by the present recipe. It covers the source of the recipe, too, and the
 * watermark and the caption on the rendition.
 */
export function recipeHash(recipe: Recipe, all: readonly Recipe[], marks: LoadedMarks = noMarks): string {
  const how = omit(recipe, [...ignoredByHash, 'source'])
  const from = all.find(({ name }) => name === recipe.source)
  const drawn = drawnMarks(recipe, marks)
  return createHash('sha256')
    .update(
      JSON.stringify([
        engine,
        how,
        from ? recipeHash(from, all, marks) : null,
        ...(drawn ? [visible(drawn)] : []),
        // Documents that were made before their pages were looked at are renewed for the sake of these.
        ...(recipe.recipe === 'pdf' ? ['pages'] : []),
      ]),
    )
    .digest('hex')
    .slice(0, 32)
}

/** Whether rights do not restrict the version. Versions without a recipe (the original, uploads) are always restricted. */
export function isFree(settings: RenditionSettings, { class: kind }: OriginalType, version: string): boolean {
  if (kind === 'unknown') return false
  return settings.classes[kind].versions.find(({ name }) => name === version)?.rights_management === false
}
