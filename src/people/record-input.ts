import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { hasSystemRight } from '../platform/http/system-right.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { RightsService, StoredGrant } from '../rights/service.ts'
import type { Owner } from './model.ts'
import { type NamedBy, ownerReference, type Reference, referenceOf } from './principals.ts'
import type { WhoInput } from './schema.ts'

interface Identified {
  _id?: number | null
  _version?: number | null
  'lookup:_id'?: { reference: string } | null
}

/**
 * The reference of a record to a stored one; `null` when it is to be created. Create or update, by the rule of objects (decision
 * 1): a record without `_id` and `lookup:_id` is created, and its `_version` is absent or 1; a record with either is updated.
 */
export function identityOf(kind: 'user' | 'group', record: Identified, path: string): Reference | null {
  const reference = referenceOf(kind, record, path)
  const version = record._version ?? 1
  if (reference === null && version > 1) {
    throw badRequest(`${path} is an update by its _version: it needs _id or lookup:_id`, { path, _version: version })
  }
  return reference
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

interface OwnedItem {
  readonly input: { readonly _owner?: WhoInput | null; readonly _acl?: unknown }
  readonly path: string
  readonly stored: { readonly owner: Owner; readonly acl: Acl } | null
  /** The rights of the actor on the stored record. */
  readonly rights: ReadonlySet<string>
}

/** Owners that the request names. */
export function ownersOf<Item extends OwnedItem>(items: readonly Item[]): Map<Item, Reference> {
  const named = items.filter((item) => item.input._owner)
  return new Map(named.map((item) => [item, ownerReference(item.input._owner ?? {}, `${item.path}._owner`)]))
}

/** The caller who names owners and groups, and the ones in stored records: clients may send back what they have read. */
export function namedBy(
  actor: Actor,
  items: readonly { readonly stored: { readonly owner: Owner; readonly groupIds?: readonly number[] } | null }[],
): NamedBy {
  const stored = items.flatMap((item) => item.stored ?? [])
  return {
    actor,
    userIds: stored.flatMap(({ owner }) => owner.userId ?? []),
    groupIds: stored.flatMap(({ owner, groupIds = [] }) => [...groupIds, ...(owner.groupId ? [owner.groupId] : [])]),
  }
}

/** The creator of a record owns it. */
export function ownerOf(
  { stored }: OwnedItem,
  named: Reference | undefined,
  found: ReadonlyMap<Reference, number>,
  actor: Actor,
): Owner {
  if (!named) return stored?.owner ?? { userId: actor.userId, groupId: null }
  const id = found.get(named) ?? null
  return named.kind === 'user' ? { userId: id, groupId: null } : { userId: null, groupId: id }
}

/** The grants on each record as they are to be stored. @throws {AppError} with the path */
export async function aclsOf(
  rights: RightsHooks,
  tx: Tx,
  actor: Actor,
  context: 'user' | 'group',
  items: readonly OwnedItem[],
): Promise<readonly Acl[]> {
  const changes = items.map(({ input, stored, path, rights: held }) => ({
    wire: input._acl ?? [],
    previous: stored?.acl ?? null,
    shown: hasSystemRight(actor, `system.${context}`) || held.has('acl'),
    place: `${path}._acl`,
  }))
  const checked = await rights.validateAcls(tx, actor, context, changes)
  return items.map(({ input, stored }, index) =>
    input._acl === undefined ? (stored?.acl ?? []) : (checked[index] ?? []),
  )
}

export type Acl = readonly StoredGrant[]

/** The functions of rights, and of objects, that users and groups need. These capabilities come later. */
export interface RightsHooks
  extends Pick<RightsService, 'validateAcls' | 'coversGrants' | 'renderAcls' | 'parseSystemRights'> {
  /** The groups that own objects, or that are in grants on single objects. */
  groupsOfObjects(from: Queryable, groupIds: readonly number[]): Promise<ReadonlySet<number>>
}

/** The actions of other capabilities when a user or group is removed. They run in the transaction of the removal. */
export interface RemovalHooks {
  /** Replaces `from` by `to` as owner and author. */
  replaceUser(tx: Tx, from: number, to: number): Promise<void>
  replaceGroup(tx: Tx, from: number, to: number): Promise<void>
  readonly collections: {
    /** Counts the user's collections and shares that others use. */
    heldBy(tx: Queryable, userId: number): Promise<{ readonly collections: number; readonly shares: number }>
    /** Deletes the collections of a deleted user, or transfers them to the actor. */
    ownerGoes(
      tx: Tx,
      actor: Actor,
      gone: { readonly userId: number; readonly name: string; readonly transfer: boolean },
    ): Promise<void>
  }
}

/** The constraint and the value of a unique key violation; null for other errors. */
export function duplicateValue(error: unknown): { constraint: string; value: string } | null {
  if (!(error instanceof AppError) || error.code !== 'DatabaseUniqueKeyViolation') return null
  const detail = (error.cause as { detail?: string } | undefined)?.detail ?? ''
  // `Key (name)=(value) already exists.`
  const [start, end] = [detail.indexOf('=('), detail.lastIndexOf(') already exists')]
  const value = start < 0 || end < start ? '' : detail.slice(start + 2, end)
  return { constraint: String(error.parameters.constraint), value }
}

/** The members that have a value. */
export function present(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))
}

/** The text to store: undefined keeps the stored one, `null` and an empty text clear it. */
export function textOf(given: string | null | undefined, stored: string | null): string | null {
  if (given === undefined) return stored
  return given === null || given.trim() === '' ? null : given.trim()
}

/** Fields that no rule uses, merged in the same way; `fields` has their names. */
export function profileOf(
  fields: object,
  given: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  const profile: Record<string, unknown> = { ...stored }
  for (const name of Object.keys(fields)) {
    const value = given[name]
    if (value === undefined) continue
    if (value === null || value === '') delete profile[name]
    else profile[name] = value
  }
  return profile
}
