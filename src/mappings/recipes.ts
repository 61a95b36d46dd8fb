/**
 * Recipes of plugins in mappings: profiles with `plugins_import` have their fields besides, and a mapping that binds one asks its
 * recipe about each file.
 */

import { badRequest } from '../platform/errors.ts'
import { isRecord } from '../platform/values/records.ts'
import {
  checkParams,
  type MappableRecipe,
  type ParamsBy,
  type RecipeConfigs,
  type RecipeField,
  type RecipeParams,
} from '../plugins/service.ts'
import type { MappedRecipe, Mapping, MappingBody, MappingField } from './model.ts'

/** The name of a recipe's field in profiles and mappings: two recipes may have fields of one name. */
export const fieldName = (recipe: string, field: string): string => `${recipe}:${field}`

/** The available recipes, and those of the stored mapping, which stay while their plugin is off. */
export function withStored(available: readonly MappableRecipe[], stored: Mapping | null): readonly MappableRecipe[] {
  const names = new Set(available.map(({ name }) => name))
  const kept = Object.entries(stored?.recipes ?? {}).filter(([name]) => !names.has(name))
  return [...available, ...kept.map(([name, recipe]) => fromStored(name, recipe, stored?.fields ?? []))]
}

function fromStored(
  name: string,
  { params, errorPath }: MappedRecipe,
  fields: readonly MappingField[],
): MappableRecipe {
  const own = fields.flatMap(({ recipe, text }): RecipeField[] =>
    recipe?.name === name
      ? [{ name: recipe.field, text: typeof text === 'object' ? text : {}, path: recipe.path, type: recipe.type }]
      : [],
  )
  return { name, displayname: {}, extensions: [], params, errorPath, fields: own }
}

/** The recipes of the fields, with the parameters of the mapping. @throws {AppError} for other recipes and parameters */
export function mappedRecipes(
  fields: readonly MappingField[],
  recipes: readonly MappableRecipe[],
  sent: unknown,
): Pick<MappingBody, 'recipes'> {
  const used = new Set(fields.flatMap(({ recipe }) => recipe?.name ?? []))
  const found = recipes.filter(({ name }) => used.has(name))
  const defined = Object.fromEntries(found.map(({ name, params }) => [name, params]))
  const configs = readConfigs(sent, defined, { path: 'body.recipe_configs', by: 'manager' })
  if (found.length === 0) return {}
  return {
    recipes: Object.fromEntries(
      found.map(({ name, params, errorPath }) => [name, { params, errorPath, config: configs[name]?.params ?? {} }]),
    ),
  }
}

/**
 * `{"<recipe>": {"params": {…}}}` with recipes and parameters that the mapping has.
 * @throws {AppError} `ServerGeneric` naming the place
 */
export function readConfigs(
  sent: unknown,
  defined: Readonly<Record<string, RecipeParams>>,
  { path, by }: { readonly path: string; readonly by: ParamsBy },
): RecipeConfigs {
  if (sent === undefined || sent === null) return {}
  return Object.fromEntries(
    Object.entries(membersOf(sent, path)).map(([name, config]) => {
      const place = `${path}.${name.slice(0, 200)}`
      const params = Object.hasOwn(defined, name) ? defined[name] : undefined
      if (!params)
        throw badRequest(`${place}: the mapping takes no such recipe`, { path: place, value: name.slice(0, 200) })
      const given = membersOf(config ?? {}, place)
      const other = Object.keys(given).find((key) => key !== 'params')
      if (other !== undefined) throw badRequest(`${place}: only params can be said`, { path: `${place}.${other}` })
      return [
        name,
        {
          params: checkParams(params, membersOf(given.params ?? {}, `${place}.params`), {
            path: `${place}.params`,
            by,
          }),
        },
      ]
    }),
  )
}

/** The parameters of the recipes of a mapping, by recipe. */
export function definedBy({ recipes = {} }: Pick<MappingBody, 'recipes'>): Readonly<Record<string, RecipeParams>> {
  return Object.fromEntries(Object.entries(recipes).map(([name, { params }]) => [name, params]))
}

function membersOf(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (isRecord(value)) return value
  throw badRequest(`${path} must be an object`, { path })
}

/** As profiles tell of a recipe: as its plugin says it. */
export function renderRecipe({ displayname, extensions, params, fields, errorPath }: MappableRecipe) {
  return {
    displayname: { ...displayname },
    extensions: [...extensions],
    params: renderParams(params),
    mapping: {
      import: {
        ...(errorPath === null ? {} : { json_error: errorPath }),
        fields: fields.map(({ name, text, path, type }) => ({
          name,
          displayname: { ...text },
          json_import: path,
          json_import_type: type,
        })),
      },
    },
  }
}

function renderParams(params: RecipeParams) {
  return Object.fromEntries(
    Object.entries(params).map(([name, { type, description, min, max, options, fallback, mandatory, editable }]) => [
      name,
      {
        ...(type === 'any' ? {} : { type }),
        description,
        ...(min === null ? {} : { min }),
        ...(max === null ? {} : { max }),
        ...(options.length === 0 ? {} : { options: [...options] }),
        ...(fallback === null ? {} : { default: fallback }),
        mandatory,
        usereditable: editable,
      },
    ]),
  )
}

/** The fields of recipes, a tab for each. */
export function recipeTabs(recipes: readonly MappableRecipe[]) {
  return recipes.map(({ name: recipe, displayname, fields }) => ({
    tab: recipe,
    text: Object.keys(displayname).length > 0 ? { ...displayname } : { 'en-US': recipe },
    custom: false,
    fields: fields.map((field) => ({
      _id: fieldName(recipe, field.name),
      name: fieldName(recipe, field.name),
      text: { ...field.text },
      xml_import: [],
      xml_export: [],
      json_import: field.path,
      json_import_type: field.type,
      recipe_name: recipe,
    })),
  }))
}
