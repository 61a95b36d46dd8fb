/**
 * Deletes events from the log when they reach the age that the base configuration has for their group, and removes addresses from
 * older events that stay. Each janitor goes through the log once, by id, and stores its position: a run reads only events that have
 * reached the age.
 */
import type { Logger } from 'pino'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { createPeriodic, type Periodic } from '../platform/process/periodic.ts'
import { type JanitorRun, janitorRun } from './janitor-run.ts'
import type { EventLog } from './log.ts'
import { type EventGroup, eventGroups, eventTypes } from './types.ts'

export interface EventJanitorOptions {
  readonly db: Db
  readonly events: Pick<EventLog, 'append'>
  readonly log: Pick<Logger, 'error'>
  readonly settings: () => {
    readonly active: boolean
    /** Days; null: no removal. */
    readonly event_remote_addr_expire_days: number | null
    readonly events: Readonly<Record<`expire_days_${EventGroup}`, number | null>>
  }
  /** While it returns true, nothing is changed. */
  readonly paused: () => boolean
}

export interface DueWork {
  readonly type: string
  readonly days: number
  readonly count: number
  /** Whether there are more. */
  readonly capped: boolean
}

export interface EventJanitor extends Periodic {
  /** The number of events that the next runs would change now. */
  due(): Promise<DueWork[]>
}

/** Milliseconds between two runs (decision 81). */
const tenMinutes = 600_000
/** The number of events that one transaction reads. */
const batch = 5000
/** Batches of one janitor in a run; the rest is done in the next one. */
const mostBatches = 40
const mostCounted = 10_000
/** Advisory lock that the run holds; `strg` and a number of our own. */
const lock = 0x73747267_000fn

/** A kind of data that expires. */
interface Aging {
  readonly name: string
  readonly days: number
  /** SQL: whether it applies to an event `e`. `$1` is a list of types. */
  readonly condition: string
  readonly types: readonly string[]
  /** SQL: the change of the events in `gone (id)`. */
  readonly change: string
}

const builtIn = Object.entries(eventTypes)

function agingOf({
  events,
  event_remote_addr_expire_days: addressDays,
}: ReturnType<EventJanitorOptions['settings']>): Aging[] {
  const groups = eventGroups.flatMap((group): Aging[] => {
    const days = events[`expire_days_${group}`]
    if (days === null) return []
    // Types that plugins declare are not in the catalogue.
    const types = builtIn.filter(([, one]) => group === 'PLUGIN' || one.group === group).map(([name]) => name)
    const condition = group === 'PLUGIN' ? 'e.type <> all($1::text[])' : 'e.type = any($1::text[])'
    const change = 'delete from event e using gone where e.id = gone.id'
    return [{ name: `event_expire_${group}`, days, condition, types, change }]
  })
  if (addressDays === null) return groups
  const change = 'update event e set remote_addr = null from gone where e.id = gone.id'
  const condition = `e.remote_addr is not null and $1::text[] = '{}'`
  return [...groups, { name: 'event_remote_addr', days: addressDays, condition, types: [], change }]
}

/** Events after the stored position, up to the first matching one that is too young. */
const due = (condition: string): string => `
  place as (select coalesce((select up_to from event_janitor where name = $2), 0) as up_to),
  page as materialized (
    select e.id, e.at, (${condition}) as mine from event e, place where e.id > place.up_to order by e.id limit $4
  ), seen as materialized (
    select id, mine from page where id < coalesce((select min(id) from page where mine and at >= $3::timestamptz), 9223372036854775807)
      -- What has just been written may still get neighbours with lower ids.
      and at < now() - interval '1 minute'
  ), gone as materialized (select id from seen where mine)`

export function createEventJanitor({ db, events, log, settings, paused }: EventJanitorOptions): EventJanitor {
  let current: { report: JanitorRun; count: number } = { report: janitorRun('event_expire', batch), count: 0 }

  async function step(tx: Tx, aging: Aging, now: Date): Promise<{ looked: number; changed: number }> {
    const { rows: mine } = await tx.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [lock])
    if (!mine[0]?.mine) return { looked: 0, changed: 0 }
    const { rows } = await tx.query<{ looked: number; changed: number }>(
      `with ${due(aging.condition)}, changed as (${aging.change} returning e.id), moved as (
         insert into event_janitor (name, up_to) select $2, max(id) from seen having max(id) is not null
         on conflict (name) do update set up_to = excluded.up_to
       )
       select (select count(*) from seen) as looked, (select count(*) from changed) as changed`,
      [aging.types, aging.name, before(now, aging.days), batch],
    )
    return rows[0] ?? { looked: 0, changed: 0 }
  }

  async function work(stopped: () => boolean, now = new Date()): Promise<void> {
    for (const aging of agingOf(settings())) {
      current = { report: janitorRun(aging.name, batch), count: 0 }
      for (let round = 0; round < mostBatches && !stopped(); round++) {
        const { looked, changed } = await db.transaction((tx) => step(tx, aging, now))
        current.count += changed
        if (looked === 0) break
      }
      const { report, count } = current
      if (count > 0) await events.append(db, [report.done(count, [`older than ${aging.days} days`])])
    }
  }

  const periodic = createPeriodic({
    every: tenMinutes,
    paused: () => paused() || !settings().active,
    work,
    async onFailure(error) {
      log.error({ err: error }, 'the janitor of events failed')
      await events.append(db, [current.report.failed(error, current.count, [])]).catch(() => {})
    },
  })
  return {
    ...periodic,
    async due() {
      const now = new Date()
      const found: DueWork[] = []
      for (const { name, days, condition, types } of agingOf(settings())) {
        const { rows } = await db.query<{ count: number }>(`with ${due(condition)} select count(*) from gone`, [
          types,
          name,
          before(now, days),
          mostCounted,
        ])
        const count = rows[0]?.count ?? 0
        found.push({ type: name, days, count, capped: count >= mostCounted })
      }
      return found
    },
  }
}

const before = (now: Date, days: number): Date => new Date(now.getTime() - 86_400_000 * days)
