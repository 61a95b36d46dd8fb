/**
 * Saving collections: a batch is one transaction, checked as a whole and written with a constant number of statements.
 * `_version` distinguishes create from update (decision 1 of the specification).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Model } from '../datamodel/model.ts'
import type { RequireMappings } from '../objecttypes/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { composed } from '../platform/values/text.ts'
import type { PoolSnapshot } from '../pools/model.ts'
import { type CallerRights, parseWho, type RightsService } from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import { type Access, accessTo, type Chains, notFound, requireCollection } from './access.ts'
import { readCreateObject } from './create-object.ts'
import { checkedAcls, givesActing } from './grants.ts'
import { assertStoredVersion, type Draft, identify, ownTop } from './identify.ts'
import type { Collection, CollectionFields } from './model.ts'
import { type CollectionInput, mostLevels } from './schema.ts'
import type { CreatedShareUsers } from './shares/service.ts'
import * as store from './store.ts'

export interface SaveContext {
  readonly tx: Tx
  readonly actor: Actor
  readonly rights: CallerRights
  readonly grants: Pick<RightsService, 'validateAcls' | 'resolveWho'>
  readonly model: Model
  readonly pools: PoolSnapshot
  readonly tags: Pick<KeptTags, 'existing'>
  readonly requireMappings: RequireMappings
  readonly convention: VersionConvention
  /** Milliseconds since 1970. */
  readonly at: number
  /** Hashes of the PINs that the request sets, by place; null: none is set. */
  readonly pinHashes: readonly (string | null)[]
  /** Makes the users that grants of the request ask for. */
  readonly makeShares: () => Promise<CreatedShareUsers>
}

/** A collection of a batch while it is being saved. */
interface Work extends Draft {
  readonly current: Collection | null
  readonly newId: number
  readonly parentId: number | null
  readonly path: readonly number[]
  readonly ownerId: number
}

export interface Saved {
  readonly collections: SavedCollection[]
  readonly made: CreatedShareUsers
}

export interface SavedCollection extends store.Written {
  /** Its former grants. */
  readonly grantsBefore: ReadonlySet<number>
  readonly created: boolean
  /** It has another parent than before. */
  readonly moved: boolean
  /** Other grants apply to it than before. */
  readonly reshared: boolean
}

/** Saves all collections of the request; answers them as stored, in the order of the request. */
export async function saveCollections(
  context: SaveContext,
  inputs: readonly CollectionInput[],
  placeOf: (index: number) => string,
): Promise<Saved> {
  const { tx } = context
  const drafts = await identify(tx, inputs, placeOf)
  await store.lockTree(tx, drafts.some(mayMove) ? 'alone' : 'shared')
  const { works, accesses } = await place(context, drafts)
  const made = await context.makeShares()
  const written = await fill(context, works, accesses, made)
  requireContentRights(works, written, accesses)
  const created = written.filter((one) => one.created)
  const updated = written.filter((one) => !one.created)
  await store.insertCollections(tx, created)
  await store.updateCollections(tx, updated)
  const lowest = await store.moveCollections(
    tx,
    updated.filter((one) => !isDeepStrictEqual(one.path, one.previousPath)),
  )
  assertLevels(Math.max(lowest, ...created.map(({ path }) => path.length)))
  await requireOwnActing(context, works)
  return { collections: written, made }
}

/** @throws {AppError} for a tree with too many levels: the path is read with each collection */
function assertLevels(level: number): void {
  if (level > mostLevels)
    throw badRequest(`There are ${mostLevels} collections above each other at most.`, {
      value: level,
      most: mostLevels,
    })
}

function mayMove({ id, parent }: Draft): boolean {
  return id !== null && parent !== null
}

type Accesses = (id: number) => Access

/** Finds the collections that the request names, gives each its place, and checks the rights for that. */
async function place(
  context: SaveContext,
  drafts: readonly Draft[],
): Promise<{ readonly works: Work[]; readonly accesses: Accesses }> {
  const { tx, actor } = context
  const stored = new Map(
    (
      await store.lockCollections(
        tx,
        drafts.flatMap(({ id }) => id ?? []),
      )
    ).map((one) => [one.id, one]),
  )
  const needsTop = drafts.find(({ id, parent }) => id === null && parent === null)
  const top = needsTop ? await ownTop(tx, actor.userId, `${needsTop.place}.collection._id_parent`) : null
  const parents = drafts.flatMap(({ parent }) => (parent && 'id' in parent ? parent.id : []))
  const others = [...new Set([...parents, ...(top === null ? [] : [top])])].filter((id) => !stored.has(id))
  for (const one of await store.findCollections(tx, others)) stored.set(one.id, one)
  const chains = await store.findChains(tx, [...stored.keys()], actor)
  const accesses = accessesOf(context, stored, chains)
  const fresh = (await store.newIds(tx, drafts.filter(({ id }) => id === null).length)).values()
  const ids = drafts.map(({ id }) => id ?? (fresh.next().value as number))
  const works = drafts.map((draft, index): Omit<Work, 'path' | 'ownerId'> => {
    const current = draft.id === null ? null : (stored.get(draft.id) ?? null)
    if (draft.id !== null && !(current && accesses(draft.id).known)) throw notFound(draft.id)
    if (current) assertStoredVersion(draft, current, context.convention)
    const said = draft.parent && ('id' in draft.parent ? draft.parent.id : (ids[draft.parent.draft] as number))
    return { ...draft, current, newId: ids[index] as number, parentId: said ?? (current ? current.parentId : top) }
  })
  requirePlaceRights(works, stored, accesses)
  return { works: withPaths(works, stored, chains), accesses }
}

/** The rights of the caller on each stored collection; a new collection of the request belongs to the caller. */
function accessesOf({ actor, at }: SaveContext, stored: ReadonlyMap<number, Collection>, chains: Chains): Accesses {
  const known = new Map<number, Access>()
  return (id) => {
    const found = known.get(id)
    if (found) return found
    const collection = stored.get(id)
    const access = accessTo(actor, collection ?? { path: [], ownerId: 0, unreachable: true }, chains, at)
    known.set(id, access)
    return access
  }
}

/** Checks `bag_create` on the new parent, `bag_write` on a changed collection, and `bag_acl` on a moved one. */
function requirePlaceRights(
  works: readonly Omit<Work, 'path' | 'ownerId'>[],
  stored: ReadonlyMap<number, Collection>,
  accesses: Accesses,
): void {
  const added = new Set(works.flatMap(({ current, newId }) => (current ? [] : newId)))
  for (const { current, parentId, place } of works) {
    const path = `${place}.collection._id_parent`
    const moved = current !== null && current.parentId !== parentId
    if (current) requireCollection(accesses(current.id), 'bag_write', current.id, place)
    if (moved && current.isSystem)
      throw badRequest(`${path}: a system collection stays where it is`, { path, collection: current.id })
    if (moved) requireCollection(accesses(current.id), 'bag_acl', current.id, place)
    if (parentId === null || added.has(parentId) || (current && !moved)) continue
    if (!(stored.has(parentId) && accesses(parentId).known))
      throw new AppError('LookupNotFound', { path, basetype: 'collection', _id: parentId })
    requireCollection(accesses(parentId), 'bag_create', parentId, path)
  }
}

/**
 * The way from the root down to each, and its owner: that of its parent.
 * @throws {AppError} for a collection that would be above itself.
 */
function withPaths(
  works: readonly Omit<Work, 'path' | 'ownerId'>[],
  stored: ReadonlyMap<number, Collection>,
  chains: Chains,
): Work[] {
  const parents = new Map<number, number | null>([...chains].map(([id, { parentId }]) => [id, parentId]))
  for (const { newId, parentId } of works) parents.set(newId, parentId)
  const placed = new Set(works.flatMap(({ current, newId, parentId }) => (current?.parentId === parentId ? [] : newId)))
  return works.map((work) => {
    const { newId, current, parentId, place } = work
    const upwards: number[] = []
    const walked = new Set<number>()
    for (let at: number | null = newId; at !== null; at = parents.get(at) ?? null) {
      if (walked.has(at)) {
        const path = `${place}.collection._id_parent`
        throw badRequest(`${path}: the collection would be above itself`, { path, collection: newId, parent: parentId })
      }
      walked.add(at)
      upwards.push(at)
    }
    // The nearest ancestor with a known place decides the owner of all below it.
    const settled = upwards.find((id) => !placed.has(id))
    const ownerId = (settled === undefined ? undefined : stored.get(settled)?.ownerId) ?? current?.ownerId
    if (ownerId === undefined) throw new Error('a collection without an owner above it')
    return { ...work, path: upwards.toReversed(), ownerId }
  })
}

/** The collections in stored form. */
async function fill(
  context: SaveContext,
  works: readonly Work[],
  accesses: Accesses,
  made: CreatedShareUsers,
): Promise<SavedCollection[]> {
  await assertOwners(context, works)
  const acls = await checkedAcls(
    context,
    works.map(({ input, current, place }, index) => ({
      wire: made.wireOf(index, input._acl),
      known: made.ids.map((id) => `u${id}` as const),
      previous: current?.acl ?? null,
      shown: !current || accesses(current.id).may('bag_acl'),
      own: !current || accesses(current.id).whole,
      place: `${place}._acl`,
    })),
  )
  const named = works.flatMap(({ input }) => (input.collection.create_object?.tags ?? []).map(({ _id }) => _id))
  const tags = named.length === 0 ? new Set<number>() : await context.tags.existing(context.tx, [...new Set(named)])
  await context.requireMappings(
    context.tx,
    works.flatMap(({ input, current, place }) => namedMapping(input, current, `${place}.collection.create_object`)),
  )
  return works.map((work, index) => {
    const { current, path } = work
    const pinHash = context.pinHashes[index] ?? null
    const fields = fieldsOf(context, work, { acl: acls[index], tags, pinHash })
    const moved = current !== null && !isDeepStrictEqual(path, current.path)
    return {
      id: work.newId,
      version: (current?.version ?? 0) + 1,
      created: !current,
      parentId: work.parentId,
      path,
      previousPath: current?.path ?? null,
      ownerId: work.ownerId,
      userId: current?.userId ?? null,
      moved,
      reshared:
        moved ||
        !isDeepStrictEqual(fields.acl, current?.acl ?? []) ||
        fields.privateAcl !== (current?.privateAcl ?? false),
      ...fields,
      pinHash,
      grantsBefore: new Set(current?.acl.map(({ id }) => id)),
    }
  })
}

const initial: CollectionFields = {
  reference: null,
  shortname: null,
  uuid: '',
  type: null,
  displayname: {},
  description: {},
  webfrontendProps: {},
  createObject: null,
  childrenAllowed: true,
  objectsAllowed: true,
  acl: [],
  privateAcl: false,
  pinId: null,
}

/** An absent member stays unchanged; null clears it. */
function fieldsOf(
  context: SaveContext,
  { input, current, place }: Work,
  {
    acl,
    tags,
    pinHash,
  }: {
    readonly acl: CollectionFields['acl'] | undefined
    readonly tags: ReadonlySet<number>
    readonly pinHash: string | null
  },
): CollectionFields {
  const { collection: sent } = input
  const before: CollectionFields = current ?? { ...initial, uuid: crypto.randomUUID() }
  const said = <T>(value: T | null | undefined, cleared: T, stored: T): T =>
    value === undefined ? stored : (value ?? cleared)
  const marker = sent.is_system_collection ?? null
  if (marker !== null && marker !== (current?.isSystem ?? false)) {
    const path = `${place}.collection.is_system_collection`
    throw badRequest(`${path} cannot be set`, { path, value: marker })
  }
  const path = `${place}.collection.create_object`
  return {
    reference: referenceOf(sent.reference, current, place),
    shortname: sent.shortname === undefined ? before.shortname : sent.shortname ? composed(sent.shortname) : null,
    uuid: uuidOf(sent.uuid, before.uuid, place),
    type: said(sent.type, null, before.type),
    displayname: said(sent.displayname, {}, before.displayname),
    description: said(sent.description, {}, before.description),
    webfrontendProps: said(sent.webfrontend_props, {}, before.webfrontendProps) as CollectionFields['webfrontendProps'],
    createObject:
      sent.create_object === undefined || sent.create_object === null
        ? said(sent.create_object, null, before.createObject)
        : readCreateObject(sent.create_object, path, { ...context, tags, stored: before.createObject }),
    childrenAllowed: said(sent.children_allowed, true, before.childrenAllowed),
    objectsAllowed: said(sent.objects_allowed, true, before.objectsAllowed),
    acl: acl ?? before.acl,
    privateAcl: said(input._private_acl, false, before.privateAcl),
    pinId: pinHash === null ? (sent.pin_code === undefined ? before.pinId : null) : crypto.randomUUID(),
  }
}

/**
 * The mapping that uploads use, with what they tell its recipes, where these are others than before. Recipes are told something by
 * collections as far as people may set it.
 */
function namedMapping(
  { collection: { create_object: sent } }: CollectionInput,
  current: Collection | null,
  place: string,
) {
  const { mapping: id, mapping_recipe_configs: recipes } = sent ?? {}
  const before = current?.createObject
  const told = Object.keys(recipes ?? {}).length > 0
  const path = `${place}.mapping_recipe_configs`
  if (told && typeof id !== 'number')
    throw badRequest(`${path}: recipes need a mapping that is named by its id`, { path, expected: 'an id in mapping' })
  if (typeof id !== 'number') return []
  if (id === before?.mapping && (!told || isDeepStrictEqual(recipes, before?.mapping_recipe_configs))) return []
  const use = 'exiftool_import' as const
  return [
    { id, use, path: `${place}.mapping`, ...(told ? { recipes: { sent: recipes, path, by: 'user' as const } } : {}) },
  ]
}

function referenceOf(sent: string | null | undefined, current: Collection | null, place: string): string | null {
  const before = current?.reference ?? null
  if (sent === undefined) return before
  const reference = sent ? composed(sent) : null
  const path = `${place}.collection.reference`
  if (reference === before) return before
  if (current?.isSystem)
    throw badRequest(`${path}: a system collection keeps its reference`, { path, value: sent, expected: before })
  if (reference !== null && store.isReserved(reference))
    throw badRequest(`${path}: such a reference belongs to the service`, { path, value: sent })
  return reference
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function uuidOf(sent: string | null | undefined, before: string, place: string): string {
  if (sent === undefined || sent === null || sent === before) return before
  const path = `${place}.collection.uuid`
  if (!uuidPattern.test(sent)) throw badRequest(`${path} must be a UUID in lower case`, { path, value: sent })
  return sent
}

/** The owner follows from the place: no other owner can be set. */
async function assertOwners({ tx, actor, grants }: SaveContext, works: readonly Work[]): Promise<void> {
  const named = works.filter(({ input }) => input._owner)
  if (named.length === 0) return
  const found = await grants.resolveWho(
    tx,
    named.map(({ input, place }) => parseWho(input._owner, `${place}._owner`)),
    {
      actor,
      shown: works.flatMap(({ current, ownerId }) => [
        ...(current ? [`u${current.ownerId}` as const] : []),
        `u${ownerId}` as const,
      ]),
    },
  )
  for (const [index, { place, ownerId }] of named.entries()) {
    if (found[index] === `u${ownerId}`) continue
    const path = `${place}._owner`
    throw badRequest(`${path}: a collection has the owner of its parent`, { path, collection: named[index]?.id })
  }
}

/**
 * A collection that is moved below one of another user then belongs to that user. It must not bring along a grant by
 * which others act in the owner's name. @throws {AppError} `RightRequired`
 */
async function requireOwnActing({ tx, actor }: SaveContext, works: readonly Work[]): Promise<void> {
  const given = works.filter(
    ({ current, ownerId }) => current && current.ownerId !== ownerId && actor.userId !== ownerId,
  )
  if (actor.isRoot || given.length === 0) return
  const acting = await store.actingBelow(
    tx,
    given.map(({ newId }) => newId),
  )
  const found = given.find(({ newId }) => acting.has(newId))
  if (!found) return
  const path = `${found.place}.collection._id_parent`
  throw new AppError('RightRequired', { right: 'owner', collection: found.newId, path })
}

/** Members that open a collection to others, or let them make objects in the name of its owner. */
const giving = [
  ['acl', '_acl'],
  ['privateAcl', '_private_acl'],
  ['createObject', 'collection.create_object'],
  ['uuid', 'collection.uuid'],
  ['pinId', 'collection.pin_code'],
] as const satisfies readonly (readonly [keyof CollectionFields, string])[]

/**
 * Requires `bag_acl` for a change of members that give rights. A new collection belongs to the owner of its ancestors, so
 * these members need `bag_acl` on the nearest ancestor that existed before.
 */
function requireContentRights(works: readonly Work[], written: readonly SavedCollection[], accesses: Accesses): void {
  const added = new Set(works.flatMap(({ current, newId }) => (current ? [] : newId)))
  for (const [index, { current, path, place }] of works.entries()) {
    const next = written[index]
    const holder = current?.id ?? path.findLast((id) => !added.has(id))
    if (!next || holder === undefined) continue
    const before = current ?? { ...initial, uuid: next.uuid }
    const given = giving.find(([field]) => !isDeepStrictEqual(next[field], before[field]))
    if (given) requireCollection(accesses(holder), 'bag_acl', holder, `${place}.${given[1]}`)
    // The right to give grants is not the right to act as the owner, and a grant must not extend it to that.
    if (!accesses(holder).whole && givesActing(next.acl, before.acl)) {
      throw new AppError('RightRequired', { right: 'owner', collection: holder, path: `${place}._acl` })
    }
  }
}
