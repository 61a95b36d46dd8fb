import type { Measure } from '../platform/http/metrics.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'

const priorities = ['saved', 'linked', 'reindex'] as const

/** The number of waiting entries in the queues, the same in all processes on one database. */
export function systemMeasures(db: Db): readonly Measure[] {
  return [
    {
      name: 'index_queue',
      help: 'Entries of the index queue by reason: saved objects, objects that link to changed ones, a reindex.',
      label: 'reason',
      read: () => indexQueue(db),
    },
    {
      name: 'index_lag_seconds',
      help: 'How long the oldest saved object has been waiting for the index.',
      read: () => indexLag(db),
    },
    {
      name: 'index_failures',
      help: 'Objects that could not be indexed.',
      read: () => single(db, 'select count(*)::int8 as value from search_failure'),
    },
    {
      name: 'index_drift',
      help: 'Documents that the last check of the index, or the one under way, has found missing, surplus or different.',
      label: 'kind',
      read: () => indexDrift(db),
    },
    {
      name: 'jobs',
      help: 'Jobs (mails, webhooks, transitions) by state; given_up: failed as often as they may.',
      label: 'state',
      read: () => jobs(db),
    },
  ]
}

async function indexQueue(db: Queryable): Promise<Record<string, number>> {
  const { rows } = await db.query<{ priority: number; waiting: number }>(
    'select priority, count(*)::int8 as waiting from index_queue group by priority',
  )
  const waiting = new Map(rows.map((row) => [row.priority, row.waiting]))
  return Object.fromEntries(priorities.map((name, priority) => [name, waiting.get(priority) ?? 0]))
}

async function indexDrift(db: Queryable): Promise<Record<string, number>> {
  const { rows } = await db.query<Record<string, number>>('select missing, surplus, different from search_check')
  return rows[0] ?? {}
}

function indexLag(db: Queryable): Promise<number> {
  return single(
    db,
    `select coalesce(max(extract(epoch from now() - object.modified_at)), 0)::float8 as value
     from unnest(array[false, true]) as lane(many) cross join lateral (
       select system_object_id from index_queue where priority = 0 and bulk = many order by seq limit 1
     ) as oldest join object using (system_object_id)`,
  )
}

async function jobs(db: Queryable): Promise<Record<string, number>> {
  const { rows } = await db.query<Record<string, number>>(
    `select count(*) filter (where locked_at is not null)::int8 + (select count(*) from begun_job) as running,
       count(*) filter (where locked_at is null and attempts < max_attempts and run_at <= now())::int8 as due,
       count(*) filter (where locked_at is null and attempts < max_attempts and run_at > now())::int8 as later,
       count(*) filter (where locked_at is null and attempts >= max_attempts)::int8 as given_up
     from graphile_worker.jobs`,
  )
  return rows[0] ?? {}
}

async function single(db: Queryable, text: string): Promise<number> {
  const { rows } = await db.query<{ value: number }>(text)
  return rows[0]?.value ?? 0
}
