import { assertVersion, versionMismatch } from '../../platform/config/versions.ts'
import { AppError } from '../../platform/errors.ts'
import { eachYielding, mapYielding, yieldIfDue } from '../../platform/process/cooperative-yield.ts'
import type { LinkRef } from '../content/link-ref.ts'
import { type Holder, writerOf } from '../masks/writer.ts'
import type { StoredObject } from '../stored/content.ts'
import { provisionalIds } from '../stored/provisional-ids.ts'
import type { SaveContext } from './context.ts'
import { exists } from './disclosure.ts'
import type { ExistingObject } from './existing-object.ts'
import type { Item } from './item.ts'
import { linkPromised, lockPromisedNames, mayBePromised, type OpenLink } from './promises/link.ts'
import type { Draft } from './request/payload.ts'
import { createResolver, type Resolver } from './resolve.ts'
import { findLinkers, type Linker } from './rules/deletion.ts'
import { hasBelow } from './rules/reverse.ts'
import { claimIds, findSpentIds, lockObjects } from './write/store.ts'

export interface Prepared {
  readonly items: Item[]
  /** The objects that link to stored items which can have other objects below them. */
  readonly linkers: readonly Linker[]
}

interface Classified {
  readonly draft: Draft
  readonly found: ExistingObject | undefined
}

/**
 * Creates items from drafts: finds the objects and links that the drafts name, decides which are created and which are updated,
 * gives provisional ids, locks the stored versions and puts the written values over them. A constant number of statements for any
 * number of drafts.
 */
export async function prepareItems(
  context: SaveContext,
  tops: readonly Draft[],
  { below }: { below: boolean },
): Promise<Prepared> {
  const { yielder } = context
  const versionConvention = context.deps.conventionOf(context.actor)
  const drafts = flatten(tops)
  const refs = (await mapYielding(drafts, refsOf, yielder)).flat()
  // Nothing else may be locked before.
  if (context.locks && refs.some(({ deferred }) => deferred)) await lockPromisedNames(context, refs, drafts)
  const resolver = await createResolver(context, refs, drafts)
  const classified = await mapYielding(drafts, (draft) => classify(context, draft, resolver), yielder)
  assertDistinct(classified)
  await yieldIfDue(yielder)
  const created = classified.filter((entry) => !entry.found).map((entry) => entry.draft)
  const ids = await chooseIds(context, created)
  const stored = classified.filter(
    (entry): entry is Classified & { found: ExistingObject } => entry.found !== undefined,
  )
  const masters = below ? stored.filter(({ draft }) => hasBelow(draft)) : []
  const [current, linkers] = await Promise.all([
    lockObjects(context, stored.map(idOf)),
    // Runs after the objects are locked: the transaction that had the lock before may have added objects below them.
    findLinkers(context.tx, masters.map(idOf)),
  ])
  const byDraft = new Map<Draft, Item>()
  const prepare = ({ draft, found }: Classified): Item => {
    const stored = found ? current.get(found.systemObjectId) : undefined
    if (found && !stored) throw notFound(draft)
    if (stored && found && stored.version !== found.version && draft.version !== undefined)
      assertVersion(draft.version, stored.version, versionConvention, versionPlace(draft))
    const item = toItem(draft, stored ?? null, ids.get(draft), byDraft)
    byDraft.set(draft, item)
    return item
  }
  const items = await mapYielding(classified, prepare, yielder)
  const open: OpenLink[] = []
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    fillLinks(context, item, resolver, byDraft, open)
  }
  if (open.length > 0) await linkPromised(context, open, (ref) => missingTarget(context, ref))
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    if (!item.draft) continue
    const { over, written } = item.draft
    item.content = writerOf(over.mask).merge(written, item.current?.content ?? null, item.place, over.partial)
    if (item.up?.field.column) item.content[item.up.field.column.key] = item.up.item.systemObjectId
  }
  return { items, linkers }
}

const idOf = ({ found }: { readonly found: ExistingObject }): number => found.systemObjectId

/** Top-level drafts first, then those nested under them, level by level. */
function flatten(tops: readonly Draft[]): Draft[] {
  const all = [...tops]
  for (let index = 0; index < all.length; index++) {
    for (const list of all[index]?.reverse.values() ?? []) all.push(...list)
  }
  return all
}

function identityRefs(draft: Draft): LinkRef[] {
  const { table, place } = draft
  const refs: LinkRef[] = []
  if (draft.systemObjectId !== undefined) refs.push({ by: 'system', table, id: draft.systemObjectId, place })
  if (draft.id !== undefined) refs.push({ by: 'id', table, id: draft.id, place })
  if (draft.uuid !== undefined) refs.push({ by: 'uuid', table, uuid: draft.uuid, place })
  if (draft.lookup) refs.push(draft.lookup)
  return refs
}

function refsOf(draft: Draft): LinkRef[] {
  const back = draft.back ? [draft.back] : []
  const links = [...draft.links, ...draft.sought].map((holder) => holder.target)
  return [...identityRefs(draft), ...links, ...(draft.parents ?? []), ...back]
}

/**
 * Create or update (decisions.md, 1): without version, or with version 1 and no stored object, a create. For the caller, an object
 * that it may not see does not exist; a create can only find out that the ids are taken.
 */
function classify({ deps, actor, rights }: SaveContext, draft: Draft, resolver: Resolver): Classified {
  const convention = deps.conventionOf(actor)
  const refs = identityRefs(draft)
  // An id in a look-up is not claimed as the id of a new object.
  const taken = refs.some((ref) => ref !== draft.lookup && resolver.stored(ref) !== undefined)
  const matches = refs.map((ref) => {
    const match = resolver.stored(ref)
    return match && exists(rights, match, 'write') ? match : undefined
  })
  const found = matches.find((match) => match !== undefined)
  // A partial change, or one of any version, is always an update; the version is checked when it is sent. Rows below it are created
  // and deleted as in any save.
  const changes = (draft.partial && !draft.up) || (draft.anyVersion && refs.length > 0)
  const creates =
    !changes && (draft.version === undefined || (draft.version === 1 && (convention === 'next' || !found)))
  if (creates) {
    if (found && isNamedByLookup(draft))
      throw versionMismatch(draft.version, found.version, convention, versionPlace(draft))
    if (found || taken) throw idTaken(draft)
    const lookup = draft.lookup
    if (lookup) throw lookupNotFound(lookup)
    return { draft, found: undefined }
  }
  if (!found) throw draft.lookup && isNamedByLookup(draft) ? lookupNotFound(draft.lookup) : notFound(draft)
  for (const [index, match] of matches.entries()) {
    if (match?.systemObjectId !== found.systemObjectId) throw immutable(draft, refs[index] as LinkRef)
  }
  if (found.objecttypeId !== draft.table.id || found.deleted) throw notFound(draft)
  if (!changes || draft.version !== undefined) {
    assertVersion(draft.version, found.version, convention, versionPlace(draft))
  }
  return { draft, found }
}

/** Where the request has the version of a draft, for errors. */
const versionPlace = ({ place, table }: Draft) => ({ name: `${place}.${table.name}._version` })

function isNamedByLookup({ lookup, systemObjectId, id, uuid }: Draft): boolean {
  return lookup !== undefined && systemObjectId === undefined && id === undefined && uuid === undefined
}

/** The same error for the ids of a visible object, of one that the caller may not see, and of a purged one. */
function idTaken(draft: Draft): AppError {
  return new AppError(
    'DatabaseUniqueKeyViolation',
    { name: draft.place, objecttype: draft.table.name, ...idsOf(draft) },
    { message: `${draft.place}: an id is taken; ids are never used a second time, not even those of purged objects` },
  )
}

function idsOf(draft: Draft): Record<string, unknown> {
  return {
    ...(draft.systemObjectId === undefined ? {} : { _system_object_id: draft.systemObjectId }),
    ...(draft.id === undefined ? {} : { _id: draft.id }),
    ...(draft.uuid === undefined ? {} : { _uuid: draft.uuid }),
  }
}

function notFound(draft: Draft): AppError {
  return new AppError(
    'ObjectNotFound',
    { name: draft.place, objecttype: draft.table.name, ...idsOf(draft) },
    { message: `${draft.place}: there is no such object to update` },
  )
}

function immutable(draft: Draft, ref: LinkRef): AppError {
  return new AppError(
    'InvalidValue',
    { name: draft.place, identity: ref.by, expected: 'the identity that the object has' },
    { message: `${draft.place}: the ids of an object cannot be changed` },
  )
}

function lookupNotFound(ref: LinkRef): AppError {
  const named =
    ref.by === 'lookup'
      ? { column: ref.column.fullName, value: ref.value }
      : ref.by === 'uuid'
        ? { _uuid: ref.uuid }
        : ref.by === 'id'
          ? { _id: ref.id }
          : { _system_object_id: ref.id }
  const missing = `${ref.place}: there is no such ${ref.table.name}`
  const { deferred = false } = ref
  return new AppError(
    'LookupNotFound',
    { name: ref.place, objecttype: ref.table.name, ...named, ...(deferred ? { _allow_defer: true } : {}) },
    {
      message: deferred
        ? `${missing}, and _allow_defer promises only targets of links: send it before, or in the same request`
        : missing,
    },
  )
}

/** Refuses a request that contains an object twice, by any of its ids. */
function assertDistinct(entries: readonly Classified[]): void {
  const seen = new Map<string, string>()
  const claim = (name: string, draft: Draft) => {
    const other = seen.get(name)
    if (other !== undefined) {
      throw new AppError(
        'InvalidValue',
        { name: draft.place, other, value: name, expected: 'each object once in a request' },
        { message: `${draft.place}: ${other} has the same object` },
      )
    }
    seen.set(name, draft.place)
  }
  for (const { draft, found } of entries) {
    if (found) claim(`_system_object_id ${found.systemObjectId}`, draft)
    else {
      if (draft.systemObjectId !== undefined) claim(`_system_object_id ${draft.systemObjectId}`, draft)
      if (draft.id !== undefined) claim(`${draft.table.name}._id ${draft.id}`, draft)
      if (draft.uuid !== undefined) claim(`_uuid ${draft.uuid}`, draft)
    }
  }
}

interface ChosenIds {
  readonly systemObjectId: number
  readonly id: number
  readonly uuid: string
}

/** Ids of new objects: those that the client chose, if no object ever had them, otherwise provisional ones. */
async function chooseIds(context: SaveContext, drafts: readonly Draft[]): Promise<Map<Draft, ChosenIds>> {
  const { tx, yielder, locks } = context
  const chosen = drafts.filter((draft) => draft.systemObjectId !== undefined || draft.id !== undefined || draft.uuid)
  if (chosen.length > 0) await assertNeverUsed(context, chosen)
  const highest = new Map<string, number>()
  for (const draft of chosen) {
    if (draft.systemObjectId !== undefined) raise(highest, 'system_object_id_seq', draft.systemObjectId)
    if (draft.id !== undefined) raise(highest, `object_id_${draft.table.id}`, draft.id)
  }
  // The pass without locks changes no counter.
  if (highest.size > 0 && locks) await claimIds(tx, highest)
  const provisional = provisionalIds()
  const ids = new Map<Draft, ChosenIds>()
  const choose = (draft: Draft): void => {
    const { systemObjectId = provisional(), id = provisional() } = draft
    const uuid = draft.uuid ?? draft.shownAs ?? crypto.randomUUID()
    ids.set(draft, { systemObjectId, id, uuid })
  }
  await eachYielding(drafts, choose, yielder)
  return ids
}

function raise(highest: Map<string, number>, name: string, value: number): void {
  highest.set(name, Math.max(highest.get(name) ?? 0, value))
}

/** Refuses ids that another object has had. Objects that others have promised are noted. */
async function assertNeverUsed(context: SaveContext, drafts: readonly Draft[]): Promise<void> {
  const withId = drafts.filter((draft) => draft.id !== undefined)
  const spent = await findSpentIds(context, {
    systemObjectIds: drafts.flatMap((draft) => draft.systemObjectId ?? []),
    objecttypes: withId.map((draft) => draft.table.id),
    ids: withId.map((draft) => draft.id as number),
    uuids: drafts.flatMap((draft) => draft.uuid ?? []),
  })
  for (const { users, ...row } of spent) {
    const promised = users && drafts.find(({ uuid, table }) => uuid === row.uuid && table.id === row.objecttype)
    if (promised) {
      if (promised.systemObjectId !== undefined) throw idReserved(promised)
      const { systemObjectId: id, objecttype: objecttypeId, uuid } = row
      context.promises.claimed.set(uuid, { id, objecttypeId, uuid, users })
      continue
    }
    const draft = drafts.find(
      (candidate) =>
        candidate.systemObjectId === row.systemObjectId ||
        (!users && candidate.uuid === row.uuid) ||
        (candidate.table.id === row.objecttype && candidate.id === row.id),
    )
    if (draft) throw idTaken(draft)
  }
}

function idReserved(draft: Draft): AppError {
  return new AppError(
    'InvalidValue',
    { name: `${draft.place}._system_object_id`, value: draft.systemObjectId, expected: 'nothing' },
    { message: `${draft.place}: links to this _uuid were promised, which reserves its _system_object_id: send none` },
  )
}

function toItem(
  draft: Draft,
  current: StoredObject | null,
  ids: ChosenIds | undefined,
  byDraft: ReadonlyMap<Draft, Item>,
): Item {
  const upItem = draft.up ? byDraft.get(draft.up.draft) : undefined
  const identity = current ?? ids
  if (!identity) throw new Error(`no ids for ${draft.place}`)
  return {
    draft,
    place: draft.place,
    table: draft.table,
    mask: draft.mask,
    mode: current ? 'update' : 'create',
    systemObjectId: identity.systemObjectId,
    id: identity.id,
    uuid: identity.uuid,
    current,
    up: draft.up && upItem ? { item: upItem, field: draft.up.field } : null,
    poolId: current?.poolId ?? null,
    ownerUser: current?.ownerUser ?? null,
    ownerGroup: current?.ownerGroup ?? null,
    tags: [...(current?.tags ?? [])],
    acl: current?.acl ?? null,
    privateAcl: current?.privateAcl ?? false,
    parents: [...(current?.parents ?? [])],
    content: {},
    comment: draft.comment ?? null,
    standard: current?.standard ?? {},
    changed: true,
  }
}

/**
 * Represents a target that does not exist, for callers that must not learn whether a target exists: `assertIntroducedLinks` answers
 * it like a target that the caller may not read.
 */
export const unknownTarget = -1

/** The target of a link to an object that does not exist. @throws {AppError} `LookupNotFound` for callers that may know this. */
function missingTarget({ rights, deps }: SaveContext, ref: LinkRef): number {
  const foreign = ref.by === 'system' && (ref.database ?? deps.config.databaseName) !== deps.config.databaseName
  if (rights.root || ref.by === 'lookup' || foreign) throw lookupNotFound(ref)
  return unknownTarget
}

/** Puts the resolved targets into the written content and the parents; links that may lead to promised objects are added to `open`. */
function fillLinks(
  context: SaveContext,
  item: Item,
  resolver: Resolver,
  byDraft: ReadonlyMap<Draft, Item>,
  open: OpenLink[],
): void {
  const { draft } = item
  const { deps, targets } = context
  if (!draft) return
  const find = (ref: LinkRef): number | null => {
    const drafted = resolver.drafted(ref)
    const target = drafted && byDraft.get(drafted)
    if (target && target.table === ref.table) return target.systemObjectId
    const stored = resolver.stored(ref)
    if (!stored || stored.objecttypeId !== ref.table.id) return null
    targets.set(stored.systemObjectId, stored)
    return stored.systemObjectId
  }
  const fill = (link: Holder, sought: boolean): void => {
    const { target, holder, key } = link
    const found = find(target)
    if (found === null && mayBePromised(target, deps.config.databaseName)) open.push({ ...link, sought })
    else holder[key] = found ?? missingTarget(context, target)
  }
  for (const link of draft.links) fill(link, false)
  for (const link of draft.sought) fill(link, true)
  if (draft.parents) {
    item.parents = [...new Set(draft.parents.map((ref) => find(ref) ?? missingTarget(context, ref)))]
  }
  assertUplink(item, resolver, byDraft)
  if (item.up && !item.up.field.column && !item.parents.includes(item.up.item.systemObjectId)) {
    item.parents = item.table.polyhierarchical
      ? [...item.parents, item.up.item.systemObjectId]
      : [item.up.item.systemObjectId]
  }
}

/**
 * A reverse-nested object links to the object above it. A payload that names another target asks for something that this save does
 * not do.
 */
function assertUplink(item: Item, resolver: Resolver, byDraft: ReadonlyMap<Draft, Item>): void {
  const { draft, up } = item
  if (!draft || !up) return
  const master = up.item.systemObjectId
  const names = (ref: LinkRef): boolean => {
    const drafted = resolver.drafted(ref)
    return (drafted ? byDraft.get(drafted)?.systemObjectId : resolver.stored(ref)?.systemObjectId) === master
  }
  const parents = up.field.column || item.table.polyhierarchical ? [] : (draft.parents ?? [])
  const other = [...(draft.back ? [draft.back] : []), ...parents].find((ref) => !names(ref))
  if (!other) return
  throw new AppError(
    'InvalidValue',
    { name: other.place, expected: `the object above it, ${up.item.place}, or nothing` },
    { message: `${other.place}: a reverse-nested object links to the object above it` },
  )
}
