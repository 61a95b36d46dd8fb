import type { Queryable, Tx } from '../platform/postgres/db.ts'
import type { PluginType, StoredPlugin, UpdatePolicy } from './model.ts'

const columns = `id, name, type, enabled, path, url, zip_file as "zipFile", update_policy as "updatePolicy", package,
  manifest, build_info as "buildInfo"`

/** All plugins: there are dozens. */
export async function loadPlugins(from: Queryable): Promise<StoredPlugin[]> {
  const { rows } = await from.query<StoredPlugin>(`select ${columns} from plugin order by name`, [], 'plugins-load')
  return rows
}

/** Members whose changes need no notice. */
export interface PluginTimes {
  readonly id: number
  readonly checkedAt: Date | null
  readonly failure: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export async function readTimes(from: Queryable): Promise<Map<number, PluginTimes>> {
  const { rows } = await from.query<PluginTimes>(
    `select id, last_checked_at as "checkedAt", last_failure as failure, created_at as "createdAt",
       updated_at as "updatedAt" from plugin`,
    [],
    'plugin-times',
  )
  return new Map(rows.map((row) => [row.id, row]))
}

export interface NewPlugin {
  readonly name: string
  readonly type: PluginType
  readonly path: string | null
  readonly url: string | null
  readonly zipFile: number | null
  readonly updatePolicy: UpdatePolicy
  readonly package: Buffer | null
  readonly etag: string | null
  readonly manifest: Record<string, unknown>
  readonly buildInfo: object
}

/** Null when the name is already in use. */
export async function insertPlugin(tx: Tx, plugin: NewPlugin): Promise<number | null> {
  const { name, type, path, url, zipFile, updatePolicy, package: sha256, etag, manifest, buildInfo } = plugin
  const { rows } = await tx.query<{ id: number }>(
    `insert into plugin (name, type, path, url, zip_file, update_policy, package, etag, manifest, build_info, last_checked_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, case when $2 = 'url' then now() end)
     on conflict (name) do nothing returning id`,
    [name, type, path, url, zipFile, updatePolicy, sha256, etag, JSON.stringify(manifest), JSON.stringify(buildInfo)],
    'plugin-insert',
  )
  return rows[0]?.id ?? null
}

export async function lockPlugin(tx: Tx, id: number): Promise<StoredPlugin | null> {
  const { rows } = await tx.query<StoredPlugin>(`select ${columns} from plugin where id = $1 for update`, [id])
  return rows[0] ?? null
}

export interface PluginChange {
  readonly enabled?: boolean
  readonly updatePolicy?: UpdatePolicy
  readonly url?: string
  readonly path?: string
  /** Another archive, or another state of the folder. */
  readonly content?: {
    readonly package: Buffer | null
    readonly zipFile: number | null
    readonly etag: string | null
    readonly manifest: Record<string, unknown>
    readonly buildInfo: object
  }
}

export async function updatePlugin(tx: Tx, id: number, change: PluginChange): Promise<void> {
  const { enabled = null, updatePolicy = null, url = null, path = null, content = null } = change
  await tx.query(
    `update plugin set enabled = coalesce($2, enabled), update_policy = coalesce($3, update_policy), url = coalesce($4, url),
       path = coalesce($5, path),
       package = case when $6 then $7::bytea else package end, zip_file = case when $6 then $8::bigint else zip_file end,
       etag = case when $6 then $9::text else etag end, manifest = case when $6 then $10::json else manifest end,
       build_info = case when $6 then $11::json else build_info end, updated_at = now()
     where id = $1`,
    [
      ...[id, enabled, updatePolicy, url, path, content !== null],
      ...[content?.package ?? null, content?.zipFile ?? null, content?.etag ?? null],
      ...[content && JSON.stringify(content.manifest), content && JSON.stringify(content.buildInfo)],
    ],
    'plugin-update',
  )
}

/** False: it is deleted already. */
export async function deletePlugin(tx: Tx, id: number): Promise<boolean> {
  const { rowCount } = await tx.query('delete from plugin where id = $1', [id], 'plugin-delete')
  return rowCount === 1
}

/** Takes the plugins whose address is to be checked now: no other process checks them meanwhile. */
export async function takeDue(from: Queryable): Promise<{ id: number; url: string; etag: string | null }[]> {
  const { rows } = await from.query<{ id: number; url: string; etag: string | null }>(
    `update plugin set last_checked_at = now()
     where id in (
       select id from plugin where type = 'url' and url is not null and update_policy <> 'never'
         and (last_checked_at is null or last_checked_at < now() - case update_policy
           when 'always' then interval '10 seconds' else interval '24 hours' end)
       order by id for update skip locked)
     returning id, url, etag`,
    [],
    'plugins-due',
  )
  return rows
}

export async function noteFailure(from: Queryable, id: number, failure: string | null): Promise<void> {
  await from.query(
    'update plugin set last_failure = $2 where id = $1 and last_failure is distinct from $2',
    [id, failure],
    'plugin-failure',
  )
}
