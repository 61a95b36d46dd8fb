import type { Column, Table } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import type { CallerRights } from '../../../rights/service.ts'
import type { LinkRef } from '../../content/link-ref.ts'
import { invalidValue } from '../../content/values.ts'
import type { Holder } from '../../masks/writer.ts'
import { provisionalIds } from '../../stored/provisional-ids.ts'
import type { SaveContext } from '../context.ts'
import { exists } from '../disclosure.ts'
import type { Draft } from '../request/payload.ts'
import { createResolver, type Resolver } from '../resolve.ts'
import { findSpentIds } from '../write/store.ts'
import { findPromises, findUnknownNames, lockNames, type StoredPromise } from './store.ts'

/** New promises of one request. */
const mostNew = 1000
/** Users with links to one promised object. */
const mostUsers = 100

/** A link whose target was not found; `sought`: an edit only looks for it. */
export interface OpenLink extends Holder {
  readonly sought: boolean
}

/**
 * Whether the caller may link to objects of the type that do not exist yet: there must be no objects of the type that it may not
 * read. For any other caller a promised object would differ from a hidden one.
 */
export function mayPromise(rights: CallerRights, table: Table): boolean {
  return rights.root || rights.readsAll(table)
}

/** Whether a link without a target may lead to a promised object. */
export function mayBePromised(ref: LinkRef, databaseName: string): boolean {
  if (ref.by === 'system') return (ref.database ?? databaseName) === databaseName
  return ref.by === 'uuid' || ref.deferred === true
}

/** Locks the names that links may promise. Runs before anything else is locked. */
export async function lockPromisedNames(
  { tx, rights, promises }: SaveContext,
  refs: readonly LinkRef[],
  drafts: readonly Draft[],
): Promise<void> {
  const own = new Set<string | undefined>()
  const names: { uuid: string; objecttypeId: number }[] = []
  for (const ref of refs) {
    if (!ref.deferred || ref.by !== 'uuid') continue
    if (own.size === 0) for (const { uuid } of drafts) own.add(uuid)
    if (!own.has(ref.uuid) && mayPromise(rights, ref.table)) names.push({ uuid: ref.uuid, objecttypeId: ref.table.id })
  }
  if (names.length === 0) return
  const unknown = await findUnknownNames(tx, names)
  if (unknown.length === 0) return
  await lockNames(tx, unknown)
  for (const uuid of unknown) promises.locked.add(uuid)
}

/**
 * Links the objects of a request to promised ones: those that are promised already, and those that the request promises. `missing`
 * returns the target of a link to an object that does not exist, or throws.
 */
export async function linkPromised(
  context: SaveContext,
  open: readonly OpenLink[],
  missing: (ref: LinkRef) => number,
): Promise<void> {
  const { tx, locks, promises, targets } = context
  const refs = open.map(({ target }) => target)
  const stored = await findPromises(tx, {
    uuids: refs.flatMap((ref) => (ref.by === 'uuid' && ref.deferred ? ref.uuid : [])),
    ids: refs.flatMap((ref) => (ref.by === 'system' ? ref.id : [])),
    locks,
  })
  const byName = new Map(stored.map((promise) => [nameOf(promise.objecttypeId, promise.uuid), promise]))
  const byId = new Map(stored.map((promise) => [promise.id, promise]))
  const promiseOf = (ref: LinkRef): StoredPromise | undefined => {
    if (ref.by === 'uuid') return ref.deferred ? byName.get(nameOf(ref.table.id, ref.uuid)) : undefined
    const promise = ref.by === 'system' ? byId.get(ref.id) : undefined
    return promise?.objecttypeId === ref.table.id ? promise : undefined
  }
  const rest = refs.filter((ref) => !promiseOf(ref))
  // Another transaction may have created a promised object while this one waited for it.
  const resolver = rest.length > 0 ? await createResolver(context, rest, []) : null
  const used = await usedNames(context, rest)
  const provisional = provisionalIds()
  for (const { target: ref, holder, key, sought } of open) {
    const promise = promiseOf(ref)
    const object = resolver?.stored(ref)
    if (promise && (ref.by !== 'uuid' || mayPromise(context.rights, ref.table))) {
      promises.linked.set(promise.id, promise)
      holder[key] = promise.id
    } else if (object?.objecttypeId === ref.table.id) {
      targets.set(object.systemObjectId, object)
      holder[key] = object.systemObjectId
    } else if (!ref.deferred || promise || sought || !mayPromise(context.rights, ref.table)) holder[key] = missing(ref)
    else holder[key] = makePromise(context, { ref, key, used, resolver, provisional })
  }
}

interface Wanted {
  readonly ref: LinkRef
  readonly key: string
  readonly used: ReadonlySet<string>
  readonly resolver: Resolver | null
  readonly provisional: () => number
}

/** The id of a new promise. @throws {AppError} `LookupNotFound` when the link cannot wait for its target. */
function makePromise(context: SaveContext, { ref, key, used, resolver, provisional }: Wanted): number {
  const { model, promises, locks, rights } = context
  if (ref.by !== 'uuid') throw notPromised(ref, 'an object that comes later is named by its _uuid')
  const column = model.columnsById.get(Number(key))
  const reason = column && unfit(column)
  if (reason) throw notPromised(ref, reason)
  const { table, uuid, place } = ref
  const other = resolver?.stored(ref)
  if (used.has(uuid) || (other && exists(rights, other))) throw notPromised(ref, 'another object has or had that _uuid')
  const name = nameOf(table.id, uuid)
  const known = promises.made.get(name)
  if (known) return known.id
  if (promises.made.size === mostNew)
    throw invalidValue(place, uuid, `at most ${mostNew} promised objects in a request`)
  // The object was purged, or its promise given up, between two statements.
  if (locks && !promises.locked.has(uuid)) throw new AppError('DatabaseLockError', { name: 'promise' })
  const made = { id: provisional(), table, uuid }
  promises.made.set(name, made)
  return made.id
}

/** The reason why a link through the column cannot wait for its target. */
function unfit(column: Column): string | null {
  if (column.reverseEdit) return 'reverse-nested objects come with the object above them, or after it'
  const { bidirectional } = column.table
  const linksBack = bidirectional.some((pair) => pair.column === column || pair.opposite === column)
  return linksBack ? 'the target of a bidirectional link has to link back' : null
}

/** The uuids of purged objects, of those that links promise. */
async function usedNames({ tx }: SaveContext, refs: readonly LinkRef[]): Promise<ReadonlySet<string>> {
  const uuids = refs.flatMap((ref) => (ref.deferred && ref.by === 'uuid' ? ref.uuid : []))
  if (uuids.length === 0) return new Set()
  const spent = await findSpentIds({ tx, locks: false }, { systemObjectIds: [], objecttypes: [], ids: [], uuids })
  return new Set(spent.flatMap(({ uuid, users }) => (users === null ? uuid : [])))
}

/**
 * Notes that the save adds a link to a promised object; false when the caller may not do that.
 * @throws {AppError} when the link cannot wait for its target, or too many users wait for it.
 */
export function introducePromise(
  { model, rights, promises, actor }: SaveContext,
  id: number,
  { key, place }: { readonly key: string; readonly place: string },
): boolean {
  const promise = promises.linked.get(id)
  if (!promise) return true
  const table = model.tablesById.get(promise.objecttypeId)
  if (!table || !mayPromise(rights, table)) return false
  const column = model.columnsById.get(Number(key))
  const reason = column ? unfit(column) : null
  if (reason) throw notPromised({ table, place: `${place}.${column?.fullName}` }, reason)
  if (promise.users.includes(actor.userId)) return true
  if (promise.users.length >= mostUsers)
    throw invalidValue(place, promise.uuid, `an object for which fewer than ${mostUsers} users wait`)
  promises.introduced.add(id)
  return true
}

function nameOf(objecttypeId: number, uuid: string): string {
  return `${objecttypeId} ${uuid}`
}

function notPromised({ place, table }: Pick<LinkRef, 'place' | 'table'>, reason: string): AppError {
  return new AppError(
    'LookupNotFound',
    { name: place, objecttype: table.name, _allow_defer: true, reason },
    { message: `${place}: there is no such ${table.name}, and _allow_defer cannot promise it: ${reason}` },
  )
}
