import type { CustomType, CustomTypes } from '../datamodel/service.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { usualDays } from './manifest/custom-types.ts'
import { readManifest } from './manifest/manifest.ts'
import type { AddedType } from './manifest/model.ts'
import { loadPlugins } from './store.ts'

/** The types of values of the enabled plugins, by `<plugin>.<type>`, from the database. */
export async function readCustomTypes(from: Queryable): Promise<CustomTypes> {
  const types = new Map<string, CustomType>()
  for (const { name, enabled, manifest } of await loadPlugins(from)) {
    if (!enabled) continue
    for (const [type, { members, update }] of customTypesIn(manifest)) {
      types.set(`${name}.${type}`, { members, expiresDays: update?.expiresDays ?? usualDays })
    }
  }
  return types
}

/** A type that can no longer be read has no effect. */
function customTypesIn(manifest: Record<string, unknown>): ReadonlyMap<string, AddedType> {
  try {
    return readManifest(manifest).customTypes
  } catch {
    return new Map<string, AddedType>()
  }
}
