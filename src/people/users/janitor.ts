/** Archives users who have not signed in for long, and deletes users who have been archived for long, with the rights of root. */
import type { Logger } from 'pino'
import { type JanitorRun, janitorRun } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { createPeriodic, type Periodic } from '../../platform/process/periodic.ts'
import type { UserDependencies } from './deps.ts'
import { removeUser } from './remove.ts'
import * as store from './store.ts'

export interface UserJanitorOptions {
  readonly deps: UserDependencies
  readonly log: Pick<Logger, 'error'>
  readonly systemActor: () => Promise<Actor>
  readonly paused: () => boolean
}

export interface UserJanitor extends Periodic {
  /** The number of users that the next runs would archive or delete now. */
  due(): Promise<{ readonly type: string; readonly days: number; readonly count: number; readonly capped: boolean }[]>
}

/** Milliseconds between two runs (decision 81). */
const tenMinutes = 600_000
/** Users of one run: each takes a transaction of its own. */
const batch = 100
const mostCounted = 10_000
/** Advisory lock that the run holds; `strg` and a number of our own. */
const lock = 0x73747267_0010n

interface Policy {
  readonly name: 'users_archive' | 'users_delete'
  readonly policy: 'archive' | 'delete'
  readonly days: number
  readonly types: readonly string[]
}

export function createUserJanitor({ deps, log, systemActor, paused }: UserJanitorOptions): UserJanitor {
  const { db, events, baseConfig } = deps
  let current: { report: JanitorRun; count: number } = { report: janitorRun('users', batch), count: 0 }

  function policies(): Policy[] {
    const { users } = baseConfig.get().janitor
    const { archive_nonactive_after_days: idle, delete_archived_after_days: archived, archive_types: types } = users
    return [
      ...(idle === null ? [] : [{ name: 'users_archive' as const, policy: 'archive' as const, days: idle, types }]),
      ...(archived === null
        ? []
        : [{ name: 'users_delete' as const, policy: 'delete' as const, days: archived, types: [] }]),
    ]
  }

  const find = ({ policy, days, types }: Policy, now: Date, most: number): Promise<number[]> => {
    const before = new Date(now.getTime() - 86_400_000 * days)
    return policy === 'archive' ? store.idleUsers(db, before, types, most) : store.archivedUsers(db, before, most)
  }

  async function apply(policy: Policy, now: Date, stopped: () => boolean): Promise<void> {
    current = { report: janitorRun(policy.name, batch), count: 0 }
    const actor = await systemActor()
    const lines: string[] = []
    for (const id of await find(policy, now, batch)) {
      if (stopped()) break
      const options = { policy: policy.policy, confirmed: true, transfer: false }
      try {
        await removeUser(deps, actor, id, options)
        current.count++
        lines.push(`user ${id}`)
      } catch (error) {
        if (!(error instanceof AppError) || error.status >= 500) throw error
        await events.append(db, [current.report.failed(error, current.count, [`user ${id} stays`])])
      }
    }
    const { report, count } = current
    if (count > 0) await events.append(db, [report.done(count, lines)])
  }

  async function work(stopped: () => boolean, now = deps.clock()): Promise<void> {
    const todo = policies()
    if (todo.length === 0) return
    // Held over several transactions, so that one process works at a time; a lost connection ends it.
    const client = await db.connect()
    try {
      const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [lock])
      if (!rows[0]?.mine) return
      for (const policy of todo) await apply(policy, now, stopped)
    } finally {
      client.release(true)
    }
  }

  const periodic = createPeriodic({
    every: tenMinutes,
    paused: () => paused() || !baseConfig.get().janitor.active,
    work,
    async onFailure(error) {
      log.error({ err: error }, 'the janitor of users failed')
      await events.append(db, [current.report.failed(error, current.count, [])]).catch(() => {})
    },
  })
  return {
    ...periodic,
    due: () =>
      Promise.all(
        policies().map(async (policy) => {
          const { length: count } = await find(policy, deps.clock(), mostCounted)
          return { type: policy.name, days: policy.days, count, capped: count >= mostCounted }
        }),
      ),
  }
}
