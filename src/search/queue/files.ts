/**
 * The indexed data of the preferred files of objects. It is put beside the stored values, under the keys of the placeholder
 * columns.
 */
import type { Column, Table } from '../../datamodel/model.ts'
import type { FileForIndex } from '../../files/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { FileMarks, IndexSource } from '../document/source.ts'
import type { FieldCatalogue, NestedFields, SearchField, TypeFields } from '../plan/fields.ts'
import { longestIndexed } from '../plan/file-fields.ts'

/** Files by id, as far as they exist. */
export type ReadFiles = (from: Queryable, ids: readonly number[]) => Promise<ReadonlyMap<number, FileForIndex>>

type Row = Readonly<Record<string, unknown>>

/** The sources with the indexed data of their files. */
export async function withFiles(
  db: Queryable,
  readFiles: ReadFiles,
  fields: FieldCatalogue,
  sources: readonly IndexSource[],
): Promise<readonly IndexSource[]> {
  const wanted = new Set<number>()
  const having = new Set<IndexSource>()
  for (const source of sources) {
    const type = fields.types.get(source.objecttype)
    if (!type || type.files.length === 0) continue
    const before = wanted.size
    eachPreferred(type, source.content, (id) => wanted.add(id))
    if (wanted.size > before || hasAny(type, source.content)) having.add(source)
  }
  if (wanted.size === 0) return sources
  const files = await readFiles(db, [...wanted])
  return sources.map((source) => {
    const type = having.has(source) ? fields.types.get(source.objecttype) : undefined
    return type ? withFilesOf(source, type, files) : source
  })
}

function hasAny(type: TypeFields, content: Row): boolean {
  let found = false
  eachPreferred(type, content, () => {
    found = true
  })
  return found
}

function eachPreferred(type: TypeFields, content: Row, visit: (id: number) => void): void {
  const walk = (table: Table, row: Row): void => {
    for (const column of table.columns) {
      const id = column.type === 'eas' ? preferredOf(row[column.key]) : null
      if (id !== null) visit(id)
    }
    for (const nested of table.nested) for (const inner of rowsOf(row, nested)) walk(nested, inner)
  }
  walk(type.table, content)
}

function rowsOf(row: Row, { key }: Table): readonly Row[] {
  return (row[key] as readonly Row[] | undefined) ?? []
}

function preferredOf(value: unknown): number | null {
  const list = Array.isArray(value) ? (value as readonly { _id: number; preferred?: boolean }[]) : []
  return (list.find(({ preferred }) => preferred) ?? list[0])?._id ?? null
}

function withFilesOf(source: IndexSource, type: TypeFields, files: ReadonlyMap<number, FileForIndex>): IndexSource {
  const found = new Map<Column, FileForIndex[]>()
  const budget = { left: longestIndexed }
  const filled = (table: Table, own: readonly SearchField[], nested: readonly NestedFields[], row: Row): Row => {
    const more: Record<string, unknown> = {}
    for (const column of table.columns) {
      const id = column.type === 'eas' ? preferredOf(row[column.key]) : null
      const file = id === null ? undefined : files.get(id)
      if (!file) continue
      const list = found.get(column) ?? []
      found.set(column, list)
      list.push(file)
      for (const field of own) {
        if (field.part?.of !== column || !field.part.fileValues) continue
        const values = field.part.fileValues(file)
        const kept = field.part.expert ? within(values as readonly string[], budget) : values
        if (kept.length > 0) more[field.column.key] = kept
      }
    }
    for (const inner of nested) {
      const rows = rowsOf(row, inner.table)
      if (rows.length > 0 && inner.fields.concat(inner.nested.flatMap(allOf)).some(({ part }) => part?.fileValues)) {
        more[inner.table.key] = rows.map((each) => filled(inner.table, inner.fields, inner.nested, each))
      }
    }
    return Object.keys(more).length === 0 ? row : { ...row, ...more }
  }
  const content = filled(type.table, type.fields, type.nested, source.content)
  return { ...source, content, files: [...found].map(([column, list]) => marksOf(column, list)) }
}

function allOf({ fields, nested }: NestedFields): readonly SearchField[] {
  return [...fields, ...nested.flatMap(allOf)]
}

/** Texts, cut to the remaining budget. */
function within(texts: readonly string[], budget: { left: number }): string[] {
  return texts.flatMap((text) => {
    const kept = text.slice(0, budget.left).toWellFormed()
    budget.left -= kept.length
    return kept === '' ? [] : [kept]
  })
}

/** The properties that all files share: where one file is hidden, data of the others is not disclosed either. */
function marksOf(column: Column, files: readonly FileForIndex[]): FileMarks {
  return {
    columnId: column.id,
    classes: common(files.map((file) => [file.class])),
    versions: common(files.map((file) => file.versions.filter(isThere).map(({ name }) => `${file.class}.${name}`))),
    uploaders: common(files.map((file) => [`u${file.uploadUser}`])),
    files: files.map((file) => ({
      class: file.class,
      extension: file.extension,
      versions: file.versions.filter(isThere).map(({ name }) => name),
    })),
  }
}

const isThere = ({ status }: { readonly status: string }): boolean => status === 'done'

function common(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists
  return first.filter((name) => others.every((list) => list.includes(name)))
}
