import type { Actor } from '../../platform/actor.ts'
import { AppError, missingSystemRight } from '../../platform/errors.ts'
import { eachYielding, yieldIfDue } from '../../platform/process/cooperative-yield.ts'
import { storedReference } from '../../platform/values/system-references.ts'
import type { StoredGrant, TagRight } from '../../rights/service.ts'
import { checkTags, mayTag, type TagSnapshot } from '../../tags/service.ts'
import { sameContent } from '../masks/writer.ts'
import type { SaveContext } from './context.ts'
import { guarded } from './disclosure.ts'
import { guardBefore, type Item } from './item.ts'
import type { NamedRef, OwnerRef } from './request/refs.ts'

/**
 * Sets pool, owner, tags and grants of the items from their drafts; members that a draft does not have stay as stored. The caller
 * is the owner of a new object. A reverse-nested new object gets the pool of the object above it.
 */
export async function applySystemFields(
  context: SaveContext,
  items: readonly Item[],
  { skipConstraints }: { skipConstraints: boolean },
): Promise<void> {
  const { yielder } = context
  await eachYielding(items, (item) => applyPool(context, item, skipConstraints), yielder)
  await applyOwners(context, items)
  await eachYielding(items, (item) => applyTags(context, item, skipConstraints), yielder)
  await yieldIfDue(yielder)
  await applyGrants(context, items)
}

function applyPool(context: SaveContext, item: Item, skipConstraints: boolean): void {
  const pool = item.draft?.pool
  if (!item.table.poolLink) item.poolId = null
  else if (pool) item.poolId = poolOf(context, item, pool)
  else if (pool === null) item.poolId = null
  else if (!item.current && item.up) item.poolId = item.up.item.poolId
  if (item.table.poolLink && item.poolId === null && !skipConstraints) {
    throw new AppError(
      'PoolRequired',
      { name: `${item.place}._pool`, objecttype: item.table.name },
      { message: `${item.place}: objects of type ${item.table.name} need a pool` },
    )
  }
}

/**
 * The pool that the draft names. The current pool of the object can be sent back by its id, even when the caller may not see it.
 */
function poolOf({ deps, rights }: SaveContext, item: Item, ref: NamedRef): number {
  const { id, reference } = ref
  const found = id === undefined ? deps.pools.byReference(reference ?? '') : deps.pools.byId(id)
  const same = id !== undefined && id === item.current?.poolId
  if (found?.holdsObjects && (same || rights.knowsPool(found.id))) return found.id
  const message = `${ref.place}: there is no such pool, or it holds no objects`
  throw new AppError('PoolNotFound', { name: ref.place, ...named(ref) }, { message })
}

function named(ref: NamedRef): Record<string, unknown> {
  return ref.id === undefined ? { reference: ref.reference } : { _id: ref.id }
}

async function applyOwners({ deps, tx, actor }: SaveContext, items: readonly Item[]): Promise<void> {
  const wanted = items.flatMap((item) => {
    const creator = newCreator(item)
    if (creator && !actor.isRoot) assertSelf(actor, creator)
    return [
      ...(item.draft?.owner && !isOwner(item, item.draft.owner) ? [item.draft.owner] : []),
      ...(creator && actor.isRoot ? [creator] : []),
    ]
  })
  const found = wanted.length > 0 ? await deps.findOwners(tx, actor, wanted) : new Map<OwnerRef, number>()
  for (const item of items) {
    const creator = newCreator(item)
    if (creator && actor.isRoot) {
      const id = found.get(creator)
      if (id === undefined) throw new AppError('LookupNotFound', { name: creator.place, ...named(creator) })
      item.createdBy = id
    }
    const owner = item.draft?.owner
    if (owner && !isOwner(item, owner)) {
      const id = found.get(owner)
      if (id === undefined) throw new AppError('LookupNotFound', { name: owner.place, ...named(owner) })
      item.ownerUser = owner.kind === 'user' ? id : null
      item.ownerGroup = owner.kind === 'group' ? id : null
    } else if (!item.current) item.ownerUser = actor.userId
  }
}

/** For a stored object, `creator` is only a value of an answer that the client sent back. */
function newCreator(item: Item): OwnerRef | undefined {
  return item.current ? undefined : item.draft?.creator
}

/**
 * Callers other than root can only create objects under their own name. The error does not reveal whether the named user exists.
 */
function assertSelf(actor: Actor, creator: OwnerRef): void {
  const reference = storedReference('user', creator.reference ?? '')
  if (creator.id === undefined ? reference === actor.reference : creator.id === actor.userId) return
  throw missingSystemRight('system.root', { name: creator.place })
}

/** An owner that is sent back as it was answered needs no look-up. */
function isOwner(item: Item, owner: OwnerRef): boolean {
  if (!item.current || owner.id === undefined) return false
  return owner.kind === 'user' ? item.ownerUser === owner.id : item.ownerGroup === owner.id
}

function applyTags(context: SaveContext, item: Item, skipConstraints: boolean): void {
  const { deps } = context
  if (!item.table.hasTags) {
    item.tags = []
    return
  }
  const snapshot = deps.tags.snapshot()
  const tags = item.draft?.tags?.map((ref) => tagOf(snapshot, ref))
  if (tags === undefined && item.current) return
  giveTags(context, item, tags, skipConstraints)
}

/** The tag of a reference, if there is one. */
export function tagOf(snapshot: TagSnapshot, ref: NamedRef): number {
  const id = ref.id ?? snapshot.byReference.get(ref.reference ?? '')?.id
  if (id === undefined) throw new AppError('TagNotFound', { name: ref.place, ...named(ref) })
  return id
}

/**
 * Gives an object these tags, and checks the rights on those that are added or removed; undefined: the draft does not mention tags.
 */
export function giveTags(
  { deps, rights }: SaveContext,
  item: Item,
  tags: readonly number[] | undefined,
  skipConstraints: boolean,
): void {
  const snapshot = deps.tags.snapshot()
  const previous = item.current ? item.current.tags : null
  const available = deps.tags.available(item.table.id, item.poolId)
  item.tags = checkTags(snapshot, { tags, previous, available, skipConstraints })
  if (rights.root || tags === undefined) return
  // A new object starts with the default tags: the caller needs no right to add them, but needs one to remove them.
  const begun = previous ?? checkTags(snapshot, { tags: undefined, previous, available })
  const at = deps.clock().getTime()
  const lacking = (right: TagRight, ids: readonly number[], without: readonly number[]): number | undefined =>
    ids.find((id) => !without.includes(id) && !mayTag(snapshot.get(id) ?? { acl: [] }, right, rights, at))
  const added = lacking('tag_add', item.tags, begun)
  if (added !== undefined) throw tagRefused(item, 'tag_add', { tag: added })
  // The error names no tag: it would reveal a tag of the object to a caller that may not be allowed to read it.
  if (lacking('tag_remove', begun, item.tags) !== undefined) throw tagRefused(item, 'tag_remove', {})
}

function tagRefused(item: Item, right: TagRight, tag: { tag?: number }): AppError {
  return new AppError(
    'ObjectInsufficientRights',
    { name: `${item.place}._tags`, right, objecttype: item.table.name, ...tag },
    { message: `${item.place}: the right ${right} on a tag is missing` },
  )
}

async function applyGrants({ deps, tx, actor, rights }: SaveContext, items: readonly Item[]): Promise<void> {
  const said = items.filter((item) => item.table.aclTable && item.draft?.acl !== undefined)
  if (said.length > 0) {
    const lists = await deps.validateAcls(
      tx,
      actor,
      said.map((item) => ({
        wire: item.draft?.acl,
        previous: (item.current?.acl ?? null) as readonly StoredGrant[] | null,
        shown: !item.current || rights.root || rights.may('acl', guarded(guardBefore(item))),
        place: `${item.place}._acl`,
      })),
    )
    for (const [index, item] of said.entries()) item.acl = lists[index] ?? null
  }
  for (const item of items) {
    if (item.table.aclTable) item.privateAcl = item.draft?.privateAcl ?? item.privateAcl
    else {
      item.acl = null
      item.privateAcl = false
    }
  }
}

/** Whether the grants of an item, or its `privateAcl`, differ from the stored ones. */
export function grantsChanged({ acl, privateAcl, current }: Item): boolean {
  return !sameContent(acl ?? null, current?.acl ?? null) || privateAcl !== (current?.privateAcl ?? false)
}
