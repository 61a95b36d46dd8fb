import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import {
  type ContainerRight,
  containerRights,
  type GeneratedRights,
  type Guarded,
  inForce,
  isCaller,
  mergeItems,
  poolFits,
  type RightItem,
  type StoredGrant,
  tagsFit,
  typeFits,
} from '../rights/service.ts'
import type { Ancestor, Collection } from './model.ts'

/** Rights on the entries of a list: to add an object, and to remove one. */
export type ListRight = 'link' | 'unlink'
const listRights: readonly ListRight[] = ['link', 'unlink']

/** The rights of one caller on one collection. */
export interface Access {
  may(right: ContainerRight): boolean
  /** Whether the caller may know that the collection exists. */
  readonly known: boolean
  /** The caller owns it, or is root. */
  readonly whole: boolean
  /** The list is accessible: no PIN hides it from the caller. */
  readonly open: boolean
  /** The caller needs no PIN for the collection itself: it has none, the caller has entered it, or is exempt. */
  readonly pinOk: boolean
  /** Whether this change of the list is allowed; null: an object of another instance, or one about which nothing is known. */
  mayList(right: ListRight, object: Guarded | null): boolean
  /** Whether this change of the list is allowed for any object at all. */
  mayListSome(right: ListRight): boolean
  /** Whether the caller may know the upload settings, for files that become objects of this type and mask. */
  mayUpload(into: UploadTarget): boolean
  /** In the form of `_generated_rights`. */
  readonly rights: GeneratedRights
}

/** The objects that uploads make; null: the settings name no object type. */
export type UploadTarget = { readonly objecttypeId: number; readonly maskId: number; readonly standard: boolean } | null

/** Ancestors, and the collection itself, by id. */
export type Chains = ReadonlyMap<number, Ancestor>

/** The grants of a collection, with inherited ones. A private collection inherits sticky grants only. */
export function grantsOn({ path }: Pick<Collection, 'path'>, chains: Chains): StoredGrant[] {
  const found: StoredGrant[] = []
  let cut = false
  for (const id of path.toReversed()) {
    const { acl = [], privateAcl = false } = chains.get(id) ?? {}
    found.push(...(cut ? acl.filter(({ sticky }) => sticky) : acl))
    cut ||= privateAcl
  }
  return found
}

interface Held {
  readonly grants: readonly StoredGrant[]
  readonly open: boolean
  readonly pinOk: boolean
}

/**
 * Grants on a collection and above it, as far as PINs let them count. Without the PIN of a collection, all of them give
 * only `bag_read`, there and below. A caller with `bag_acl` from above could set another PIN, and does not need it.
 */
function heldOf({ path }: Pick<Collection, 'path'>, chains: Chains, counts: (grant: StoredGrant) => boolean): Held {
  let held: { readonly grant: StoredGrant; readonly whole: boolean }[] = []
  let pinOk = true
  for (const id of path) {
    const { acl = [], privateAcl = false, locked = false } = chains.get(id) ?? {}
    if (privateAcl) held = held.filter(({ grant }) => grant.sticky)
    pinOk = !locked || held.some(({ grant: { rights, tagfilter } }) => !tagfilter && rights.bag_acl)
    held.push(...acl.filter(counts).map((grant) => ({ grant, whole: true })))
    if (!pinOk) held = held.map(({ grant }) => ({ grant: seeing(grant), whole: false }))
  }
  const grants = held.map(({ grant }) => grant)
  return { grants, pinOk, open: held.some(({ grant, whole }) => whole && grant.rights.bag_read) }
}

/** A grant without the PIN: only `bag_read` is left. */
function seeing({ rights: { bag_read: see }, ...grant }: StoredGrant): StoredGrant {
  return { ...grant, rights: see ? { bag_read: {} } : {} }
}

/** Rights of a caller on a collection, at a moment (milliseconds). The owner has all rights, as root does. */
export function accessTo(
  actor: Actor,
  collection: Pick<Collection, 'path' | 'ownerId' | 'unreachable'>,
  chains: Chains,
  at: number,
): Access {
  if (collection.unreachable && !actor.isRoot) return nothing
  const owns = collection.ownerId === actor.userId
  const whole = actor.isRoot || owns
  const named = ({ who }: StoredGrant): boolean => (who === 'owner' ? owns : who !== 'contact' && isCaller(actor, who))
  const { grants, open, pinOk } = heldOf(collection, chains, (grant) => inForce(grant, at) && named(grant))
  // A tag filter is about objects: a grant with one gives no rights on the collection itself.
  const held = new Set<string>(grants.flatMap(({ rights, tagfilter }) => (tagfilter ? [] : Object.keys(rights))))
  const fits = (right: ListRight, object: Guarded | null) => (grant: StoredGrant) => listFits(grant, right, object)
  return {
    may: (right) => whole || held.has(right),
    known: whole || grants.length > 0,
    whole,
    open: whole || open,
    pinOk: whole || pinOk,
    mayList: (right, object) => whole || grants.some(fits(right, object)),
    mayListSome: (right) => whole || grants.some(({ rights }) => rights[right] !== undefined),
    mayUpload: (into) =>
      whole || (grants.some(({ rights }) => rights.link) && grants.some((grant) => uploadFits(grant, into))),
    rights: whole ? everything(owns) : merged(grants),
  }
}

const nothing: Access = {
  may: () => false,
  known: false,
  whole: false,
  open: false,
  pinOk: false,
  mayList: () => false,
  mayListSome: () => false,
  mayUpload: () => false,
  rights: {},
}

function listFits({ rights, tagfilter }: StoredGrant, right: ListRight, object: Guarded | null): boolean {
  const item = rights[right]
  if (!item) return false
  if (!object) return !tagfilter && !item.objecttype_ids && !item.pool_ids
  return tagsFit(tagfilter, object.tags) && typeFits(item, object.objecttypeId) && poolFits(item, object.poolId)
}

/** Both limits must hold within one grant. */
function uploadFits({ rights, tagfilter }: StoredGrant, into: UploadTarget): boolean {
  const item = rights.create_in_collection
  if (!item || tagfilter) return false
  if (!into) return !item.objecttype_ids && !item.mask_ids
  const masks = item.mask_ids?.[String(into.objecttypeId)]
  const inMask = !masks || masks.includes(into.maskId) || (into.standard && masks.includes('standard'))
  return typeFits(item, into.objecttypeId) && inMask
}

function everything(owns: boolean): GeneratedRights {
  const names = [...containerRights, ...listRights, 'create_in_collection', ...(owns ? ['owner'] : [])]
  return Object.fromEntries(names.map((name) => [name, {}]))
}

function merged(grants: readonly StoredGrant[]): GeneratedRights {
  const found = new Map<string, RightItem>()
  for (const { rights, tagfilter } of grants) {
    for (const [name, item] of Object.entries(rights)) {
      if (tagfilter && !listRights.includes(name as ListRight)) continue
      const known = found.get(name)
      found.set(name, known ? mergeItems(known, item) : item)
    }
  }
  return Object.fromEntries(found)
}

/** @throws {AppError} `RightRequired` */
export function requireCollection(access: Access, right: ContainerRight, id: number, path?: string): void {
  if (access.may(right)) return
  throw new AppError('RightRequired', { right, collection: id, ...(path === undefined ? {} : { path }) })
}

/** For a collection that the caller may not know, the answer is the same as for one that does not exist. */
export function notFound(id: number): AppError {
  return new AppError(
    'ObjectNotFound',
    { basetype: 'collection', _id: id },
    { message: 'There is no such collection.' },
  )
}
