/**
 * Saving pools: a batch is one transaction, checked as a whole and written with a constant number of statements.
 * `_version` decides between create and update (decision 1 of the specification).
 */

import { isDeepStrictEqual } from 'node:util'
import type { Model } from '../datamodel/model.ts'
import type { RequireMappings } from '../objecttypes/model.ts'
import type { FileStats } from '../objecttypes/schema.ts'
import { heldImages, type MarkKeepers } from '../objecttypes/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { requireRight } from '../platform/http/system-right.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { ByName, composed } from '../platform/values/text.ts'
import type { CallerRights, Person, RightsService } from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import type { TransitionService } from '../transitions/service.ts'
import { type PoolEvent, parentUpdates } from './events.ts'
import { type Batch, type Item, identify, type KnownPools } from './identify.ts'
import type { Pool, PoolSnapshot, PoolTag, StandardMasks, StoredPool } from './model.ts'
import { resolvePeople } from './people.ts'
import type { PoolInput } from './schema.ts'
import { applySettings, namedMappings } from './settings.ts'
import { insertPools, newPoolIds, updatePools } from './store.ts'
import { assertTree } from './tree.ts'

/** The functions for watermarks and captions that pools need. */
export type PoolMarks = MarkKeepers<{ readonly pools: readonly number[] }>

/** The functions for objects that pools need. */
export interface PoolObjects {
  /** The number of objects in the pools, including those in the trash. */
  count(tx: Tx, poolIds: readonly number[]): Promise<number>
  /** The number and size of the files of the objects in the pools. */
  fileFigures(from: Queryable, scope: { pools: readonly number[] }): Promise<FileStats>
  /** Objects whose place in the tree has changed must be indexed again. */
  requeue(tx: Tx, poolIds: readonly number[]): Promise<void>
}

export interface SaveContext {
  readonly tx: Tx
  readonly actor: Actor
  readonly rights: CallerRights
  readonly grants: Pick<RightsService, 'validateAcls' | 'resolveWho'>
  readonly model: Model
  readonly tags: Pick<KeptTags, 'existing'>
  readonly transitions: Pick<TransitionService, 'validateLists'>
  readonly objects: PoolObjects
  readonly marks: PoolMarks
  readonly requireMappings: RequireMappings
  /** The treatment of renditions whose watermark or caption changes. */
  readonly confirm: 'resync' | 'skip' | undefined
  readonly convention: VersionConvention
  /** The tree as it is in the locked table. */
  readonly stored: PoolSnapshot
}

export interface Saved {
  readonly kind: 'done'
  /** Ids in the order of the request. */
  readonly ids: readonly number[]
  readonly events: readonly PoolEvent[]
}

/** One pool of a batch on its way: `next` is filled step by step and written at the end. */
interface Work extends Item {
  id: number
  parentId: number | null
}

/**
 * `confirm`: watermarks or captions of renditions would change, and the request does not say how to treat them. Nothing is written.
 */
export async function savePools(
  context: SaveContext,
  inputs: readonly PoolInput[],
): Promise<Saved | { readonly kind: 'confirm' }> {
  const batch = identify(inputs, knownPools(context), context.convention)
  const works = await place(context, batch)
  requirePlaceRights(context, works)
  const next = await fill(context, works)
  requireContentRights(context, works, next)
  assertReferences(context.stored, works, next)
  const remarked = changedMarks(context, works, next)
  const concerned = remarked.length > 0 && (await context.marks.concerned(context.tx, { pools: remarked }))
  if (concerned && context.confirm === undefined) return { kind: 'confirm' }
  const created = next.filter((_, index) => !works[index]?.current)
  const updated = next.filter((_, index) => works[index]?.current)
  await insertPools(context.tx, created)
  await updatePools(context.tx, updated)
  await requeueMoved(context, works)
  await holdImages(context, works, next)
  if (concerned && context.confirm === 'resync') await context.marks.renew(context.tx, context.actor)
  const own: PoolEvent[] = next.map((pool, index) => ({
    type: works[index]?.current ? 'POOL_UPDATE' : 'POOL_INSERT',
    pool,
  }))
  const parents = works.flatMap((work) => [work.parentId, work.current?.parentId ?? null])
  return {
    kind: 'done',
    ids: works.map((work) => work.id),
    events: [...own, ...parentUpdates(context.stored, next, parents)],
  }
}

/** Gives new pools their ids and every pool its parent; parents may be pools of the same batch. */
async function place(context: SaveContext, batch: Batch): Promise<Work[]> {
  const { tx, stored } = context
  const ids = (await newPoolIds(tx, batch.items.filter((item) => !item.current).length)).values()
  const works = batch.items.map((item) => ({
    ...item,
    id: item.current?.id ?? (ids.next().value as number),
    parentId: null as number | null,
  }))
  const added = new ByName(
    works.flatMap(({ input, id }) => (input.pool.reference ? [[input.pool.reference, id] as const] : [])),
  )
  const known = knownPools(context)
  for (const work of works) work.parentId = parentOf(work, { known, added, root: stored.root.id })
  const parents = new Map([...stored.values()].map((pool) => [pool.id, pool.parentId]))
  for (const { id, parentId } of works) parents.set(id, parentId)
  assertTree(parents, works)
  return works
}

function knownPools({ actor, rights, stored }: SaveContext): KnownPools {
  const known = (pool: Pool | undefined) => (pool && (actor.isRoot || rights.knowsPool(pool.id)) ? pool : undefined)
  return {
    get: (id) => known(stored.get(id)),
    byReference: { get: (reference) => known(stored.byReference.get(reference)) },
  }
}

interface Parents {
  readonly known: KnownPools
  /** Ids of pools of the batch by their references. */
  readonly added: ReadonlyMap<string, number>
  readonly root: number
}

function parentOf({ input, current, place }: Item, { known, added, root }: Parents): number | null {
  const { _id_parent: id, 'lookup:_id_parent': lookup } = input.pool
  const isRoot = current?.id === root
  if ((id === undefined || id === null) && lookup) {
    const found = added.get(lookup.reference) ?? known.byReference.get(lookup.reference)?.id
    if (found !== undefined) return refuseRoot(found)
    throw new AppError('LookupNotFound', { path: `${place}.pool.lookup:_id_parent`, ...lookup })
  }
  if (id === undefined && current) return current.parentId
  if (id === undefined || id === null) {
    if (isRoot) return null
    throw new AppError('PoolNeedsParent', { path: `${place}.pool._id_parent`, pool: current?.id ?? null })
  }
  // All readers of a pool see its parent, and may send it back.
  if (id !== current?.parentId && !known.get(id))
    throw new AppError('PoolNotFound', { path: `${place}.pool._id_parent`, _id: id })
  return refuseRoot(id)

  function refuseRoot(parent: number): number {
    if (!isRoot) return parent
    throw new AppError('IllegalPathForPool', { path: `${place}.pool._id_parent`, pool: current?.id, parent })
  }
}

/** Requires `bag_create` on the parent of a new or moved pool, `bag_write` on a changed one, and `bag_acl` on a moved one. */
function requirePlaceRights({ rights, stored }: SaveContext, works: readonly Work[]): void {
  for (const { current, parentId, place } of works) {
    const moved = current !== null && current.parentId !== parentId
    if (current) requirePool(rights, 'bag_write', current.id, place)
    if (moved) requirePool(rights, 'bag_acl', current.id, place)
    // A parent that this batch creates belongs to the caller.
    if ((moved || !current) && parentId !== null && stored.has(parentId)) {
      requirePool(rights, 'bag_create', parentId, place)
    }
  }
}

/** @throws {AppError} `RightRequired` */
export function requirePool(
  rights: CallerRights,
  right: Parameters<CallerRights['mayPool']>[0],
  id: number,
  path?: string,
): void {
  if (rights.mayPool(right, id)) return
  throw new AppError('RightRequired', { right, pool: id, ...(path === undefined ? {} : { path }) })
}

/** The pools as they will be stored. */
async function fill(context: SaveContext, works: readonly Work[]): Promise<StoredPool[]> {
  const people = await resolvePeople(context, works)
  const acls = await readAcls(context, works)
  const transitions = await readTransitions(context, works)
  await requireTags(context, works)
  await context.requireMappings(
    context.tx,
    works.flatMap(({ input, current, place }) => namedMappings(current?.settings ?? {}, input.pool, place)),
  )
  const now = new Date()
  return works.map((work, index) => {
    const { input, current, place } = work
    const { pool } = input
    return {
      id: work.id,
      version: (current?.version ?? 0) + 1,
      parentId: work.parentId,
      reference:
        pool.reference === undefined ? (current?.reference ?? null) : pool.reference ? composed(pool.reference) : null,
      isSystem: current?.isSystem ?? false,
      owner: people.owner(work) ?? (current ? current.owner : (`u${context.actor.userId}` satisfies Person)),
      contact: people.contact(work),
      name: pool.name === undefined ? (current?.name ?? {}) : (pool.name ?? {}),
      shortname: pool.shortname === undefined ? (current?.shortname ?? {}) : (pool.shortname ?? {}),
      description: pool.description === undefined ? (current?.description ?? {}) : (pool.description ?? {}),
      comment: pool.comment === undefined ? (current?.comment ?? '') : (pool.comment ?? ''),
      settings: applySettings(current?.settings ?? {}, pool, place, context.actor.userId),
      acl: acls[index] ?? current?.acl ?? [],
      privateAcl: input._private_acl ?? current?.privateAcl ?? false,
      tags: readTags(input) ?? current?.tags ?? [],
      privateTags: input._private_tags ?? current?.privateTags ?? false,
      transitions: transitions[index] ?? current?.transitions ?? [],
      privateTransitions: input._private_transitions ?? current?.privateTransitions ?? false,
      standardMasks: readMasks(context.model, work) ?? current?.standardMasks ?? {},
      createdAt: current?.createdAt ?? now,
      updatedAt: now,
    }
  })
}

async function readAcls({ tx, actor, rights, grants }: SaveContext, works: readonly Work[]) {
  const said = works.flatMap((work, index) => (work.input._acl === undefined ? [] : [{ work, index }]))
  const lists = await grants.validateAcls(
    tx,
    actor,
    'pool',
    said.map(({ work }) => ({
      wire: work.input._acl,
      previous: work.current?.acl ?? null,
      shown: rights.mayPool('bag_acl', work.id),
      place: `${work.place}._acl`,
    })),
  )
  return sparse(works.length, said, lists)
}

async function readTransitions({ tx, actor, transitions }: SaveContext, works: readonly Work[]) {
  const said = works.flatMap((work, index) => (work.input._transitions === undefined ? [] : [{ work, index }]))
  if (said.length === 0) return []
  const lists = await transitions.validateLists(
    tx,
    actor,
    said.map(({ work }) => ({
      wire: work.input._transitions ?? [],
      previous: work.current?.transitions ?? [],
      path: `${work.place}._transitions`,
    })),
  )
  return sparse(works.length, said, lists)
}

/** Puts results of some items at the places of these items in a list of all. */
function sparse<T>(length: number, said: readonly { index: number }[], results: readonly T[]): (T | undefined)[] {
  const all = new Array<T | undefined>(length).fill(undefined)
  for (const [place, { index }] of said.entries()) all[index] = results[place]
  return all
}

function readTags({ _tags: tags }: PoolInput): PoolTag[] | undefined {
  if (tags === undefined) return undefined
  return (tags ?? []).map(({ _id, enabled, is_default }) => ({
    id: _id,
    ...(typeof enabled === 'boolean' ? { enabled } : {}),
    ...(typeof is_default === 'boolean' ? { isDefault: is_default } : {}),
  }))
}

async function requireTags({ tx, tags }: SaveContext, works: readonly Work[]): Promise<void> {
  const ids = works.flatMap((work) => (work.input._tags ?? []).map((tag) => tag._id))
  const found = ids.length === 0 ? new Set<number>() : await tags.existing(tx, [...new Set(ids)])
  for (const { input, place } of works) {
    const seen = new Set<number>()
    for (const [index, { _id }] of (input._tags ?? []).entries()) {
      const path = `${place}._tags[${index}]._id`
      if (!found.has(_id)) throw new AppError('TagNotFound', { path, id: _id })
      if (seen.has(_id)) throw badRequest(`${path}: the tag is there already`, { path, value: _id })
      seen.add(_id)
    }
  }
}

/** Preferred masks by object type; an object type without list (`null`) has no preference here. */
function readMasks(model: Model, { input, current, place }: Work): StandardMasks | undefined {
  if (input._standard_masks === undefined) return undefined
  const masks: Record<string, readonly number[]> = {}
  for (const [type, list] of Object.entries(input._standard_masks ?? {})) {
    if (list === null || isDeepStrictEqual(list, current?.standardMasks[type])) {
      // Stored masks may be sent back, even when a commit has removed them since.
      if (list) masks[type] = list
      continue
    }
    const path = `${place}._standard_masks.${type}`
    const table = /^\d{1,9}$/.test(type) ? model.tablesById.get(Number(type)) : undefined
    if (table?.kind !== 'object') throw badRequest(`${path}: there is no such object type`, { path, objecttype: type })
    if (list.length === 0) throw new AppError('ObjecttypeNeedsStandardMask', { path, objecttype: table.name })
    const unknown = list.find((id) => model.masksById.get(id)?.table !== table)
    if (unknown !== undefined) throw badRequest(`${path}: there is no such mask`, { path, mask: unknown })
    masks[type] = [...new Set(list)]
  }
  return masks
}

/**
 * Members that give rights, by themselves or together with existing grants: the contact, the standard masks, the tags of new
 * objects, the actions of transitions, data of objects in captions.
 */
const giving = [
  ['acl', '_acl'],
  ['privateAcl', '_private_acl'],
  ['contact', 'pool.contact'],
  ['standardMasks', '_standard_masks'],
  ['tags', '_tags'],
  ['privateTags', '_private_tags'],
  ['transitions', '_transitions'],
  ['privateTransitions', '_private_transitions'],
] as const satisfies readonly (readonly [keyof StoredPool, string])[]

/** Requires `bag_acl` for changes of members that give rights; only root changes the owner of a pool. */
function requireContentRights(
  { actor, rights }: SaveContext,
  works: readonly Work[],
  next: readonly StoredPool[],
): void {
  for (const [index, { current, place }] of works.entries()) {
    const pool = next[index] as StoredPool
    if (current) {
      const given = giving.find(([field]) => !isDeepStrictEqual(pool[field], current[field]))
      if (given) requirePool(rights, 'bag_acl', pool.id, `${place}.${given[1]}`)
      if (!isDeepStrictEqual(pool.settings.caption, current.settings.caption))
        requirePool(rights, 'bag_acl', pool.id, `${place}.pool.caption`)
    }
    if (pool.owner !== (current ? current.owner : `u${actor.userId}`)) requireRight(actor, { name: 'system.root' })
  }
}

function assertReferences(stored: PoolSnapshot, works: readonly Work[], next: readonly StoredPool[]): void {
  const saved = new Set(works.map((work) => work.id))
  const taken = new Set([...stored.values()].filter((pool) => !saved.has(pool.id)).map((pool) => pool.reference))
  for (const [index, { current, place }] of works.entries()) {
    const reference = next[index]?.reference ?? null
    const path = `${place}.pool.reference`
    if (current?.isSystem && reference !== current.reference) {
      throw badRequest(`${path}: a system pool keeps its reference`, {
        path,
        value: reference,
        expected: current.reference,
      })
    }
    if (reference === null) continue
    if (taken.has(reference))
      throw new AppError('DatabaseUniqueKeyViolation', { constraint: 'pool_reference_key', path, reference })
    taken.add(reference)
  }
}

/** Pools whose files may get another watermark or caption: pools with changed settings, moved ones, and all pools below these. */
function changedMarks({ stored }: SaveContext, works: readonly Work[], next: readonly StoredPool[]): number[] {
  const marksOf = ({ settings: { watermark, caption } }: StoredPool) => [watermark, caption]
  const changed = new Set(
    works.flatMap(({ id, current, parentId }, index) => {
      const isSame = current && isDeepStrictEqual(marksOf(current), marksOf(next[index] as StoredPool))
      return isSame && current.parentId === parentId ? [] : [id]
    }),
  )
  return [...stored.values()].filter((pool) => pool.path.some((id) => changed.has(id))).map((pool) => pool.id)
}

async function holdImages({ tx, actor, marks }: SaveContext, works: readonly Work[], next: readonly StoredPool[]) {
  const held = works.flatMap(({ id, current, place }, index) => {
    const watermarks = { before: current?.settings.watermark, after: next[index]?.settings.watermark }
    if (isDeepStrictEqual(watermarks.before, watermarks.after)) return []
    return [heldImages({ pool: id }, watermarks, `${place}.pool`)]
  })
  await marks.hold(tx, actor, held)
}

/** Pools below a moved one have another path too. */
async function requeueMoved({ tx, objects, stored }: SaveContext, works: readonly Work[]): Promise<void> {
  const moved = new Set(
    works.filter((work) => work.current && work.current.parentId !== work.parentId).map((work) => work.id),
  )
  if (moved.size === 0) return
  const ids = [...stored.values()].filter((pool) => pool.path.some((id) => moved.has(id))).map((pool) => pool.id)
  await objects.requeue(tx, ids)
}
