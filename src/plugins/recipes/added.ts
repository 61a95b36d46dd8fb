/** Recipes of plugins, for the file service. */
import { createHash } from 'node:crypto'
import type { AddedRendition, RecipeProgram } from '../../files/service.ts'
import type { UsedRecipe } from '../manifest/model.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'

/** The renditions of the enabled plugins, in their order; one list for each state. */
export function addedRenditions({ enabled }: PluginSnapshot): readonly AddedRendition[] {
  return enabled.flatMap((plugin, index) =>
    plugin.manifest.produce.renditions.map(({ rightsManagement, recipe, ...rendition }) => ({
      ...rendition,
      rights_management: rightsManagement,
      // After all renditions of the service, and each plugin with its own priority: a program that hangs does not delay
      // other plugins.
      priority: Math.min(50 + index, 100),
      program: recipeProgram(plugin, recipe),
    })),
  )
}

/** Refers to a recipe and the content of its plugin. Files of a plugin on a disk may change without notice. */
export function recipeProgram(plugin: Plugin, { name, params, ...how }: UsedRecipe): RecipeProgram {
  const print = JSON.stringify([how, plugin.package?.toString('hex') ?? plugin.manifest.version])
  return { name, params, fingerprint: createHash('sha256').update(print).digest('hex').slice(0, 24) }
}
