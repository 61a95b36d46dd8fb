import type { Mask, Model, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Queryable } from '../../platform/db.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { JsonAnswer } from '../../platform/json-body.ts'
import { endless, type Lifetime } from '../../platform/lifetime.ts'
import { createPauses } from '../../platform/pauses.ts'
import type { Places } from '../../platform/places.ts'
import type { CallerRights } from '../../rights/service.ts'
import { maskFits } from '../masks/filter.ts'
import { type FieldFilter, readerOf, type Wire } from '../masks/reader.ts'
import { type AnswerLimits, contentBytes, frameBytes } from '../render/parts.ts'
import {
  defaultOptions,
  type Known,
  maySee,
  type RenderDeps,
  type RenderItem,
  type RenderOptions,
  renderAnswer,
  reverseKey,
  type Shape,
} from '../render/render.ts'
import { masksByPreference, mayUseMask, standardMask } from '../render/shown-mask.ts'
import { showable } from '../save/known.ts'
import type { SavedObject } from '../save/outcome.ts'
import { type FormatName, formats, type MergeMode } from './formats.ts'
import { areSame, createAnswers, hasDatedGrants, type Sources, watched } from './kept-answers.ts'
import { type Address, loadHeads, loadLatest, loadVersions } from './load.ts'
import { createObjectCache } from './object-cache.ts'
import type { Head, Loaded } from './stored-rows.ts'
import { visiblePage } from './visible.ts'

export interface ReadDeps extends RenderDeps {
  readonly db: Db
  /** For the few statements behind one object by its id. */
  readonly quick: Queryable
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** The snapshots in memory that rendering reads besides the datamodel; each is replaced when it changes. */
  readonly snapshots: () => Sources
  readonly limits: AnswerLimits
  /** Where long lists take their turn. */
  readonly heavy: Places
}

/** Which object is read, by which of its ids, and with which mask. */
export interface ReadTarget {
  readonly objecttype: string
  readonly mask: string
  readonly by: 'id' | 'system_object_id' | 'global_object_id'
  readonly id: string
}

/** What one object and a list can be asked for alike. */
export interface ShownAs {
  readonly format: FormatName
  /** Days that addresses of files hold; undefined: as usual. */
  readonly fileDays?: number | undefined
  /** Every version, newest first, instead of the latest one. */
  readonly allVersions?: boolean
  readonly skipReverseNested?: boolean
  readonly latestLinked?: boolean
  readonly mergeLinkedObjects?: MergeMode | undefined
  readonly mergeMaxDepth?: number | undefined
}

export interface ReadOptions extends ShownAs {
  readonly version?: number | undefined
}

export interface ListOptions extends ShownAs {
  readonly limit: number
  readonly offset: number
}

/** How a search shows its hits. */
export interface HitOptions {
  readonly format: FormatName
  /** Days that addresses of files hold; undefined: as usual. */
  readonly fileDays?: number | undefined
  /** Only texts in these languages; null: all. */
  readonly languages?: readonly string[] | null
  readonly mergeLinkedObjects?: MergeMode | undefined
  readonly mergeMaxDepth?: number | undefined
  readonly generateRights?: boolean
  /** Show with `_all_fields` where the caller may; otherwise with the best mask that the caller may use. */
  readonly allFields?: boolean
  /** Full names or their beginnings (`artwork.title`, `artwork`, `_tags`); empty: all. */
  readonly includeFields?: readonly string[]
  readonly excludeFields?: readonly string[]
}

export type ReadService = ReturnType<typeof createReadService>

export function createReadService(deps: ReadDeps) {
  const memory = createObjectCache(deps.quick)
  const answers = createAnswers()

  function named(objecttype: string, maskName: string): { table: Table; mask: Mask } {
    const table = deps.datamodel.current().objecttypes.get(objecttype)
    if (!table) throw new AppError('UnknownObjecttype', { objecttype })
    const mask = table.masks.get(maskName)
    if (!mask) throw new AppError('MaskNotFound', { objecttype, mask: maskName })
    return { table, mask }
  }

  function render(
    q: Queryable,
    actor: Actor,
    caller: CallerRights,
    pages: Pages,
    options: RenderOptions,
    more: { readonly known?: Known; readonly shape?: Shape | undefined; readonly lifetime?: Lifetime } = {},
  ): Promise<JsonAnswer> {
    const pauses = createPauses(more.lifetime && (() => more.lifetime?.check()))
    const base = { deps, q, model: deps.datamodel.current(), actor, caller, options, pauses }
    return renderAnswer(base, deps.limits, pages, more)
  }

  /**
   * Whether the object is there for the caller. One that it may not read does not exist for it, as those in the trash do
   * not for callers who may not delete them.
   * @throws {AppError} `ObjectInsufficientRights` when it may be read, but not with this mask.
   */
  function allow(caller: CallerRights, mask: Mask, object: Head): boolean {
    if (!maySee(caller, object)) return false
    if (mayUseMask({ deps, caller }, mask, object)) return true
    const where = { system_object_id: object.systemObjectId, objecttype: object.table.name }
    throw new AppError('ObjectInsufficientRights', { right: 'mask', mask: mask.name, ...where })
  }

  /** The object in its latest version, with what its links and reverse fields need as far as that is cheap to know. */
  async function readLatest(
    caller: CallerRights,
    table: Table,
    mask: Mask,
    address: { by: Address['by']; id: number },
    { format, mergeLinkedObjects }: RenderOptions,
  ): Promise<Latest | null> {
    // Where links are shown with their fields their contents are loaded anyway.
    const shortLinks = format.fields && format.linked === 'short' && mergeLinkedObjects === 'none'
    const needs = { links: shortLinks, reverses: format.fields }
    const found = await memory.one(deps.datamodel.current(), table, address, readerOf(mask), needs)
    if (!found || !allow(caller, mask, found.object)) return null
    const { object, heads, absent } = found
    const below = new Map(absent.map((column) => [reverseKey(column, object.systemObjectId), []]))
    return { object, mask, known: { heads, below } }
  }

  /** What the answer to a read depends on, as far as it is in memory. */
  function sourcesOf(actor: Actor, caller: CallerRights, { object, mask, known }: Latest): Sources {
    const { heads, below } = known
    return [
      mask,
      object,
      below.size,
      deps.datamodel.current(),
      caller,
      ...deps.snapshots(),
      ...actor.languages,
      ...heads,
    ]
  }

  /** The object as JSON: kept from an earlier read when nothing that it was made from has changed. */
  async function answerLatest(
    actor: Actor,
    caller: CallerRights,
    latest: Latest,
    shown: RenderOptions,
    lifetime: Lifetime,
  ): Promise<JsonAnswer> {
    const sources = sourcesOf(actor, caller, latest)
    const { object, mask, known } = latest
    const { format, mergeLinkedObjects, mergeMaxDepth, skipReverseNested } = shown
    const question = `${object.systemObjectId} ${mask.name} ${caller.userId} ${format.name} ${mergeLinkedObjects} ${mergeMaxDepth} ${skipReverseNested}`
    const answer = answers.find(question, sources)
    if (answer) return { body: [answer], short: 0 }
    const q = watched(deps.db.within(lifetime))
    const work = () => render(q, actor, caller, [[{ object, mask }]], shown, { known, lifetime })
    const rendered = await (isDeep(shown) ? deps.heavy.run(lifetime, work) : work())
    const [body = empty] = rendered.body
    const lasting =
      !q.asked &&
      rendered.body.length === 1 &&
      rendered.short === 0 &&
      !hasDatedGrants(object) &&
      !known.heads.some(hasDatedGrants)
    // What changed meanwhile may be in the answer or not.
    if (lasting && areSame(sources, sourcesOf(actor, caller, latest))) answers.keep(question, sources, body)
    return rendered
  }

  /** Versions of objects in the order of their ids, newest first, page by page; of those that `allowed` lets pass. */
  async function* versionsOf(
    q: Queryable,
    table: Table,
    mask: Mask,
    address: Address,
    version: number | null,
    allowed: (object: Loaded) => boolean,
  ): Pages {
    const model = deps.datamodel.current()
    const size = pageSizes()
    let last: Loaded | null = null
    for (;;) {
      const limit = size.next()
      const versions: Loaded[] = await loadVersions(q, model, table, address, version, last, limit)
      size.seen(versions)
      yield versions.filter(allowed).map((object) => ({ object, mask }))
      last = versions.at(-1) ?? null
      if (versions.length < limit) return
    }
  }

  /**
   * Objects by their ids in this order, page by page, with the mask that each is shown with; null: it is not shown,
   * `short`: in its short form, which needs no mask.
   */
  async function* latestOf(
    q: Queryable,
    ids: readonly number[],
    whole: boolean,
    maskOf: (object: Head, index: number) => Mask | 'short' | null,
  ): Pages {
    const model = deps.datamodel.current()
    const size = pageSizes()
    for (let start = 0, end = 0; start < ids.length; start = end) {
      end = start + (whole ? size.next() : mostHeads)
      const page = ids.slice(start, end)
      const objects = await (whole ? loadLatest(q, model, page) : loadHeads(q, model, page))
      size.seen(objects)
      const byId = new Map(objects.map((object) => [object.systemObjectId, object]))
      yield page.flatMap((id, index) => {
        const object = byId.get(id)
        const mask = object && maskOf(object, start + index)
        if (object && mask === 'short') return [{ object: headOf(object), mask: standardMask({ deps }, object) }]
        return mask && mask !== 'short' ? [{ object, mask }] : []
      })
    }
  }

  return {
    /**
     * One object in its latest version, in the given one, or in all versions, newest first; empty when there is none.
     * @throws {AppError} `UnknownObjecttype`, `MaskNotFound`, `ObjectInsufficientRights`.
     */
    async get(actor: Actor, target: ReadTarget, options: ReadOptions, lifetime = endless): Promise<JsonAnswer> {
      const { table, mask } = named(target.objecttype, target.mask)
      const id = idOf(target, deps.databaseName)
      if (options.version !== undefined && options.allVersions) {
        throw badRequest('version and all_versions exclude each other.', { param: 'version' })
      }
      if (id === null) return none
      const caller = await deps.rights.forActor(actor)
      const address = { by: target.by === 'id' ? ('id' as const) : ('system_object_id' as const), id }
      const shown = renderOptions(deps, options)
      if (options.version === undefined && !options.allVersions) {
        const latest = await readLatest(caller, table, mask, address, shown)
        return latest ? answerLatest(actor, caller, latest, shown, lifetime) : none
      }
      const allowed = (object: Loaded): boolean => allow(caller, mask, object)
      const q = deps.db.within(lifetime)
      const versions = versionsOf(q, table, mask, addressOf(address), options.version ?? null, allowed)
      const work = () => render(q, actor, caller, versions, shown, { lifetime })
      return options.allVersions ? deps.heavy.run(lifetime, work) : work()
    },

    /**
     * Objects of a type in the order of their `_id`, without the trash; only those that the caller may read with the
     * mask count. With `allVersions` the versions of each object follow each other, newest first.
     */
    async list(
      actor: Actor,
      objecttype: string,
      maskName: string,
      options: ListOptions,
      lifetime: Lifetime = endless,
    ): Promise<JsonAnswer> {
      const q = deps.db.within(lifetime)
      const shown = renderOptions(deps, options)
      const { table, mask } = named(objecttype, maskName)
      const caller = await deps.rights.forActor(actor)
      const visible = (head: Head): boolean =>
        caller.root || (caller.may('read', head.guard) && mayUseMask({ deps, caller }, mask, head))
      const ids = await visiblePage(q, deps.datamodel.current(), caller, table, options, visible)
      // Later pages are loaded later: what has changed since must still be allowed.
      const pages = options.allVersions
        ? versionsOf(q, table, mask, { by: 'system_object_id', ids }, null, visible)
        : latestOf(q, ids, shown.format.fields, (head) => (visible(head) ? mask : null))
      const work = () => render(q, actor, caller, pages, shown, { lifetime })
      const heavy = isLong(ids.length, shown) || options.allVersions
      return heavy ? deps.heavy.run(lifetime, work) : work()
    },

    /**
     * Objects whose events a caller may see, with whether it may see their titles too: those that it may read, in the
     * trash or not, since who has seen an object may hear that it went there. A title is made from the preferred mask.
     */
    async told(systemObjectIds: readonly number[]): Promise<(actor: Actor) => Promise<ReadonlyMap<number, boolean>>> {
      const heads = await loadHeads(deps.db, deps.datamodel.current(), systemObjectIds)
      return async (actor) => {
        const caller = await deps.rights.forActor(actor)
        return new Map(
          heads
            .filter((head) => caller.root || caller.may('read', head.guard))
            .map((head) => [head.systemObjectId, mayUseMask({ deps, caller }, head.table.preferredMask, head)]),
        )
      }
    },

    /** What rights ask of one object, in the trash or not; null: there is none. */
    async guarded(from: Queryable, systemObjectId: number): Promise<{ guard: Head['guard']; deleted: boolean } | null> {
      const [head] = await loadHeads(from, deps.datamodel.current(), [systemObjectId])
      return head ? { guard: head.guard, deleted: head.deletedAt !== null } : null
    },

    /** Which of the objects the caller may read. */
    async readable(
      actor: Actor,
      systemObjectIds: readonly number[],
      lifetime: Lifetime = endless,
    ): Promise<Set<number>> {
      const model = deps.datamodel.current()
      const q = deps.db.within(lifetime)
      const caller = await deps.rights.forActor(actor)
      const readable = new Set<number>()
      for (let start = 0; start < systemObjectIds.length; start += mostHeads) {
        for (const head of await loadHeads(q, model, systemObjectIds.slice(start, start + mostHeads))) {
          if (maySee(caller, head)) readable.add(head.systemObjectId)
        }
      }
      return readable
    },

    /**
     * Hits of a search by id, in the order of the ids; objects that the caller may not see are left out.
     */
    async renderHits(
      actor: Actor,
      systemObjectIds: readonly number[],
      options: HitOptions,
      { addTo, lifetime = endless }: HitContext = {},
    ): Promise<JsonAnswer> {
      const q = deps.db.within(lifetime)
      const caller = await deps.rights.forActor(actor)
      const keep = fieldFilter(options.includeFields ?? [], options.excludeFields ?? [])
      const shown = {
        ...renderOptions(deps, options),
        generateRights: options.generateRights ?? false,
        languages: options.languages?.length ? options.languages : null,
        keep,
      }
      const pages = latestOf(q, systemObjectIds, shown.format.fields, (object) =>
        maySee(caller, object) ? bestMask(caller, object, options.allFields === true) : null,
      )
      const shape: Shape = (wire, { object }) => {
        if (keep) dropSystemFields(wire, keep)
        return addTo ? addTo(wire, object.systemObjectId) : wire
      }
      return render(q, actor, caller, pages, shown, { shape, lifetime })
    },

    /** Objects as a change would leave them, all of them: for whoever is asked before it is written. */
    async showPending(from: Queryable, viewer: Actor, objects: readonly Loaded[]): Promise<JsonAnswer> {
      const caller = await deps.rights.forActor(viewer)
      const items = objects.map((object) => ({
        object,
        mask: object.table.masks.get('_all_fields') ?? object.table.preferredMask,
      }))
      return render(from, viewer, caller, [items], renderOptions(deps, { format: 'full', skipReverseNested: true }))
    },

    /**
     * What was just saved, in the transaction of the save: each object with the mask that it was sent with, as far as the
     * caller may read it. Rights and masks to write give none to read.
     */
    async renderSaved(
      tx: Queryable,
      actor: Actor,
      saved: readonly SavedObject[],
      format: FormatName,
      { skipReverseNested = false, fileDays, shape, lifetime = endless, known }: SavedContext = {},
    ): Promise<JsonAnswer> {
      const caller = await deps.rights.forActor(actor)
      const untold = new Set<number>()
      const toItem = ({ item, object }: SavedObject): RenderItem => {
        const shown = showable({ deps, rights: caller }, item)
        if (shown === 'nothing') untold.add(object.systemObjectId)
        if (shown === 'whole') return { object, mask: item.mask }
        return { object: headOf(object), mask: standardMask({ deps }, object) }
      }
      const told: Shape = (wire, item) => {
        const shown = untold.has(item.object.systemObjectId) ? idsOnly(wire, item.object.table.name) : wire
        return shape ? shape(shown, item) : shown
      }
      return render(
        tx,
        actor,
        caller,
        inPages(saved, toItem),
        renderOptions(deps, { format, skipReverseNested, fileDays }),
        {
          ...(caller.root && !shape ? {} : { shape: told }),
          lifetime,
          ...(known ? { known } : {}),
        },
      )
    },
  }

  /** The best mask for a hit that the caller may use; without one it is only known by its title. */
  function bestMask(caller: CallerRights, object: Head, allFields: boolean): Mask | 'short' {
    const context = { deps, caller }
    const all = object.table.masks.get('_all_fields')
    if (allFields && all && mayUseMask(context, all, object)) return all
    const masks = masksByPreference(context, object).filter((mask) => mayUseMask(context, mask, object))
    // Root may use all of them: one whose tag filter does not fit is still not the best.
    return masks.find((mask) => maskFits(deps, mask, object.guard.tags)) ?? masks[0] ?? 'short'
  }
}

/** An object without its content. */
function headOf(object: Head | Loaded): Head {
  const { systemObjectId, table, id, version, uuid, poolId, ownerUser, ownerGroup } = object
  const { tags, acl, privateAcl, parents, standard, deletedAt, guard } = object
  const whose = { poolId, ownerUser, ownerGroup, tags, acl, privateAcl }
  return { systemObjectId, table, id, version, uuid, ...whose, parents, standard, deletedAt, guard }
}

/** An object in its latest version, allowed to the caller with the mask, and what is known around it. */
interface Latest extends RenderItem {
  readonly known: Known
}

/** Objects of an answer as they are loaded, some at a time. */
type Pages = AsyncIterable<readonly RenderItem[]> | Iterable<readonly RenderItem[]>

const empty = Buffer.from('[]')
const none: JsonAnswer = { body: [empty], short: 0 }

/** What a search says to its hits. */
export interface HitContext {
  /** Says more about a hit than it shows by itself. */
  readonly addTo?: (wire: Wire, systemObjectId: number) => Wire
  readonly lifetime?: Lifetime
}

interface SavedContext {
  readonly skipReverseNested?: boolean
  readonly fileDays?: number | undefined
  readonly shape?: Shape | undefined
  readonly lifetime?: Lifetime
  readonly known?: Known
}

/** Linked objects bring linked objects. */
function isDeep({ mergeLinkedObjects, mergeMaxDepth }: RenderOptions): boolean {
  return mergeLinkedObjects !== 'none' && mergeMaxDepth > 1
}

function isLong(count: number, shown: RenderOptions): boolean {
  if (!shown.format.fields) return count > 5000
  return count > (shown.mergeLinkedObjects === 'none' ? 300 : 50) || (count > 0 && isDeep(shown))
}

/** What is there already, some at a time: answers are written page by page. */
function* inPages<T>(list: readonly T[], toItem: (member: T) => RenderItem): Iterable<readonly RenderItem[]> {
  for (let start = 0; start < list.length; start += 100) yield list.slice(start, start + 100).map(toItem)
}

/** Objects without contents that are loaded at a time. */
const mostHeads = 1000

/** How many objects are loaded at a time: a hundred, then by how large those were. */
function pageSizes() {
  const [smallest, largest, bytes] = [10, 500, 2_000_000]
  let size = 100
  return {
    next: () => size,
    seen(objects: readonly (Head | Loaded)[]): void {
      let sum = 1
      for (const object of objects) if ('content' in object) sum += contentBytes(object.content) + frameBytes
      size = Math.round(Math.min(largest, Math.max(smallest, (bytes * objects.length) / sum)))
    },
  }
}

function addressOf({ by, id }: { by: Address['by']; id: number }): Address {
  return { by, ids: [id] }
}

function renderOptions(deps: Pick<RenderDeps, 'files'>, options: Omit<ShownAs, 'allVersions'>): RenderOptions {
  return {
    ...defaultOptions,
    format: formats[options.format],
    fileDays: deps.files.expiry(options.fileDays),
    skipReverseNested: options.skipReverseNested ?? false,
    latestLinked: options.latestLinked ?? false,
    mergeLinkedObjects: options.mergeLinkedObjects ?? 'none',
    mergeMaxDepth: options.mergeMaxDepth ?? 1,
  }
}

/** @throws {AppError} when the text is no id; null when it is an id of another database. */
function idOf({ by, id }: ReadTarget, databaseName: string): number | null {
  const at = by === 'global_object_id' ? id.indexOf('@') : id.length
  const number = Number(id.slice(0, at))
  if (!/^[1-9]\d{0,15}$/.test(id.slice(0, at)) || !Number.isSafeInteger(number)) {
    const expected = by === 'global_object_id' ? '<system object id>@<database>' : 'a positive integer below 2^53'
    throw badRequest(`${by} must be ${expected}`, { name: by, value: id.slice(0, 100), expected })
  }
  return by === 'global_object_id' && id.slice(at + 1) !== databaseName ? null : number
}

/** `artwork` and `artwork._nested:x` cover what is in them; a field also stays for something that is asked inside it. */
function fieldFilter(include: readonly string[], exclude: readonly string[]): FieldFilter | null {
  if (include.length === 0 && exclude.length === 0) return null
  const within = (name: string, other: string) => name === other || name.startsWith(`${other}.`)
  return (name) => {
    if (exclude.some((field) => within(name, field))) return false
    return include.length === 0 || include.some((field) => within(name, field) || within(field, name))
  }
}

/** A saved object that the caller may not read: which it is, and its version, for the next save. */
function idsOnly(wire: Wire, objecttype: string): Wire {
  const { _objecttype, _system_object_id, _global_object_id, [objecttype]: block } = wire
  return { _objecttype, _system_object_id, _global_object_id, _not_allowed: true, [objecttype]: block }
}

/** What an object carries in every projection, so that it can be told apart and named. */
const alwaysKept = new Set(['_objecttype', '_mask', '_format', '_system_object_id', '_global_object_id', '_uuid'])

function dropSystemFields(wire: Wire, keep: FieldFilter): void {
  for (const key of Object.keys(wire)) {
    if (key.startsWith('_') && !alwaysKept.has(key) && !keep(key)) delete wire[key]
  }
}
