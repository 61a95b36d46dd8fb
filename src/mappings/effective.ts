import type { Table } from '../datamodel/model.ts'
import type { KeptObjecttypes } from '../objecttypes/service.ts'
import type { RecipeConfigs } from '../plugins/service.ts'
import type { KeptPools } from '../pools/service.ts'
import { type Mapping, ownMappingId } from './model.ts'

export interface SettingsDeps {
  readonly objecttypes: Pick<KeptObjecttypes, 'settings'>
  readonly pools: Pick<KeptPools, 'snapshot'>
}

/** The pool of an object as it is answered; null: its type has none. */
export function poolOf(table: Table, object: Readonly<Record<string, unknown>>): number | null {
  if (!table.poolLink) return null
  type Pooled = { readonly _pool?: { readonly pool?: { readonly _id?: number } } } | undefined
  return (object as Pooled)?._pool?.pool?._id ?? (object[table.name] as Pooled)?._pool?.pool?._id ?? null
}

/** A pool holds objects of several types, and names the mapping of one of them: for the others it is none. */
export const isForType = ({ table }: Pick<Mapping, 'table'>, objecttype: number): boolean =>
  table === null || table === objecttype

const names = {
  import: 'mapping_image_import',
  export: 'mapping_image_export',
  dublinCore: 'mapping_dc_export',
} as const
export type Direction = keyof typeof names

/**
 * The mapping for objects of a type in a pool: the setting of the nearest pool, from its own up to the root, else that of
 * the object type. Without any setting, imports use the mapping of the service itself, and exports use none. Null: none.
 */
export function standardMapping(
  { objecttypes, pools }: SettingsDeps,
  direction: Direction,
  { objecttype, pool }: { readonly objecttype: number; readonly pool: number | null },
): number | null {
  const name = names[direction]
  const path = pool === null ? [] : (pools.snapshot().get(pool)?.path ?? [])
  for (const id of path.toReversed()) {
    const said = pools.snapshot().get(id)?.settings[name]
    if (said === 'none') return null
    if (said === 'objecttype') break
    if (typeof said === 'number') return said
  }
  const said = objecttypes.settings(objecttype).fields[name] ?? (direction === 'import' ? ownMappingId : 'none')
  return typeof said === 'number' ? said : null
}

/** Parameters that an object type sets for the recipes of its mapping for imports. */
export function recipeConfigsOf(
  { objecttypes }: Pick<SettingsDeps, 'objecttypes'>,
  objecttype: number,
  mapping: number,
): RecipeConfigs {
  const { mapping_image_import: named, mapping_image_import_recipe_configs: configs } =
    objecttypes.settings(objecttype).fields
  return named === mapping ? ((configs ?? {}) as RecipeConfigs) : {}
}
