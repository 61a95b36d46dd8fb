import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Preset, PresetContext, PresetTerms } from './model.ts'

const columns = `id, version, context, position, displayname, description, terms,
  created_at as "createdAt", updated_at as "updatedAt"`

/** All presets, or those of a context, in their order. */
export async function listPresets(from: Queryable, context: PresetContext | null): Promise<Preset[]> {
  const { rows } = await from.query<Preset>(
    `select ${columns} from right_preset where $1::text is null or context = $1 order by context, position, id`,
    [context],
  )
  return rows
}

export async function findPresets(from: Queryable, context: PresetContext, ids: readonly number[]): Promise<Preset[]> {
  const { rows } = await from.query<Preset>(
    `select ${columns} from right_preset where context = $1 and id = any($2) order by id`,
    [context, ids],
  )
  return rows
}

/** Locks presets to be changed or deleted, lowest id first, so that no grant is made from them meanwhile. */
export async function lockPresets(tx: Tx, context: PresetContext, ids: readonly number[]): Promise<Preset[]> {
  if (ids.length === 0) return []
  const { rows } = await tx.query<Preset>(
    `select ${columns} from right_preset where context = $1 and id = any($2) order by id for update`,
    [context, ids],
  )
  return rows
}

/** The content of presets, for grants that are about to be made from them. It cannot change until the transaction ends. */
export async function usePresets(
  tx: Queryable,
  context: string,
  ids: readonly number[],
): Promise<Map<number, PresetTerms>> {
  const { rows } = await tx.query<{ id: number; terms: PresetTerms }>(
    'select id, terms from right_preset where context = $1 and id = any($2) order by id for share',
    [context, ids],
    'right-presets-in-use',
  )
  return new Map(rows.map(({ id, terms }) => [id, terms]))
}

/** `share_url` of those presets of collections that have one. */
export async function shareUrls(from: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await from.query<{ id: number; url: string }>(
    `select id, terms->>'share_url' as url from right_preset
     where context = 'collection' and id = any($1) and terms->>'share_url' is not null`,
    [ids],
    'right-presets-share-urls',
  )
  return new Map(rows.map(({ id, url }) => [id, url]))
}

export interface PresetRow {
  readonly id: number
  readonly version: number
  readonly context: PresetContext
  readonly position: number
  readonly displayname: object
  readonly description: object
  readonly terms: PresetTerms
}

export async function newPresetIds(tx: Tx, count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('right_preset', 'id')) as id from generate_series(1, $1)`,
    [count],
  )
  return rows.map(({ id }) => id)
}

/** Creates and updates with one statement. */
export async function writePresets(tx: Tx, rows: readonly PresetRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    `insert into right_preset as p (id, version, context, position, displayname, description, terms)
     select * from jsonb_to_recordset($1) as n (id bigint, version int, context text, position int, displayname jsonb,
       description jsonb, terms jsonb)
     on conflict (id) do update set version = excluded.version, position = excluded.position,
       displayname = excluded.displayname, description = excluded.description, terms = excluded.terms,
       updated_at = now()`,
    [JSON.stringify(rows)],
  )
}

export async function deletePreset(tx: Tx, id: number): Promise<void> {
  await tx.query('delete from right_preset where id = $1', [id])
}
