/** What the index in memory has of an object: what the indexer brought, as it is. */
import type { Localized } from '../../../src/platform/values/localized.ts'
import { coversFile, filePrincipals, type Guarded, readPrincipals } from '../../../src/rights/service.ts'
import type { FileMarks, IndexSource, ObjectChange } from '../../../src/search/document/source.ts'
import type { NestedFields, SearchField } from '../../../src/search/plan/fields.ts'
import type { SourceBatch } from '../../../src/search/queue/target.ts'

export type Row = Readonly<Record<string, unknown>>

export interface MemoryDocument {
  readonly id: number
  readonly source: IndexSource
  readonly history: readonly ObjectChange[]
  /** Ids of all that stands above it. */
  readonly ancestors: readonly number[]
  /** Of each link target: all that stands above it, and the title it is shown by. */
  readonly links: ReadonlyMap<number, { readonly ancestors: readonly number[]; readonly title: Localized }>
  readonly poolPath: readonly number[]
  readonly owner: string | null
  /** What rights look at. */
  readonly guarded: Guarded
  /** What is known of the preferred files of a column, by its id and what it says of them. */
  readonly fileMarks: ReadonlyMap<string, readonly string[]>
  /** Its type has grants on objects. */
  readonly grants: boolean
  readonly principals: ReturnType<typeof readPrincipals>['principals']
  /** Milliseconds since 1970. */
  readonly validUntil: number | null
  /** Microseconds since 1970. */
  readonly changedAt: number
}

export function documentOf(
  source: IndexSource,
  batch: SourceBatch,
  history: readonly ObjectChange[],
): Omit<MemoryDocument, 'changedAt'> | null {
  const table = batch.model.tablesById.get(source.objecttype)
  if (!table) return null
  const guarded = {
    systemObjectId: source.id,
    objecttypeId: source.objecttype,
    poolId: source.poolId,
    ownerUserId: source.ownerUser,
    ownerGroupId: source.ownerGroup,
    tags: source.tags,
    acl: source.acl,
    privateAcl: table.aclTable && source.privateAcl,
  }
  const granted =
    source.acl && table.aclTable ? readPrincipals(guarded, batch.now) : { principals: [], validUntil: null }
  return {
    id: source.id,
    source,
    history,
    ancestors: batch.ancestors(source.id),
    links: new Map(
      [...linksIn(source.content, new Set<number>())].map((id) => [
        id,
        { ancestors: batch.ancestors(id), title: batch.target(id)?.texts ?? {} },
      ]),
    ),
    poolPath: source.poolId === null ? [] : batch.poolPath(source.poolId),
    owner: ownerOf(source),
    guarded,
    fileMarks: new Map((source.files ?? []).flatMap((marks) => marksOf(marks, guarded, table.aclTable, batch.now))),
    grants: table.aclTable,
    ...granted,
  }
}

function marksOf(
  { columnId, classes, versions, uploaders, files }: FileMarks,
  guarded: Guarded,
  granted: boolean,
  now: number,
): [string, readonly string[]][] {
  const grants = granted ? filePrincipals(guarded, now).principals : []
  const sees = (version: (file: FileMarks['files'][number]) => readonly string[]): string[] =>
    [...new Set(grants.map(({ who }) => who))].filter((who) =>
      files.every((file) =>
        version(file).some((name) =>
          grants.some((each) => each.who === who && coversFile(each.item, { ...file, columnId, version: name })),
        ),
      ),
    )
  return [
    [`${columnId} class`, classes],
    [`${columnId} version`, versions],
    [`${columnId} seer`, [...uploaders, ...sees((file) => file.versions)]],
    [`${columnId} originalSeer`, [...uploaders, ...sees(() => ['original'])]],
  ]
}

function ownerOf({ ownerUser, ownerGroup }: IndexSource): string | null {
  if (ownerUser !== null) return `u${ownerUser}`
  return ownerGroup === null ? null : `g${ownerGroup}`
}

/** Whatever could be a link: the datamodel says later which numbers are. */
function linksIn(content: Row, found: Set<number>): Set<number> {
  for (const value of Object.values(content)) {
    if (typeof value === 'number') found.add(value)
    else if (Array.isArray(value)) for (const row of value) linksIn(row, found)
  }
  return found
}

/** A document, or one row of a nested table of it. */
export interface Spot {
  readonly document: MemoryDocument
  readonly row: Row | null
}

/** All values of a column, in their order. */
export function valuesAt({ document, row }: Spot, { column, path, part }: SearchField): unknown[] {
  if (column.table.root.id !== document.source.objecttype) return []
  const rows = row
    ? [row]
    : rowsBelow(
        document.source.content,
        path.map((table) => table.key),
      )
  const found = rows.map((each) => each[column.key]).filter((value) => value !== undefined)
  // Of a file, or of a member of a value, there may be several at a time.
  return part ? found.flat() : found
}

/** The rows of a nested table that stand in the document or in the row. */
export function rowsAt({ document, row }: Spot, { table }: NestedFields): readonly Row[] {
  if (table.root.id !== document.source.objecttype) return []
  if (row) return rowsBelow(row, [table.key])
  const keys: string[] = []
  for (let at = table; at !== table.root && at.owner; at = at.owner) keys.unshift(at.key)
  return rowsBelow(document.source.content, keys)
}

function rowsBelow(content: Row, [key, ...rest]: readonly string[]): Row[] {
  if (key === undefined) return [content]
  return ((content[key] ?? []) as readonly Row[]).flatMap((row) => rowsBelow(row, rest))
}
