/**
 * Exports: the results of a search, as data and files, made in the background. An *export* holds the settings; a *run*
 * makes the result, from the objects and versions that existed when it began, with the rights of the user who saved the
 * export last; a *transport* sends the result to a target.
 */
import type { EventLog, NewEvent } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import { assertVersion, type ConventionOf } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { isShared, quotaExceeded } from '../platform/limits/callers.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { isTimeZone, nextOfAll } from '../platform/values/schedule.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { Person, RightsService } from '../rights/service.ts'
import { type CheckDeps, checkExport, type NamedMapping, wrong } from './check.ts'
import { readFilter } from './filter.ts'
import { about } from './log.ts'
import type { StoredExport, StoredTransport } from './model.ts'
import { enqueueRuns, wakeNext } from './run/queue.ts'
import * as runs from './runs.ts'
import type { ExportInput, ExportOutput } from './schema.ts'
import type { LogFormat, ShowExports } from './show.ts'
import * as store from './store.ts'
import { draftTransports, type TransportDraft } from './transports/draft.ts'

export { exportMappingUse } from './mapping-use.ts'

export interface ExportServiceDeps extends CheckDeps {
  readonly db: Db
  readonly events: EventLog
  readonly jobs: Pick<Jobs, 'enqueue' | 'enqueueAll'>
  readonly seal: Pick<Seal, 'seal' | 'open'>
  readonly rights: Pick<RightsService, 'resolveWho'>
  readonly conventionOf: ConventionOf
  /** Checks mappings of files and documents. @throws {AppError} */
  readonly requireMappings: (tx: Tx, named: readonly NamedMapping[]) => Promise<void>
  /** Checks a plugin named by a transport. @throws {AppError} */
  readonly checkTransportPlugin: (plugin: string, path: string) => void
  readonly show: ShowExports
  /** Most exports of one user, and runs of one user that may be in progress at the same time. */
  readonly most: number
  readonly mostRuns: number
  readonly clock: () => Date
}

export type ExportService = ReturnType<typeof createExportService>

const standardPage = 100
/** Most files in the record of an export; the addresses of folders show all. */
const mostFiles = { one: 1000, list: 20 }

export function createExportService(deps: ExportServiceDeps) {
  const { db, events, seal, rights, show, clock } = deps

  /** @throws {AppError} for a missing export, the same error as for an export of another user (decision 71) */
  function accessible(actor: Actor, id: number, stored: StoredExport | null | undefined): StoredExport {
    if (stored && (actor.isRoot || stored.userId === actor.userId)) return stored
    if (actor.isRoot) throw badRequest(`There is no export ${id}.`, { resource: 'export', _id: id })
    throw new AppError('InsufficientRights', { resource: 'export', _id: id })
  }

  const find = async (actor: Actor, id: number): Promise<StoredExport> =>
    accessible(actor, id, (await store.findExports(db, [id]))[0])

  const lock = async (tx: Tx, actor: Actor, id: number): Promise<StoredExport> =>
    accessible(actor, id, await store.lockExport(tx, id))

  async function one(actor: Actor, id: number, log: LogFormat): Promise<ExportOutput> {
    const [rendered] = await show(actor, [await find(actor, id)], log, mostFiles.one)
    return rendered as ExportOutput
  }

  /** The transports with resolved recipients. @throws {AppError} `LookupNotFound` */
  async function resolved(tx: Tx, actor: Actor, drafts: readonly TransportDraft[], stored: StoredExport | null) {
    const shown = (stored?.transports ?? []).flatMap(({ email }) => email?.recipients ?? [])
    const found = await rights.resolveWho(
      tx,
      drafts.flatMap(({ recipients }) => recipients),
      { actor, shown },
    )
    const people = found.values()
    return drafts.map(({ message, recipients, ...transport }): StoredTransport => {
      const who = recipients.map(() => people.next().value as Person)
      return { ...transport, email: message === null ? null : { message, recipients: [...new Set(who)] } }
    })
  }

  /** Ends the run in progress or waiting, if there is one. */
  async function cancel(tx: Tx, actor: Actor, stored: StoredExport): Promise<boolean> {
    if (stored.state !== 'pending' && stored.state !== 'processing') return false
    await store.setStates(tx, [stored.id], 'failed')
    await events.append(tx, [{ ...about(actor, stored), type: 'EXPORT_CANCELED', info: { state: 'failed' } }])
    await wakeNext(tx, deps.jobs, stored.userId, deps.mostRuns)
    return true
  }

  async function create(actor: Actor, input: ExportInput): Promise<number> {
    const { _version } = input.export
    if (![undefined, 0, 1].includes(_version)) {
      throw new AppError('VersionMismatch', { path: 'export._version', got: _version, expected: 1 })
    }
    const { draft, transports, mappings } = await drafted(actor, input, null)
    return db.transaction(async (tx) => {
      await admit(tx, actor)
      await deps.requireMappings(tx, mappings)
      const id = await store.insertExport(tx, draft)
      if (id === null) throw new AppError('ExportDuplicateName', { name: draft.name })
      await store.setTransports(tx, id, await resolved(tx, actor, transports, null))
      await events.append(tx, [saved('OBJECT_INSERT', actor, { id, version: 1 })])
      return id
    })
  }

  /** @throws {AppError} `QuotaExceeded` */
  async function admit(tx: Tx, actor: Actor): Promise<void> {
    await store.lockExportsOf(tx, actor.userId)
    const count = await store.countOfUser(tx, actor.userId)
    if (count >= deps.most) throw quotaExceeded('svc.quotas.exports', deps.most, 3600)
  }

  async function update(actor: Actor, id: number, input: ExportInput): Promise<void> {
    const before = await find(actor, id)
    assertOwnVersion(actor, input, before)
    const { draft, transports, mappings } = await drafted(actor, input, before)
    await db.transaction(async (tx) => {
      await store.lockExportsOf(tx, actor.userId)
      if (before.userId !== actor.userId) await admit(tx, actor)
      const stored = await lock(tx, actor, id)
      assertOwnVersion(actor, input, stored)
      await deps.requireMappings(tx, mappings)
      if (await store.isNameTaken(tx, id, draft)) throw new AppError('ExportDuplicateName', { name: draft.name })
      await cancel(tx, actor, stored)
      await store.updateExport(tx, id, draft)
      if (transports) await store.setTransports(tx, id, await resolved(tx, actor, transports, stored))
      await events.append(tx, [saved('OBJECT_UPDATE', actor, { id, version: stored.version + 1 })])
    })
  }

  function assertOwnVersion(actor: Actor, { export: sent }: ExportInput, { version }: StoredExport): void {
    assertVersion(sent._version, version, deps.conventionOf(actor), { path: 'export._version' })
  }

  /** The record to be stored, checked as far as possible before the transaction. @throws {AppError} */
  async function drafted(actor: Actor, input: ExportInput, stored: StoredExport | null) {
    assertStorable(input.export, 'export')
    const { name, type, body, mappings } = await checkExport(deps, actor, input.export)
    const schedules = input._schedules ?? []
    for (const [index, { timezone }] of schedules.entries()) {
      const path = `_schedules[${index}].timezone`
      if (timezone && !isTimeZone(timezone)) throw new AppError('UnknownTimezone', { path, timezone })
    }
    const transports = await draftTransports(
      seal,
      input._transports ?? [],
      stored?.transports ?? [],
      deps.checkTransportPlugin,
    )
    const nextRunAt = nextOfAll(schedules, clock())
    return { draft: { userId: actor.userId, name, type, body, schedules, nextRunAt }, transports, mappings }
  }

  return {
    /** A page of the caller's exports, newest first. */
    async list(actor: Actor, query: { limit?: number; offset?: number; filter?: string }) {
      const { limit = standardPage, offset = 0 } = query
      const filter = readFilter(query.filter)
      const { count, exports } = await store.pageOfExports(db, actor.userId, { filter, limit, offset })
      return { limit, offset, count, objects: await show(actor, exports, 'short', mostFiles.list) }
    },

    /** @throws {AppError} `InsufficientRights`, or `ServerGeneric` for root where there is none */
    read: (actor: Actor, id: number, log: LogFormat): Promise<ExportOutput> => one(actor, id, log),

    /**
     * Creates an export for the caller, or changes one; the caller is then its user.
     * @throws {AppError} naming the error; `VersionMismatch`, `ExportDuplicateName`, `QuotaExceeded`,
     * `InsufficientRights`
     */
    async save(actor: Actor, input: ExportInput, named: number | null): Promise<ExportOutput> {
      if (isShared(actor)) throw new AppError('InsufficientRights', {}, { message: 'Guests have no exports.' })
      const own = input.export._id ?? null
      if (named !== null && own !== null && own !== named) throw wrong('_id', 'is that of another export')
      const id = named ?? own
      if (id !== null) await update(actor, id, input)
      return one(actor, id ?? (await create(actor, input)), 'long')
    },

    /** @throws {AppError} as `read` */
    async remove(actor: Actor, id: number): Promise<void> {
      await db.transaction(async (tx) => {
        const stored = await lock(tx, actor, id)
        const stopped = await cancel(tx, actor, stored)
        await store.deleteExport(tx, id)
        const state = stopped ? 'failed' : stored.state
        await events.append(tx, [{ ...about(actor, stored), type: 'OBJECT_DELETE', info: { state } }])
        await deps.jobs.enqueue(tx, 'exports.clean', {}, { key: 'exports.clean' })
      })
    },

    /** Starts an export; if it is waiting or in progress, it is answered unchanged. @throws {AppError} as `read` */
    async start(actor: Actor, id: number): Promise<ExportOutput> {
      await db.transaction(async (tx) => {
        const stored = await lock(tx, actor, id)
        if (stored.state === 'pending' || stored.state === 'processing') return
        const begun = await runs.beginRuns(tx, [id])
        await events.append(tx, [{ ...about(actor, stored), type: 'OBJECT_UPDATE', info: { state: 'pending' } }])
        await enqueueRuns(tx, deps.jobs, begun)
      })
      return one(actor, id, 'long')
    },

    /** Ends the run in progress or waiting. @throws {AppError} as `read`, and `ServerGeneric` where there is none */
    async stop(actor: Actor, id: number): Promise<ExportOutput> {
      await db.transaction(async (tx) => {
        const stored = await lock(tx, actor, id)
        if (!(await cancel(tx, actor, stored))) {
          throw badRequest('The export does not run.', { _id: id, state: stored.state })
        }
        await events.append(tx, [{ ...about(actor, stored), type: 'OBJECT_UPDATE', info: { state: 'failed' } }])
      })
      return one(actor, id, 'long')
    },

    /** An export that the actor may fetch. @throws {AppError} as `read` */
    find,
  }
}

/** The exports that a caller may see; for any number of callers. */
export async function readableExports(
  from: Queryable,
  ids: readonly number[],
): Promise<(actor: Actor) => ReadonlySet<number>> {
  const found = await store.findExports(from, ids)
  return (actor) => new Set(found.filter(({ userId }) => actor.isRoot || userId === actor.userId).map(({ id }) => id))
}

function saved(
  type: 'OBJECT_INSERT' | 'OBJECT_UPDATE',
  actor: Actor,
  stored: Pick<StoredExport, 'id' | 'version'>,
): NewEvent {
  return { ...about(actor, stored), type, info: { state: 'new' } }
}
