import type { Table, UniqueKey } from '../../datamodel/model.ts'
import type { CommitHooks, ConstraintChange, Conversion } from '../../datamodel/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { type ContentRowOf, forEachRowOf, walkContents } from '../content/rows.ts'
import { brokenRule } from '../save/rules/constraints.ts'
import { uniqueEntries } from '../save/rules/unique.ts'
import type { Content } from '../stored/content.ts'
import { reviveLinks } from './revived-links.ts'

/** The work on stored objects that a commit of the datamodel requires; everything in the transaction of the commit, in chunks. */
export function createCommitHooks(reindex: CommitHooks['reindex']): CommitHooks {
  return { countObjects, countViolations, convertValues, rebuildUniqueKeys, revive: reviveLinks, reindex }
}

async function countObjects(tx: Tx, tableIds: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await tx.query<{ id: number; count: number }>(
    'select objecttype as id, count(*)::int as count from object where objecttype = any($1::int[]) group by objecttype',
    [tableIds],
  )
  return new Map(rows.map((row) => [row.id, row.count]))
}

async function countViolations(tx: Tx, changes: readonly ConstraintChange[]): Promise<number[]> {
  const counts = changes.map(() => 0)
  const walked = new Map<Table, number[]>()
  for (const [index, change] of changes.entries()) {
    if (change.kind === 'pool') counts[index] = await countWhere(tx, change.table, 'pool_id is null')
    else if (change.kind === 'single_parent')
      counts[index] = await countWhere(tx, change.table, 'cardinality(parents) > 1')
    else if (change.kind === 'unique') counts[index] = await countDuplicates(tx, change.key)
    else walked.set(change.column.table.root, [...(walked.get(change.column.table.root) ?? []), index])
  }
  for (const [root, indexes] of walked) {
    for await (const chunk of walkContents(tx, root)) {
      for (const { content } of chunk) {
        for (const index of indexes) if (breaks(root, content, changes[index] as ConstraintChange)) counts[index]!++
      }
    }
  }
  return counts
}

function breaks(root: Table, content: Content, change: ConstraintChange): boolean {
  if (change.kind !== 'column') return false
  let broken = false
  forEachRowOf(root, content, change.column.table, (row) => {
    const rule = broken ? null : brokenRule(change.column, row, change.rules)
    broken ||= rule !== null
  })
  return broken
}

async function countWhere(
  tx: Tx,
  table: Table,
  condition: 'pool_id is null' | 'cardinality(parents) > 1',
): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from object where objecttype = $1 and deleted_at is null and ${condition}`,
    [table.id],
  )
  return rows[0]?.count ?? 0
}

/**
 * Number of objects that would have to give up a value to another one. The values are collected in a temporary table, not in
 * memory.
 */
async function countDuplicates(tx: Tx, key: UniqueKey): Promise<number> {
  await tx.query('create temporary table if not exists unique_check (value text, id bigint) on commit drop')
  await tx.query('truncate unique_check')
  for await (const chunk of walkContents(tx, key.table.root)) {
    const entries = entriesOf(key.table.root, chunk, new Set([key.key]))
    await tx.query('insert into unique_check select * from unnest($1::text[], $2::bigint[])', [
      entries.map((entry) => entry.value),
      entries.map((entry) => entry.id),
    ])
  }
  const { rows } = await tx.query<{ count: number }>(
    `select count(distinct id)::int as count from (
       select id, row_number() over (partition by value order by id) as n from unique_check) as u where n > 1`,
  )
  return rows[0]?.count ?? 0
}

interface Entry {
  readonly key: string
  readonly value: string
  readonly id: number
}

function entriesOf(root: Table, chunk: readonly ContentRowOf[], keys: ReadonlySet<string>): Entry[] {
  return chunk.flatMap((row) =>
    uniqueEntries(root, row.content, row).flatMap(({ key, value }) =>
      keys.has(key.key) ? [{ key: key.key, value, id: row.systemObjectId }] : [],
    ),
  )
}

async function rebuildUniqueKeys(tx: Tx, keys: readonly UniqueKey[], removedKeys: readonly string[]): Promise<void> {
  const names = new Set(keys.map((key) => key.key))
  await tx.query('delete from object_unique where key = any($1::text[])', [[...names, ...removedKeys]])
  for (const root of new Set(keys.map((key) => key.table.root))) {
    for await (const chunk of walkContents(tx, root)) {
      const entries = entriesOf(root, chunk, names)
      await tx.query(
        `insert into object_unique (key, value, system_object_id)
         select * from unnest($1::text[], $2::text[], $3::bigint[]) on conflict do nothing`,
        [entries.map((entry) => entry.key), entries.map((entry) => entry.value), entries.map((entry) => entry.id)],
      )
    }
  }
}

async function convertValues(tx: Tx, conversions: readonly Conversion[]): Promise<number[]> {
  const failed = conversions.map(() => new Set<number>())
  const byRoot = new Map<Table, number[]>()
  for (const [index, { column }] of conversions.entries()) {
    byRoot.set(column.table.root, [...(byRoot.get(column.table.root) ?? []), index])
  }
  for (const [root, indexes] of byRoot) {
    for await (const chunk of walkContents(tx, root, { allVersions: true })) {
      const changed = chunk.filter((row) => {
        const converted = indexes.map((index) =>
          convertContent(root, row, conversions[index] as Conversion, failed[index]!),
        )
        return converted.includes(true)
      })
      if (changed.length === 0) continue
      await tx.query(
        `update object_version v set content = x.c
         from json_to_recordset($1::json) as x(s bigint, v int, c jsonb)
         where v.system_object_id = x.s and v.version = x.v`,
        [JSON.stringify(changed.map((row) => ({ s: row.systemObjectId, v: row.version, c: row.content })))],
      )
    }
  }
  return failed.map((ids) => ids.size)
}

/** Converts one column in place; returns whether the content changed. */
function convertContent(root: Table, row: ContentRowOf, conversion: Conversion, failed: Set<number>): boolean {
  let changed = false
  const { key, table } = conversion.column
  forEachRowOf(root, row.content, table, (content) => {
    const before = content[key]
    if (before === undefined) return
    const after = conversion.convert(before)
    if (after === undefined) failed.add(row.systemObjectId)
    else if (after !== before) {
      content[key] = after
      changed = true
    }
  })
  return changed
}
