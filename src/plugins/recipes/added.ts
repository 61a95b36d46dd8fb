/** Recipes of plugins, as files know them. */
import { createHash } from 'node:crypto'
import type { AddedRendition, RecipeProgram } from '../../files/service.ts'
import type { UsedRecipe } from '../manifest/model.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'

/** What the plugins that are on make of files, in their order; one list for each state. */
export function addedRenditions({ enabled }: PluginSnapshot): readonly AddedRendition[] {
  return enabled.flatMap((plugin, index) =>
    plugin.manifest.produce.renditions.map(({ rightsManagement, recipe, ...rendition }) => ({
      ...rendition,
      rights_management: rightsManagement,
      // Behind all of the service, and those of each plugin by themselves: one that hangs keeps no other waiting.
      priority: Math.min(50 + index, 100),
      program: recipeProgram(plugin, recipe),
    })),
  )
}

/** What a recipe is, and the content of its plugin; of one on a disk the files may change without being told. */
export function recipeProgram(plugin: Plugin, { name, params, ...how }: UsedRecipe): RecipeProgram {
  const print = JSON.stringify([how, plugin.package?.toString('hex') ?? plugin.manifest.version])
  return { name, params, fingerprint: createHash('sha256').update(print).digest('hex').slice(0, 24) }
}
