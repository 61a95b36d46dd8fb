/** The effect of one grant at a moment, for an object: small pure rules that compiling, evaluating and indexing share. */
import type { Guarded, Person, RightItem, StoredGrant, TagFilter } from './model.ts'

/** Milliseconds since 1970; open ends are infinite. */
export interface Window {
  readonly from: number
  readonly to: number
}

export function windowOf(grant: StoredGrant): Window {
  return {
    from: grant.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(grant.from),
    to: grant.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(grant.to),
  }
}

/** Whether the grant is active and `at` is within its window. */
export function inForce(grant: StoredGrant, at: number): boolean {
  if (grant.active === false) return false
  if (grant.from === undefined && grant.to === undefined) return true
  const { from, to } = windowOf(grant)
  return from <= at && at < to
}

/** The same as SQL, of a stored grant as JSON and the current time: `grant` is an expression. */
export function inForceSql(grant: string): string {
  return `(coalesce(${grant}->>'active', 'true') = 'true'
    and (${grant}->>'from' is null or (${grant}->>'from')::timestamptz <= now())
    and (${grant}->>'to' is null or (${grant}->>'to')::timestamptz > now()))`
}

/** Moments when a grant begins or ceases to be in force. */
export function boundaries(grants: Iterable<StoredGrant>): number[] {
  const found: number[] = []
  for (const grant of grants) {
    if (grant.active === false) continue
    const { from, to } = windowOf(grant)
    if (Number.isFinite(from)) found.push(from)
    if (Number.isFinite(to)) found.push(to)
  }
  return found.sort((a, b) => a - b)
}

/** All conditions that are not empty must hold. */
export function tagsFit(filter: TagFilter | null | undefined, tags: readonly number[]): boolean {
  if (!filter) return true
  return (
    filter.all.every((tag) => tags.includes(tag)) &&
    (filter.any.length === 0 || filter.any.some((tag) => tags.includes(tag))) &&
    !filter.not.some((tag) => tags.includes(tag))
  )
}

/** A right limited to object types fits only objects of these. */
export function typeFits(item: RightItem, objecttypeId: number): boolean {
  return item.objecttype_ids === undefined || item.objecttype_ids.includes(objecttypeId)
}

/** A right limited to pools fits only objects in one of them. */
export function poolFits(item: RightItem, poolId: number | null): boolean {
  return item.pool_ids === undefined || (poolId !== null && item.pool_ids.includes(poolId))
}

export type MaskId = number | 'standard'

/**
 * Masks that a grant allows together with a right, for objects of a type; null: all. The limits of `mask` and of the right both
 * apply.
 */
export function masksOf(
  rights: Readonly<Record<string, RightItem>>,
  right: string,
  objecttypeId: number,
): readonly MaskId[] | null {
  const limits = [rights[right]?.mask_ids, rights.mask?.mask_ids].map((ids) => ids?.[String(objecttypeId)])
  const [first, ...rest] = limits.filter((limit) => limit !== undefined)
  if (!first) return null
  return first.filter((mask) => rest.every((limit) => limit.includes(mask)))
}

/** The owner of an object, as a principal. */
export function ownerOf(object: Pick<Guarded, 'ownerUserId' | 'ownerGroupId'>): Person | null {
  if (object.ownerUserId !== null) return `u${object.ownerUserId}`
  return object.ownerGroupId === null ? null : `g${object.ownerGroupId}`
}

/** The principal of the contact of a pool: callers who are its contact have it. */
export function contactPrincipal(poolId: number): string {
  return `c${poolId}`
}

/** A principal that may read an object by a grant on it, and the masks that come with it; null: all. */
export interface ReadPrincipal {
  readonly who: string
  readonly masks: readonly MaskId[] | null
}

/**
 * The principals who may read (or delete) an object by its own grants, for searches. Valid until `validUntil` (milliseconds, null:
 * until the object changes): then the object needs a new search document. A principal may occur several times.
 */
export function readPrincipals(
  object: Guarded,
  at: number,
  right: 'read' | 'delete' = 'read',
): { principals: ReadPrincipal[]; validUntil: number | null } {
  const principals: ReadPrincipal[] = []
  for (const { who, grant } of grantsInForce(object, at)) {
    const given = grant.rights[right]
    if (!given || !typeFits(given, object.objecttypeId) || !poolFits(given, object.poolId)) continue
    principals.push({ who, masks: masksOf(grant.rights, right, object.objecttypeId) })
  }
  return { principals, validUntil: boundaries(object.acl ?? []).find((moment) => moment > at) ?? null }
}

/** Whether a grant on an object is in force and fits its tags. */
export function isInForceOn(grant: StoredGrant, { tags }: Guarded, at: number): boolean {
  return tagsFit(grant.tagfilter, tags) && inForce(grant, at)
}

/** The own grants of an object that are in force and fit its tags, with their principals. */
export function* grantsInForce(
  object: Guarded,
  at: number,
): Generator<{ readonly who: string; readonly grant: StoredGrant }> {
  for (const grant of object.acl ?? []) {
    if (!isInForceOn(grant, object, at)) continue
    const who = principalOf(grant, object)
    if (who !== null) yield { who, grant }
  }
}

/** The principal of a grant on an object; null: nobody. */
function principalOf(grant: StoredGrant, object: Guarded): string | null {
  if (grant.who === 'owner') return ownerOf(object)
  if (grant.who === 'contact') return object.poolId === null ? null : contactPrincipal(object.poolId)
  return grant.who
}

/** The parameters that two grants of one right give together: the wider of each (`less`-policies do not exist yet). */
export function mergeItems(a: RightItem, b: RightItem): RightItem {
  const merged: Record<string, unknown> = {}
  for (const name of ['_grantable', 'allow_update_and_remove'] as const) {
    if (a[name] || b[name]) merged[name] = true
  }
  for (const name of ['classes', 'extensions', 'versions', 'column_ids', 'objecttype_ids', 'pool_ids'] as const) {
    const [left, right] = [a[name], b[name]]
    if (left && right) merged[name] = [...new Set<unknown>([...left, ...right])]
  }
  if (a.limit && b.limit) merged.limit = Math.max(a.limit, b.limit)
  const masks = mergeMasks(a.mask_ids, b.mask_ids)
  if (masks) merged.mask_ids = masks
  return merged
}

function mergeMasks(a: RightItem['mask_ids'], b: RightItem['mask_ids']): RightItem['mask_ids'] {
  if (!a || !b) return undefined
  const merged: Record<string, (number | 'standard')[]> = {}
  for (const [type, masks] of Object.entries(a)) {
    const other = b[type]
    if (other) merged[type] = [...new Set([...masks, ...other])]
  }
  return Object.keys(merged).length === 0 ? undefined : merged
}
