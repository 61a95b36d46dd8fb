import { createReadStream } from 'node:fs'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'

/** Bytes of a part, and parts of a statement. */
const partBytes = 1024 * 1024
const partsAtOnce = 8

/** Stores an archive, unless it is already stored. */
export async function storePackage(tx: Tx, sha256: Buffer, path: string, size: number): Promise<void> {
  const { rowCount } = await tx.query(
    'insert into plugin_package (sha256, size) values ($1, $2) on conflict do nothing',
    [sha256, size],
    'plugin-package-insert',
  )
  if (rowCount === 0) return
  let first = 0
  let parts: Buffer[] = []
  async function write(): Promise<void> {
    if (parts.length === 0) return
    await tx.query(
      `insert into plugin_package_part (sha256, number, content)
       select $1, $2 + ordinality - 1, content from unnest($3::bytea[]) with ordinality as t (content, ordinality)`,
      [sha256, first, parts],
      'plugin-part-insert',
    )
    first += parts.length
    parts = []
  }
  for await (const part of createReadStream(path, { highWaterMark: partBytes }) as AsyncIterable<Buffer>) {
    parts.push(part)
    if (parts.length === partsAtOnce) await write()
  }
  await write()
}

/** The archive, some parts at a time. */
export async function* readPackage(from: Queryable, sha256: Buffer): AsyncGenerator<Buffer> {
  for (let next = 0; ; next += partsAtOnce) {
    const { rows } = await from.query<{ content: Buffer }>(
      `select content from plugin_package_part where sha256 = $1 and number >= $2 and number < $2 + $3 order by number`,
      [sha256, next, partsAtOnce],
      'plugin-part-read',
    )
    for (const { content } of rows) yield content
    if (rows.length < partsAtOnce) return
  }
}

/** Removes archives that no plugin uses. */
export async function removeUnusedPackages(tx: Tx): Promise<void> {
  await tx.query(
    'delete from plugin_package k where not exists (select from plugin p where p.package = k.sha256)',
    [],
    'plugin-packages-prune',
  )
}
