import { hash } from 'node:crypto'
import type { Model } from '../../datamodel/model.ts'
import { type CallerRights, objectSql } from '../../rights/service.ts'

export interface ReadableSql {
  /** A condition on `object` with the alias `o`; its parameters are the first ones of the statement. */
  readonly sql: string
  readonly values: readonly unknown[]
  /** For names of prepared statements: callers whose grants lead to the same kinds of conditions share them. */
  readonly shape: string
}

/** Cached: it lists the pools of a caller, and is needed for each page. */
const known = new WeakMap<CallerRights, { readonly model: Model; readonly made: ReadableSql }>()

/** The condition for objects that the caller may read. */
export function readableSql(model: Model, caller: CallerRights): ReadableSql {
  const found = known.get(caller)
  if (found?.model === model) return found.made
  const values: unknown[] = []
  const sql = objectSql(caller.readable(), {
    alias: 'o',
    withGrants: objectsWithGrants(model),
    parameter: (value, type) => `$${values.push(value)}::${type}`,
  })
  const made = { sql, values, shape: nameOf(sql) }
  known.set(caller, { model, made })
  return made
}

/** Ids of the object types whose objects have grants of their own. */
export const objectsWithGrants = (model: Model): number[] =>
  [...model.tablesById.values()].filter((table) => table.aclTable).map((table) => table.id)

/** For names of prepared statements that have the condition. */
export const nameOf = (sql: string): string => hash('sha1', sql, 'base64url').slice(0, 16)
