import { badRequest } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import type { FileClass } from '../classes.ts'
import { originalOf } from '../model.ts'
import type { FileWithAccess } from './access.ts'

/** A setting that refers to files, so that they are kept. */
type Holder = { readonly pool: number } | { readonly objecttype: number } | { readonly section: string }

export interface Held {
  readonly holder: Holder
  readonly files: readonly HeldFile[]
}

interface HeldFile {
  readonly id: number
  /** The place in the request. */
  readonly path: string
  /** The setting named it before: a caller who sends an unchanged setting needs no right on its file. */
  readonly known: boolean
}

interface HoldDeps {
  readonly load: (from: Tx, caller: CallerRights, ids: readonly number[]) => Promise<FileWithAccess[]>
  /** The required class of the file; none: any class. */
  readonly class?: FileClass
}

/**
 * Stores which files the settings name from now on, and releases those that they named before. The caller must have the
 * right to download a new file: otherwise its renditions would show it to people who may not have it.
 * @throws {AppError} `ServerGeneric`
 */
export async function hold({ load, class: kind }: HoldDeps, tx: Tx, caller: CallerRights, held: readonly Held[]) {
  if (held.length === 0) return
  const files = held.flatMap(({ files }) => files)
  const ids = [...new Set(files.map(({ id }) => id))].sort((a, b) => a - b)
  if (ids.length > 0) {
    await tx.query('select from file where id = any($1::bigint[]) order by id for key share', [ids])
    const found = new Map((await load(tx, caller, ids)).map((one) => [one.file.id, one]))
    for (const { id, path, known } of files) {
      const one = found.get(id)
      const original = one && originalOf(one.file)
      const may = known || (original && one.access.may('asset_download', original))
      if (!one || !may) throw badRequest(`${path}: there is no file ${id} that you may download`, { path, value: id })
      if (kind && !known && original?.class !== kind) {
        throw badRequest(`${path}: the file ${id} is no ${kind}`, { path, value: id, expected: kind })
      }
    }
  }
  await write(tx, held)
}

/** Stores which files a section of the base configuration names from now on. */
export async function holdSection(tx: Tx, section: string, ids: readonly number[]): Promise<void> {
  await tx.query('select from file where id = any($1::bigint[]) order by id for key share', [ids])
  await write(tx, [{ holder: { section }, files: ids.map((id) => ({ id, path: '', known: true })) }])
}

async function write(tx: Tx, held: readonly Held[]): Promise<void> {
  const rows = held.map(({ holder, files }) => ({
    pool: 'pool' in holder ? holder.pool : null,
    objecttype: 'objecttype' in holder ? holder.objecttype : null,
    section: 'section' in holder ? holder.section : null,
    files: files.map(({ id }) => id),
  }))
  await tx.query(
    `with input as materialized (
       select * from json_to_recordset($1::json) as x(pool bigint, objecttype int, section text, files bigint[])
     ), gone as (
       delete from file_holder h using input i
       where (h.pool_id = i.pool or h.objecttype = i.objecttype or h.section = i.section) and h.file_id <> all(i.files)
       returning h.file_id
     ), freed as (
       update file set unlinked_at = now() where id in (select file_id from gone) and unlinked_at is not null
     )
     insert into file_holder (file_id, pool_id, objecttype, section)
     select distinct f, pool, objecttype, section from input cross join lateral unnest(files) as f on conflict do nothing`,
    [JSON.stringify(rows)],
    'hold-files',
  )
}
