import {
  type CustomData,
  expiryOf,
  holdsCustomData,
  identified,
  mapCustomData,
  uuidOf,
} from '../content/custom-values.ts'
import type { SaveContext } from './context.ts'
import type { Item } from './item.ts'

const nameOf = (type: string, uuid: string): string => `${type}\n${uuid}`

/**
 * Values of plugin types are stored once per uuid. When a sent value has a known uuid, the stored value is used instead of it, or
 * the first one of the save. A value without a uuid gets one here. One statement.
 */
export async function adoptCustomData(context: SaveContext, items: readonly Item[]): Promise<void> {
  const { model, tx, locks, yielder } = context
  const types = model.customTypes
  const own = items.filter(({ draft, table }) => draft && holdsCustomData(table, types))
  const wanted = new Map<string, { readonly type: string; readonly uuid: string; readonly data: CustomData }>()
  for (const item of own) {
    if (yielder.due()) await yielder.yield()
    item.content = mapCustomData(item.table, item.content, types, (type, data) => {
      const named = identified(data)
      const uuid = uuidOf(named) ?? ''
      const first = wanted.get(nameOf(type, uuid))
      if (first) return first.data
      wanted.set(nameOf(type, uuid), { type, uuid, data: named })
      return named
    })
  }
  if (wanted.size === 0) return
  const { rows } = await tx.query<{ type: string; uuid: string; data: CustomData }>(
    // Locked until the save is written; otherwise the copies in this save could be outdated at once.
    `select d.type, d.uuid, d.data from custom_datum d
     join unnest($1::text[], $2::text[]) as w (type, uuid) using (type, uuid) ${locks ? 'order by 1, 2 for share of d' : ''}`,
    [[...wanted.values()].map(({ type }) => type), [...wanted.values()].map(({ uuid }) => uuid)],
    locks ? 'custom-data-known' : 'custom-data-look',
  )
  if (rows.length === 0) return
  const known = new Map(rows.map(({ type, uuid, data }) => [nameOf(type, uuid), data]))
  for (const item of own) {
    if (yielder.due()) await yielder.yield()
    item.content = mapCustomData(item.table, item.content, types, (type, data) => {
      return known.get(nameOf(type, uuidOf(data) ?? '')) ?? data
    })
  }
}

/** Stores new values, and which objects use which values, after these are written; one statement. */
export async function keepCustomData({ tx, model }: SaveContext, written: readonly Item[]): Promise<void> {
  const types = model.customTypes
  const own = written.filter(({ table }) => holdsCustomData(table, types))
  if (own.length === 0) return
  const uses: object[] = []
  for (const { systemObjectId: object, table, content } of own) {
    mapCustomData(table, content, types, (type, data) => {
      const days = types.get(type)?.expiresDays
      uses.push({ object, type, uuid: uuidOf(data), data, expires: expiryOf(data), days })
      return data
    })
  }
  await tx.query(
    `with n as (
       select * from jsonb_to_recordset($1::jsonb)
         as t (object bigint, type text, uuid text, data jsonb, expires timestamptz, days int)
       where uuid is not null
     ), made as (
       insert into custom_datum (type, uuid, data, expires_at)
       select distinct on (type, uuid) type, uuid, data, coalesce(expires, now() + days * interval '1 day')
       from n order by type, uuid
       on conflict do nothing
     ), gone as (
       delete from custom_datum_use u where u.system_object_id = any($2::bigint[])
         and not exists (select from n where n.object = u.system_object_id and n.type = u.type and n.uuid = u.written)
     )
     insert into custom_datum_use (system_object_id, type, written, uuid)
     select distinct object, type, uuid, uuid from n
     on conflict (system_object_id, type, written) do update set uuid = excluded.uuid, stale = false`,
    [JSON.stringify(uses), own.map(({ systemObjectId }) => systemObjectId)],
    'custom-data-keep',
  )
}
