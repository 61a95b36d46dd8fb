import { createHash } from 'node:crypto'
import type { OriginalType, Recipe, RenditionSettings } from './model.ts'

/** Changes when the same recipe makes something else: a resync then renews what was made before. */
const engine = 1

/** The recipes for an original, in the order of the configuration. */
export function recipesFor(settings: RenditionSettings, { class: kind, extension }: OriginalType): readonly Recipe[] {
  if (kind === 'unknown') return []
  const { versions } = settings.classes[kind]
  return versions.filter(({ extensions }) => extensions.length === 0 || extensions.includes(extension))
}

/** What tells whether a rendition was made by the recipe as it is now; what it is made of counts, too. */
export function recipeHash(recipe: Recipe, all: readonly Recipe[]): string {
  const { displayname: _, standard: __, rights_management: ___, priority: ____, source, ...how } = recipe
  const from = all.find(({ name }) => name === source)
  return createHash('sha256')
    .update(JSON.stringify([engine, how, from ? recipeHash(from, all) : null]))
    .digest('hex')
    .slice(0, 32)
}

/** Whether rights name the version; those of no recipe (the original, uploads) always. */
export function isFree(settings: RenditionSettings, { class: kind }: OriginalType, version: string): boolean {
  if (kind === 'unknown') return false
  return settings.classes[kind].versions.find(({ name }) => name === version)?.rights_management === false
}
