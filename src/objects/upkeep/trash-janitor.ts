import type { Logger } from 'pino'
import { type JanitorRun, janitorRun } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { noDeadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import { createPeriodic } from '../../platform/process/periodic.ts'
import { purgeObjects } from '../delete/purge.ts'
import { assertUnchangedSince, runCallbacks } from '../save/callbacks/run-callbacks.ts'
import { newContext, type ObjectDeps, type SaveContext } from '../save/context.ts'
import { itemOf } from '../save/item.ts'
import { onCurrentModel } from '../save/on-current-model.ts'
import { inTransaction } from '../save/transaction.ts'
import { lockObjects } from '../save/write/store.ts'
import { holderOf, type PolicyHolders, policyByHolder } from './janitor-policies.ts'

/**
 * Purges objects that have been in the trash for as long as the settings of their pool, or of their object type without pools,
 * define: as if the user `root` purged them. Any process may do it, one at a time, with a batch in each transaction: a process that
 * ends in the middle leaves whole batches, and the next run does the rest.
 */
export interface TrashJanitorOptions {
  readonly objects: ObjectDeps
  readonly log: Logger
  readonly policies: () => readonly PurgePolicy[]
  readonly systemActor: () => Promise<Actor>
  /** While true, nothing is purged. */
  readonly paused: () => boolean
}

/** Days in the trash after which the objects of a pool, or of an object type without pools, are purged. */
export interface PurgePolicy {
  readonly holder: string
  readonly days: number
}

interface Said extends PolicyHolders {
  readonly removal: {
    readonly allow_overwrite: boolean
    readonly object_purge: { readonly min_deleted_days: number | null }
  }
}

/** The policies that purge any objects. */
export function purgePolicies({ removal, ...holders }: Said): PurgePolicy[] {
  return policyByHolder(holders, 'object_purge', removal.allow_overwrite).flatMap(({ holder, said }) => {
    const { min_deleted_days: days } = said ?? removal.object_purge
    return days === null ? [] : { holder, days }
  })
}

const hour = 3_600_000
/** Objects that are purged in one transaction. */
const batch = 200
/** Advisory lock for this work: `strg` in ASCII, followed by a number. */
const lock = 0x73747267_000bn
const kind = 'objects_purge'

const due = `from json_to_recordset($1::json) as p(holder text, days int) join object o on p.holder = ${holderOf}
  where o.deleted_at < $2::timestamptz - p.days * interval '1 day'`

/** `gone`: the number of purged objects. */
interface Run {
  readonly report: JanitorRun
  gone: number
}

export function createTrashJanitor({ objects: deps, log, policies, systemActor, paused }: TrashJanitorOptions) {
  let current: Run = { report: janitorRun(kind, batch), gone: 0 }

  async function work(stopped: () => boolean, now = deps.clock()): Promise<void> {
    current = { report: janitorRun(kind, batch), gone: 0 }
    const run = current
    const actor = await systemActor()
    let after = { at: '-infinity', id: 0 }
    while (!stopped()) {
      const said = JSON.stringify(policies())
      // Objects that have been in the trash for longest come first, which is the order of the index of the trash.
      const { rows } = await deps.db.query<{ id: number; at: string }>(
        `select o.system_object_id as id, o.deleted_at::text as at ${due}
           and (o.deleted_at, o.system_object_id) > ($3::timestamptz, $4::bigint)
         order by o.deleted_at, o.system_object_id limit ${batch}`,
        [said, now, after.at, after.id],
        'trash-due',
      )
      const last = rows.at(-1)
      if (!last) return
      after = last
      await purge(
        actor,
        { said, now, run },
        rows.map(({ id }) => id),
      )
    }
  }

  interface Terms {
    readonly said: string
    readonly now: Date
    readonly run: Run
  }

  /** Purges all of them, or, if some cannot be purged, all others. */
  async function purge(actor: Actor, terms: Terms, ids: readonly number[]): Promise<void> {
    try {
      await purgeBatch(actor, terms, ids)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (ids.length === 1) return tellFailure(error, terms.run, ids)
      const middle = Math.ceil(ids.length / 2)
      await purge(actor, terms, ids.slice(0, middle))
      await purge(actor, terms, ids.slice(middle))
    }
  }

  async function purgeBatch(actor: Actor, { said, now, run }: Terms, ids: readonly number[]): Promise<void> {
    const report = janitorRun(kind, batch)
    const callbackOutcome = await runCallbacks(deps, {
      kind: 'purge',
      actor,
      dryRun: false,
      objects: ids.length,
      deadline: noDeadline,
      look: async (context) => [...(await lockObjects(context, ids)).values()].map((one) => itemOf(one, 'delete')),
    })
    await inTransaction(deps, { ending: 'store', objects: ids.length, deadline: noDeadline }, async (tx) => {
      const { rows: mine } = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lock])
      if (!mine[0]?.mine) return
      const context = await contextFor(tx, actor, async () => {
        // Objects that another transaction has locked are left for another run; objects restored in the meantime stay.
        const { rows } = await tx.query<{ id: number }>(
          `select o.system_object_id as id ${due} and o.system_object_id = any($3::bigint[])
           order by o.system_object_id for update of o skip locked`,
          [said, now, ids],
          'trash-lock',
        )
        return rows.map(({ id }) => id)
      })
      const found = [...(await lockObjects(context, context.ids, { forDelete: true })).values()]
      if (found.length === 0) return
      assertUnchangedSince(
        context,
        found.map((object) => itemOf(object, 'delete')),
        callbackOutcome,
      )
      await purgeObjects(context, found, { logged: true })
      const log = found.map(
        ({ table, id, deletedAt }) => `${table.name} ${id}: in the trash since ${deletedAt?.toISOString()}`,
      )
      const purged = { system_object_ids: found.map(({ systemObjectId }) => systemObjectId) }
      await deps.events.append(tx, [report.done(found.length, log, purged)])
      tx.afterCommit(() => {
        run.gone += found.length
      })
    })
  }

  async function contextFor(
    tx: Tx,
    actor: Actor,
    find: () => Promise<readonly number[]>,
  ): Promise<SaveContext & { readonly ids: readonly number[] }> {
    const model = deps.datamodel.current()
    return onCurrentModel(deps, tx, model, async (current) => {
      const [rights, ids] = [await deps.rights.forActor(actor), await find()]
      return { ...newContext({ deps, tx, model, current, locks: true, actor, rights, yielder: createYielder() }), ids }
    })
  }

  async function tellFailure(error: Error, run: Run, ids: readonly number[] = []): Promise<void> {
    log.error({ err: error, ids }, 'the janitor of the trash failed')
    const lines = ids.map((id) => `object ${id} stays`)
    const told = run.report.failed(error, run.gone, lines, { system_object_ids: ids })
    await deps.events.append(deps.db, [told]).catch(() => {})
  }

  return createPeriodic({ every: hour, paused, work, onFailure: (error) => tellFailure(error, current) })
}
