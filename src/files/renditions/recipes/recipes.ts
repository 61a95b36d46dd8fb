import { createHash } from 'node:crypto'
import type { OriginalType, Recipe, RenditionSettings } from '../model.ts'
import { isDocument } from '../programs/office.ts'
import { isDirect } from '../sources/sources.ts'
import { drawnMarks, type KnownMarks, noMarks, visible } from './marks.ts'

/** Changes when the same recipe makes something else: a resync then renews what was made before. */
const engine = 2

/** The recipes for an original, in the order of the configuration. */
export function recipesFor(settings: RenditionSettings, { class: kind, extension }: OriginalType): readonly Recipe[] {
  if (kind === 'unknown') return []
  const { versions } = settings.classes[kind]
  return versions.filter(({ extensions }) => extensions.length === 0 || extensions.includes(extension))
}

/**
 * When each of the recipes has its turn, by name: at its priority, and never behind what is made of it. What needs a document
 * as PDF, or the frame of a film, is made together, since that takes longest.
 */
export function turnsOf(recipes: readonly Recipe[], original: OriginalType): ReadonlyMap<string, number> {
  const turns = new Map<string, number>()
  // Sources stand above what is made of them.
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

/**
 * What tells whether a rendition was made by the recipe as it is now; what it is made of counts, too, and the watermark and
 * the caption that it bears.
 */
export function recipeHash(recipe: Recipe, all: readonly Recipe[], marks: KnownMarks = noMarks): string {
  const { displayname: _, standard: __, rights_management: ___, priority: ____, source, ...said } = recipe
  const { watermark: _____, caption: ______, group: _______, ...how } = said
  const from = all.find(({ name }) => name === source)
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

/** Whether rights name the version; those of no recipe (the original, uploads) always. */
export function isFree(settings: RenditionSettings, { class: kind }: OriginalType, version: string): boolean {
  if (kind === 'unknown') return false
  return settings.classes[kind].versions.find(({ name }) => name === version)?.rights_management === false
}
