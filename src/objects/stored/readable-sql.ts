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
  const withGrants = [...model.tablesById.values()].filter((table) => table.aclTable).map((table) => table.id)
  const sql = objectSql(caller.readable(), {
    alias: 'o',
    withGrants,
    parameter: (value, type) => `$${values.push(value)}::${type}`,
  })
  const made = { sql, values, shape: hash('sha1', sql, 'base64url').slice(0, 16) }
  known.set(caller, { model, made })
  return made
}
