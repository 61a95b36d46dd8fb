/** Updates of the values of plugin types by their updaters, and of the copies in objects. */
import { isDeepStrictEqual } from 'node:util'
import type { Model } from '../../datamodel/model.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { keepExact, readExact } from '../../platform/values/exact-json.ts'
import { type CustomData, expiryOf, mapCustomData, uuidOf } from '../content/custom-values.ts'
import type { Content } from '../stored/content.ts'
import { isBulk } from '../stored/index-lane.ts'

export interface CustomDatum {
  readonly uuid: string
  readonly data: CustomData
}

/** The new data that an updater returns for a value. */
export interface UpdatedDatum {
  /** The uuid of the given value. */
  readonly uuid: string
  readonly data: CustomData
}

/** The values that have expired at that time; values without `_expires_at` in their data are due `earlier` days earlier. */
interface Due {
  readonly at: Date
  readonly earlier: number
}

export interface CustomDataDeps {
  readonly db: Db
  readonly datamodel: { current(): Model; assertCurrent(tx: Tx, model: Model): Promise<void> }
  readonly wakeIndex: () => void
}

/** Number of objects that are updated in one transaction. */
const batch = 200

export type CustomDataUpkeep = ReturnType<typeof createCustomDataUpkeep>

export function createCustomDataUpkeep({ db, datamodel, wakeIndex }: CustomDataDeps) {
  return {
    /** The number of values of the type that are due. */
    async due(type: string, { at, earlier }: Due): Promise<number> {
      const { rows } = await db.query<{ n: number }>(
        `select count(*)::int as n from custom_datum d where ${isDue}`,
        [type, at, earlier],
        'custom-data-due',
      )
      return rows[0]?.n ?? 0
    },

    /** The values that have been due for longest. */
    async next(type: string, { at, earlier }: Due, most: number): Promise<readonly CustomDatum[]> {
      const { rows } = await db.query<CustomDatum>(
        `select uuid, data from custom_datum d where ${isDue} order by expires_at, uuid limit $4`,
        [type, at, earlier, most],
        'custom-data-next',
      )
      return rows
    },

    /**
     * Takes over the result of an updater. A value that gets the uuid of another one is merged with it. `given` are the values that
     * the updater was given: they are due again in `again.days` days, unless it returns another time, but not in the same run.
     */
    async apply(
      type: string,
      given: readonly CustomDatum[],
      updated: readonly UpdatedDatum[],
      again: { readonly at: Date; readonly days: number },
    ): Promise<{ readonly updated: number; readonly merged: number }> {
      const before = new Map(given.map(({ uuid, data }) => [uuid, data]))
      const changes = updated.map(({ uuid, data }) => ({ uuid, to: uuidOf(data) ?? uuid, data }))
      const changed = changes.filter(({ uuid, to, data }) => to !== uuid || !same(before.get(uuid), data))
      const rows = changes.map(({ uuid, to, data }) => ({
        uuid,
        to,
        data: keepExact({ ...data, _uuid: to }),
        expires: expiryOf(data),
        stale: changed.some((one) => one.uuid === uuid),
      }))
      return db.transaction(async (tx) => {
        const uuids = [...new Set([...before.keys(), ...rows.map(({ to }) => to)])].sort()
        const { rows: locked } = await tx.query<{ uuid: string }>(
          'select uuid from custom_datum where type = $1 and uuid = any($2) order by uuid for update',
          [type, uuids],
          'custom-data-lock',
        )
        const there = new Set(locked.map(({ uuid }) => uuid))
        const own = rows.filter(({ uuid }) => there.has(uuid))
        await tx.query(
          writeData,
          [type, JSON.stringify(own), [...before.keys()], again.at, again.days],
          'custom-data-write',
        )
        await tx.query(markUses, [type, JSON.stringify(own)], 'custom-data-mark')
        const renamed = own.filter(({ uuid, to }) => to !== uuid)
        // A uuid that one value gives up may become that of another one.
        const names = new Set(own.map(({ to }) => to))
        await tx.query(
          'delete from custom_datum where type = $1 and uuid = any($2)',
          [type, renamed.flatMap(({ uuid }) => (names.has(uuid) ? [] : uuid))],
          'custom-data-merge',
        )
        return {
          updated: own.filter(({ uuid, to, stale }) => stale && uuid === to).length,
          merged: renamed.filter(({ to }) => there.has(to)).length,
        }
      })
    },

    /**
     * Updates the copies in objects, some objects at a time; returns their number. This creates no new versions: the value is the
     * same one, with more data. Objects that are being saved are left for later.
     */
    async refresh(type: string): Promise<number> {
      return db.transaction(async (tx) => {
        const model = datamodel.current()
        await datamodel.assertCurrent(tx, model)
        const { rows } = await tx.query<{ id: number; version: number; objecttype: number; content: Content }>(
          `select o.system_object_id as id, o.version, o.objecttype, v.content
           from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
           where o.system_object_id = any(array(
             select distinct system_object_id from custom_datum_use where stale and type = $1 order by 1 limit ${batch}))
           order by o.system_object_id for no key update of o`,
          [type],
          'custom-data-stale',
        )
        if (rows.length === 0) return 0
        const ids = rows.map(({ id }) => id)
        const { rows: uses } = await tx.query<{ id: number; written: string; data: CustomData }>(
          `select u.system_object_id as id, u.written, d.data from custom_datum_use u
           join custom_datum d on d.type = u.type and d.uuid = u.uuid
           where u.type = $1 and u.system_object_id = any($2::bigint[])`,
          [type, ids],
          'custom-data-of-uses',
        )
        const known = new Map(uses.map(({ id, written, data }) => [`${id}\n${written}`, data]))
        const next = rows.flatMap(({ id, version, objecttype, content }) => {
          const table = model.tablesById.get(objecttype)
          if (!table) return []
          const renewed = mapCustomData(table, content, model.customTypes, (of, data) => {
            const found = of === type ? known.get(`${id}\n${uuidOf(data) ?? ''}`) : undefined
            return found ?? data
          })
          return renewed === content ? [] : [{ s: id, v: version, c: renewed }]
        })
        await tx.query(writeCopies, [JSON.stringify(next)], 'custom-data-copies')
        await settleUses(tx, type, ids)
        await tx.query(
          `insert into index_queue (system_object_id, priority, bulk)
           select s, 1, ${isBulk} from jsonb_to_recordset($1::jsonb) as n (s bigint) order by 1`,
          [JSON.stringify(next.map(({ s }) => ({ s })))],
          'custom-data-index',
        )
        tx.afterCommit(wakeIndex)
        return rows.length
      })
    },

    /** Removes values that are in the latest version of no object. A save that uses one at this moment keeps it. */
    async removeUnused(type: string): Promise<void> {
      await db.transaction(async (tx) => {
        const { rows } = await tx.query<{ uuid: string }>(
          `select uuid from custom_datum d where type = $1 and created_at < now() - interval '1 day' and ${unused}
           for update skip locked`,
          [type],
          'custom-data-unused',
        )
        // A separate statement, so that it sees values that were saved between the read and the lock.
        await tx.query(
          `delete from custom_datum d where type = $1 and uuid = any($2) and ${unused}`,
          [type, rows.map(({ uuid }) => uuid)],
          'custom-data-remove-unused',
        )
      })
    },

    /**
     * Claims the update run of a type, for this number of seconds; null: another process has it. `brokenOff`: the run before it
     * has not ended.
     */
    async begin(type: string, seconds: number, total: number): Promise<{ readonly brokenOff: boolean } | null> {
      const { rows } = await db.query<{ brokenOff: boolean }>(
        `insert into custom_datum_run as r (type, held_until, started_at, done, total)
         values ($1, now() + make_interval(secs => $2), now(), 0, $3)
         on conflict (type) do update set held_until = excluded.held_until, started_at = excluded.started_at,
           done = 0, total = excluded.total
         where r.held_until < now()
         returning coalesce(old.held_until > '-infinity', false) as "brokenOff"`,
        [type, seconds, total],
        'custom-data-begin',
      )
      return rows[0] ?? null
    },

    /** Reports the progress, and extends the claim by this number of seconds. */
    async goOn(type: string, seconds: number, done: number): Promise<void> {
      await db.query(
        'update custom_datum_run set held_until = now() + make_interval(secs => $2), done = $3 where type = $1',
        [type, seconds, done],
        'custom-data-go-on',
      )
    },

    async end(from: Queryable, type: string): Promise<void> {
      await from.query(
        `update custom_datum_run set held_until = '-infinity' where type = $1`,
        [type],
        'custom-data-end',
      )
    },
  }
}

/** Two conditions, since only the first one can use the index. */
const isDue = `type = $1 and expires_at <= $2::timestamptz + greatest($3::int, 0) * interval '1 day'
  and expires_at <= $2::timestamptz + case when data ? '_expires_at' then 0 else $3::int end * interval '1 day'`

const unused = 'not exists (select from custom_datum_use u where u.type = d.type and u.uuid = d.uuid)'

const rowsOf = `jsonb_to_recordset($2::jsonb) as n (uuid text, "to" text, data jsonb, expires timestamptz, stale boolean)`

const dueAgain = `$4::timestamptz + $5 * interval '1 day'`

/** A value with a new uuid is another row; a row that already exists takes over the data. */
const writeData = `with n as (select distinct on ("to") * from ${rowsOf} order by "to", (uuid = "to") desc),
  written as (
    insert into custom_datum (type, uuid, data, expires_at)
    select $1, "to", data, greatest(coalesce(expires, ${dueAgain}), $4::timestamptz + interval '1 minute') from n
    on conflict (type, uuid) do update set data = excluded.data, expires_at = excluded.expires_at
  )
  update custom_datum d set expires_at = ${dueAgain}
  where d.type = $1 and d.uuid = any($3) and not exists (select from n where n."to" = d.uuid)`

/** Copies of a value with which another one is merged are outdated as well: the value has taken over the data of the other one. */
const markUses = `with n as (select uuid, "to" from ${rowsOf} where stale)
  update custom_datum_use u set uuid = coalesce((select n."to" from n where n.uuid = u.uuid), u.uuid), stale = true
  where u.type = $1 and u.uuid in (select uuid from n union all select "to" from n)`

/** The row of the object is written again as well: caches detect the change by its row version. */
const writeCopies = `with n as (select * from jsonb_to_recordset($1::jsonb) as t (s bigint, v int, c jsonb)),
  copies as (
    update object_version v set content = n.c from n where v.system_object_id = n.s and v.version = n.v
  )
  update object o set modified_at = o.modified_at from n where o.system_object_id = n.s`

/** Updates the uses by the objects of today; two values that were merged are one. */
async function settleUses(tx: Tx, type: string, ids: readonly number[]): Promise<void> {
  const { rows } = await tx.query<{ id: number; uuid: string }>(
    `delete from custom_datum_use where type = $1 and system_object_id = any($2::bigint[])
     returning system_object_id as id, uuid`,
    [type, ids],
    'custom-data-unsettled',
  )
  await tx.query(
    `insert into custom_datum_use (system_object_id, type, written, uuid)
     select distinct n.id, $1, n.uuid, n.uuid from unnest($2::bigint[], $3::text[]) as n (id, uuid)`,
    [type, rows.map(({ id }) => id), rows.map(({ uuid }) => uuid)],
    'custom-data-settled',
  )
}

function same(before: CustomData | undefined, after: CustomData): boolean {
  const { _uuid: _a, ...one } = before ? (readExact(before) as CustomData) : {}
  const { _uuid: _b, ...other } = after
  return isDeepStrictEqual(one, other)
}
