import type { Mask, Table } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import { type Deadline, noDeadline } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { mayUseMask } from '../masks/preference.ts'
import { shownSql } from '../masks/shown-sql.ts'
import { maySee } from '../render/render.ts'
import { type Address, loadHeads } from '../stored/load.ts'
import { type ReadableSql, readableSql } from '../stored/readable-sql.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { createHitAnswers } from './hits.ts'
import { createLatest } from './latest.ts'
import { createLocate } from './locate.ts'
import { isLong, type ListOptions, type ReadOptions, renderOptions } from './options.ts'
import { latestOf, mostHeads, versionsOf } from './pages.ts'
import type { ReadDeps, RenderPages } from './render-pages.ts'
import { visiblePage } from './visible.ts'

export type { HitContext, HitOptions } from './hits.ts'
export type { Located, LocatedObject, NamedBy } from './locate.ts'
export type { ListOptions, ReadOptions, ShownAs } from './options.ts'
export type { ObjectVersion } from './pages.ts'
export type { ReadDeps } from './render-pages.ts'

/** The object to read: one of its ids, and the mask. */
export interface ReadTarget {
  readonly objecttype: string
  readonly mask: string
  readonly by: 'id' | 'system_object_id' | 'global_object_id'
  readonly id: string
}

export type ReadService = ReturnType<typeof createReadService>

export function createReadService(deps: ReadDeps, render: RenderPages) {
  const latest = createLatest(deps, render, allow)
  const { readLatest, answerLatest } = latest

  function named(objecttype: string, maskName: string): { table: Table; mask: Mask } {
    const table = deps.datamodel.current().objecttypes.get(objecttype)
    if (!table) throw new AppError('UnknownObjecttype', { objecttype })
    const mask = table.masks.get(maskName)
    if (!mask) throw new AppError('MaskNotFound', { objecttype, mask: maskName })
    return { table, mask }
  }

  /**
   * Whether the object exists for the caller. An object that the caller may not read does not exist for it; nor does one in the
   * trash, if the caller may not delete it.
   * @throws {AppError} `ObjectInsufficientRights` when the caller may read it, but not with this mask.
   */
  function allow(caller: CallerRights, mask: Mask, object: Head): boolean {
    if (!maySee(caller, object)) return false
    if (mayUseMask({ deps, caller }, mask, object)) return true
    const where = { system_object_id: object.systemObjectId, objecttype: object.table.name }
    throw new AppError('ObjectInsufficientRights', { right: 'mask', mask: mask.name, ...where })
  }

  return {
    /**
     * One object in its latest version, in the given one, or in all versions, newest first; empty when there is none.
     * @throws {AppError} `UnknownObjecttype`, `MaskNotFound`, `ObjectInsufficientRights`.
     */
    async get(actor: Actor, target: ReadTarget, options: ReadOptions, deadline = noDeadline): Promise<JsonAnswer> {
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
        return latest ? answerLatest(actor, caller, latest, shown, deadline) : none
      }
      const allowed = (object: Loaded): boolean => allow(caller, mask, object)
      const q = deps.db.within(deadline)
      const versions = versionsOf(
        { q, model: deps.datamodel.current() },
        table,
        mask,
        addressOf(address),
        options.version ?? null,
        allowed,
      )
      const work = () => render(q, actor, caller, versions, shown, { deadline })
      return options.allVersions ? deps.heavyRequests.run(deadline, work) : work()
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
      deadline: Deadline = noDeadline,
    ): Promise<JsonAnswer> {
      const q = deps.db.within(deadline)
      const model = deps.datamodel.current()
      const shown = renderOptions(deps, options)
      const { table, mask } = named(objecttype, maskName)
      const caller = await deps.rights.forActor(actor)
      const visible = (head: Head): boolean =>
        caller.root || (caller.may('read', head.guard) && mayUseMask({ deps, caller }, mask, head))
      const ids = await visiblePage(q, model, caller, table, options, visible)
      // Later pages are loaded later, so the rights must be checked again on objects that have changed since.
      const pages = options.allVersions
        ? versionsOf({ q, model }, table, mask, { by: 'system_object_id', ids }, null, visible)
        : latestOf({ q, model, deps }, ids, shown.format.fields, (head) => (visible(head) ? mask : null))
      const work = () => render(q, actor, caller, pages, shown, { deadline, nearby: latest.nearby })
      const heavy = isLong(ids.length, shown) || options.allVersions
      return heavy ? deps.heavyRequests.run(deadline, work) : work()
    },

    /**
     * The objects whose events a caller may see, with whether it may see their titles too: all that it may read, in the trash or
     * not, since a user that has seen an object may learn that it was moved there. A title is made from the preferred mask.
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

    /** The data of one object that a check of rights needs, in the trash or not; null: there is no such object. */
    async guarded(from: Queryable, systemObjectId: number): Promise<{ guard: Head['guard']; deleted: boolean } | null> {
      const [head] = await loadHeads(from, deps.datamodel.current(), [systemObjectId])
      return head ? { guard: head.guard, deleted: head.deletedAt !== null } : null
    },

    /** The objects that the caller may read, as a condition on `object`, in the trash or not. */
    async readableSql(actor: Actor): Promise<ReadableSql> {
      return readableSql(deps.datamodel.current(), await deps.rights.forActor(actor))
    },

    /** The same with one mask at least: what it can open. */
    async shownSql(actor: Actor): Promise<ReadableSql> {
      return shownSql(deps, deps.datamodel.current(), await deps.rights.forActor(actor))
    },

    /** The objects that the caller may read, among the given ones, in the trash or not. */
    async latestVersions(
      q: Queryable,
      actor: Actor,
      systemObjectIds: readonly number[],
    ): Promise<Map<number, { readonly uuid: string; readonly version: number; readonly deleted: boolean }>> {
      const caller = await deps.rights.forActor(actor)
      const heads = await loadHeads(q, deps.datamodel.current(), systemObjectIds)
      return new Map(
        heads
          .filter((head) => caller.root || caller.may('read', head.guard))
          .map(({ systemObjectId, uuid, version, deletedAt }) => [
            systemObjectId,
            { uuid, version, deleted: deletedAt !== null },
          ]),
      )
    },

    /** The objects that the caller may read. */
    async readable(
      actor: Actor,
      systemObjectIds: readonly number[],
      deadline: Deadline = noDeadline,
    ): Promise<Set<number>> {
      const model = deps.datamodel.current()
      const q = deps.db.within(deadline)
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
     * Objects as others show them, and all their ancestors in hierarchies. Those that are in memory and have not changed since are
     * not read again.
     */
    async withAncestors(actor: Actor, systemObjectIds: readonly number[]): Promise<Map<number, ShownObject>> {
      const model = deps.datamodel.current()
      const caller = await deps.rights.forActor(actor)
      const shown = new Map<number, ShownObject>()
      const asked = new Set(systemObjectIds)
      let open = [...asked]
      while (open.length > 0) {
        const heads = await latest.nearby.heads(model, open.slice(0, mostHeads))
        open = open.slice(mostHeads)
        for (const head of heads) {
          shown.set(head.systemObjectId, shownObject(head, caller.root || maySee(caller, head)))
          for (const parent of head.parents) {
            if (asked.has(parent)) continue
            asked.add(parent)
            open.push(parent)
          }
        }
      }
      return shown
    },

    /** Finds the object of an address, for the actor. */
    locate: createLocate(deps),

    ...createHitAnswers(deps, render, latest),
  }
}

const none: JsonAnswer = { body: [Buffer.from('[]')], short: 0 }

function addressOf({ by, id }: { by: Address['by']; id: number }): Address {
  return { by, ids: [id] }
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

/** An object in the form in which other objects show it. */
export interface ShownObject {
  readonly objecttype: string
  /** `_id` on the wire. */
  readonly ownId: number
  readonly parents: readonly number[]
  readonly text: Readonly<Record<string, string>>
  /** Whether the caller may read it. */
  readonly readable: boolean
}

function shownObject({ table, id, parents, standard }: Head, readable: boolean): ShownObject {
  const { text = {} } = (standard['1'] ?? {}) as { text?: Readonly<Record<string, string>> }
  return { objecttype: table.name, ownId: id, parents, text, readable }
}
