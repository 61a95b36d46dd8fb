import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { Snapshot } from './compile/model.ts'
import type { CustomType, CustomTypes } from './custom-types.ts'
import type { LocaApi, MaskSchemaApi, SchemaApi } from './schema.ts'

/** Key of the advisory lock between commits (exclusive) and saves of objects (shared). */
const modelLock = 7_310_001

export interface StoredHead {
  schema: SchemaApi
  masks: MaskSchemaApi
  l10n: LocaApi
  schemaRevision: number
  masksRevision: number
  l10nRevision: number
}

/** Parts of the working copy to write; absent parts stay unchanged. */
export type HeadChange = Partial<Pick<StoredHead, 'schema' | 'masks' | 'l10n'>>

/** The state of a new instance: version 0, without any object type. */
export function emptySnapshot(): Snapshot {
  return {
    version: 0,
    committedAt: null,
    schema: {
      version: 0,
      based_on_version: 0,
      based_on_base_version: 0,
      max_table_id: 0,
      max_column_id: 0,
      type: 'user',
      committed_at: null,
      tables: [],
    },
    masks: { type: 'user', version: 0, based_on_schema_version: 0, max_mask_id: 0, masks: [] },
    l10n: {},
  }
}

/** Number of the latest committed version; 0 when there is none. */
export async function currentVersion(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from datamodel_version',
    [],
    'datamodel-current-version',
  )
  return rows[0]?.version ?? 0
}

/** A committed version; `null` when there is none with this number. Version 0 always exists. */
export async function readVersion(db: Queryable, version: number): Promise<Snapshot | null> {
  if (version === 0) return emptySnapshot()
  if (version > 2_147_483_647) return null
  const { rows } = await db.query<Snapshot>(
    `select version, committed_at as "committedAt", schema, masks, l10n from datamodel_version where version = $1`,
    [version],
  )
  return rows[0] ?? null
}

const headColumns = `schema, masks, l10n, schema_revision as "schemaRevision", masks_revision as "masksRevision",
  l10n_revision as "l10nRevision"`

/** The working copy; `null` while nobody has edited the datamodel. */
export async function readHead(db: Queryable): Promise<StoredHead | null> {
  const { rows } = await db.query<StoredHead>(`select ${headColumns} from datamodel_head`)
  return rows[0] ?? null
}

/** Locks the working copy until the transaction ends; creates it from the current version when there is none. */
export async function lockHead(tx: Tx): Promise<StoredHead> {
  await tx.query(
    `insert into datamodel_head (schema, masks, l10n)
     select schema, masks, l10n from (
       select version, schema, masks, l10n from datamodel_version
       union all select 0, $1::jsonb, $2::jsonb, $3::jsonb
     ) v order by version desc limit 1
     on conflict do nothing`,
    [emptySnapshot().schema, emptySnapshot().masks, emptySnapshot().l10n].map((part) => JSON.stringify(part)),
  )
  const { rows } = await tx.query<StoredHead>(`select ${headColumns} from datamodel_head for update`)
  const head = rows[0]
  if (!head) throw new Error('the working copy of the datamodel is missing')
  return head
}

/** Writes parts of the working copy and counts their saves. The caller holds its lock. */
export async function writeHead(tx: Tx, change: HeadChange): Promise<void> {
  const json = (part: unknown): string | null => (part === undefined ? null : JSON.stringify(part))
  await tx.query(
    `update datamodel_head set
       schema = coalesce($1::jsonb, schema), masks = coalesce($2::jsonb, masks), l10n = coalesce($3::jsonb, l10n),
       schema_revision = schema_revision + ($1::jsonb is not null)::int,
       masks_revision = masks_revision + ($2::jsonb is not null)::int,
       l10n_revision = l10n_revision + ($3::jsonb is not null)::int,
       revision = revision + 1`,
    [json(change.schema), json(change.masks), json(change.l10n)],
  )
}

export async function insertVersion(tx: Tx, snapshot: Snapshot, userId: number | null): Promise<void> {
  await tx.query(
    `insert into datamodel_version (version, committed_at, committed_by, schema, masks, l10n)
     values ($1, $2, $3, $4, $5, $6)`,
    [
      snapshot.version,
      snapshot.committedAt,
      userId,
      JSON.stringify(snapshot.schema),
      JSON.stringify(snapshot.masks),
      JSON.stringify(snapshot.l10n),
    ],
  )
}

/**
 * Replaces all versions by the empty datamodel, as the next version: its number and ids continue, because caches elsewhere may use
 * them as keys. A datamodel without any commit stays version 0.
 */
export async function replaceVersions(tx: Tx): Promise<void> {
  const before = await readVersion(tx, await currentVersion(tx))
  await tx.query('truncate datamodel_version, datamodel_head')
  if (!before || before.version === 0) return
  const version = before.version + 1
  const { schema, masks, l10n } = emptySnapshot()
  const { max_table_id, max_column_id } = before.schema
  await insertVersion(
    tx,
    {
      version,
      committedAt: new Date(),
      schema: { ...schema, version, based_on_version: before.version, max_table_id, max_column_id },
      masks: { ...masks, version, based_on_schema_version: version, max_mask_id: before.masks.max_mask_id },
      l10n,
    },
    null,
  )
}

/** Waits until no object is being saved and keeps saves out until the transaction ends. */
export async function lockModelExclusive(tx: Tx): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [modelLock])
}

/** Blocks commits until the transaction ends; returns the version that is current until then. */
export async function lockModelShared(tx: Tx): Promise<{ readonly version: number; readonly revision: number }> {
  const { rows } = await tx.query<{ version: number; revision: number }>(
    'select version, revision from datamodel_lock_shared($1)',
    [modelLock],
    'datamodel-lock-shared',
  )
  return rows[0] ?? { version: 0, revision: 0 }
}

interface StoredCustomTypes {
  readonly revision: number
  readonly types: CustomTypes
}

/** The types of values that plugins define. */
export async function readCustomTypes(db: Queryable): Promise<StoredCustomTypes> {
  const { rows } = await db.query<{ revision: number; types: [string, CustomType][] }>(
    'select revision, types from datamodel_custom_types',
    [],
    'datamodel-custom-types',
  )
  const [stored] = rows
  return stored ? { ...stored, types: new Map(stored.types) } : { revision: 0, types: new Map() }
}

/** Makes writers of the types wait for each other; readers and saves of objects go on. */
export async function lockCustomTypes(tx: Tx): Promise<StoredCustomTypes> {
  await tx.query('lock table datamodel_custom_types in share row exclusive mode')
  return readCustomTypes(tx)
}

export async function writeCustomTypes(tx: Tx, revision: number, types: CustomTypes): Promise<void> {
  await tx.query(
    `insert into datamodel_custom_types (revision, types) values ($1, $2)
     on conflict (one) do update set revision = excluded.revision, types = excluded.types`,
    [revision, JSON.stringify([...types])],
  )
}

/** Rows and id counters of the object types of a new version. Counters outlive their type: ids are never reused. */
export async function syncObjecttypes(
  tx: Tx,
  types: readonly { readonly id: number; readonly name: string }[],
): Promise<void> {
  const ids = types.map((type) => type.id)
  await tx.query(
    `insert into objecttype (id, name) select * from unnest($1::int[], $2::text[])
     on conflict (id) do update set name = excluded.name`,
    [ids, types.map((type) => type.name)],
  )
  await tx.query('delete from objecttype where id <> all($1::int[])', [ids])
  const { rows } = await tx.query<{ id: number }>(
    `select id from unnest($1::int[]) id where to_regclass('object_id_' || id) is null`,
    [ids],
  )
  if (rows.length === 0) return
  await tx.query(rows.map(({ id }) => `create sequence object_id_${Number(id)} as bigint;`).join('\n'))
}

/** The properties of a column in the last committed version that had it. */
export interface FormerColumn {
  columnId: number
  tableId: number
  kind: string
  type: string | null
  version: number
}

/** The last appearance of these column ids in the committed versions. */
export async function formerColumns(db: Queryable, ids: readonly number[]): Promise<FormerColumn[]> {
  const { rows } = await db.query<FormerColumn>(
    `select distinct on ("columnId") (c->>'column_id')::int as "columnId", (t->>'table_id')::int as "tableId",
       c->>'kind' as kind, c->>'type' as type, version
     from datamodel_version, jsonb_array_elements(schema->'tables') t, jsonb_array_elements(t->'columns') c
     where (c->>'column_id')::int = any($1) order by "columnId", version desc`,
    [ids],
  )
  return rows
}
