import type { Actor } from '../platform/actor.ts'
import type { Queryable, Tx } from '../platform/db.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { SystemRights } from './model.ts'
import { type Reference, referenceOf } from './principals.ts'

/**
 * Create or update, by the rule of objects (decision 1): a record without `_id` and `lookup:_id` is created, and its
 * `_version` is absent or 1; one with either is updated, and its `_version` must be the stored one (`stored`), or the
 * stored one plus one where the instance is configured for such clients (`next`, `versionConvention`). Never both:
 * that would let an update get lost. The stored version grows by one either way.
 */
export type VersionConvention = 'stored' | 'next'

interface Identified {
  _id?: number | null
  _version?: number | null
  'lookup:_id'?: { reference: string } | null
}

/** How the record names a stored one; `null` when it is to be created. */
export function identityOf(kind: 'user' | 'group', record: Identified, path: string): Reference | null {
  const reference = referenceOf(kind, record, path)
  const version = record._version ?? 1
  if (reference === null && version > 1) {
    throw badRequest(`${path} is an update by its _version: it needs _id or lookup:_id`, { path, _version: version })
  }
  return reference
}

/** @throws {AppError} `VersionMismatch` with `got` and `expected`. */
export function assertVersion(
  { _version: got }: Identified,
  stored: number,
  convention: VersionConvention,
  path: string,
): void {
  const expected = convention === 'next' ? stored + 1 : stored
  if (got !== expected) throw new AppError('VersionMismatch', { got: got ?? null, expected, path })
}

/** @throws {AppError} when two entries of a request are the same record. */
export function assertDistinct(ids: readonly (number | null)[], member: string): void {
  const seen = new Set<number>()
  ids.forEach((id, index) => {
    if (id === null) return
    if (seen.has(id)) throw badRequest(`[${index}].${member} is in the request twice`, { path: `[${index}]`, _id: id })
    seen.add(id)
  })
}

/** Grants as src/rights stores them; here only kept, and looked at for who may read. */
export type Acl = readonly unknown[]

/** What src/rights does for users and groups, given by app.ts: rights are built after this capability. */
export interface RightsHooks {
  /** Checks `_system_rights`. @throws {AppError} naming the path */
  parseSystemRights(wire: unknown, path: string): SystemRights
  /** Checks lists of grants as sent and gives them in stored form. @throws {AppError} naming the path */
  validateAcls(
    tx: Queryable,
    actor: Actor,
    context: 'user' | 'group',
    changes: readonly { wire: unknown; previous: Acl | null; place: string }[],
  ): Promise<readonly Acl[]>
  /** Lists of grants as clients see them. */
  renderAcls(from: Queryable, lists: readonly Acl[], languages: readonly string[]): Promise<readonly unknown[][]>
}

/** What other capabilities do when a user or group goes; runs in the transaction of the removal. */
export interface RemovalHooks {
  /** Whatever `from` owns or wrote belongs to `to` now. */
  replaceUser(tx: Tx, from: number, to: number): Promise<void>
  replaceGroup(tx: Tx, from: number, to: number): Promise<void>
}

/**
 * A condition on users or groups (alias `t`): those that the actor owns or has a grant `bag_read` on now. `principals`
 * is the parameter with the actor's principals (`principalsOf`), `userId` the one with the actor's id.
 */
export function readableCondition(principals: string, userId: string): string {
  return `(t.owner_user = ${userId} or 'g' || t.owner_group = any(${principals}) or ${grantCondition('t.acl', principals)})`
}

/** Whether a list of grants gives `bag_read` to one of the principals now. */
export function grantCondition(acl: string, principals: string): string {
  return `exists (select from jsonb_array_elements(${acl}) as a
    where a->'rights' ? 'bag_read' and a->>'who' = any(${principals}) and coalesce(a->>'active', 'true') = 'true'
      and (a->>'from' is null or (a->>'from')::timestamptz <= now())
      and (a->>'to' is null or (a->>'to')::timestamptz > now()))`
}

/** The actor as grants name it. */
export function principalsOf(actor: Actor): string[] {
  return [`u${actor.userId}`, ...actor.groupIds.map((id) => `g${id}`)]
}

/** Another unique value is in the way: says which, in place of the name of the constraint. */
export function duplicateValue(error: unknown): { constraint: string; value: string } | null {
  if (!(error instanceof AppError) || error.code !== 'DatabaseUniqueKeyViolation') return null
  const detail = (error.cause as { detail?: string } | undefined)?.detail ?? ''
  const value = /=\((.*)\) already exists/s.exec(detail)?.[1] ?? ''
  return { constraint: String(error.parameters.constraint), value }
}
