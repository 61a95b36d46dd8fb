import type { Column, Table } from '../../datamodel/model.ts'
import type { FieldOfRecipe, Strategy } from '../model.ts'
import type { FieldPath } from '../paths.ts'
import { convert, type Value } from './convert.ts'
import type { Reading } from './read-tags.ts'

/** A field that is to be filled: the tags to look for, the best first, or what a recipe says; and where their values go. */
export interface Target {
  readonly searches: readonly string[]
  /** null: it is a field of tags. */
  readonly recipe: FieldOfRecipe | null
  readonly paths: readonly FieldPath[]
  readonly strategy: Strategy
}

/** A link to an object to be found, or made, by values of its columns; the first one is the key. */
export interface LinkRequest {
  readonly link: Column
  readonly target: Table
  readonly columns: readonly Column[]
  readonly values: readonly Value[]
  /** Puts the link into its place. */
  readonly put: (link: Record<string, unknown>) => void
}

export interface Assembled {
  /** The block of the object. */
  readonly block: Record<string, unknown>
  readonly links: readonly LinkRequest[]
  /** Removes empty rows of nested tables, after the links are resolved. */
  readonly prune: () => void
}

/** Most rows of a nested table, and entries of a list. */
const mostRows = 1000

/** The values of one column, in their order; the column belongs to the object or to a linked object. */
interface Collected {
  readonly path: FieldPath
  values: readonly Value[]
}

/** The values of a file, as an object of the type with which all paths begin. */
export function assemble(
  targets: readonly Target[],
  read: (target: Target) => Reading | null,
  languages: readonly string[],
): Assembled {
  const collected = new Map<string, Collected>()
  for (const target of targets) {
    const { paths, strategy } = target
    const reading = read(target)
    if (!reading) continue
    for (const path of paths) {
      if (!path.column) continue
      const values = convert(path.column, reading, languages).slice(0, mostRows)
      if (values.length === 0) continue
      const key = keyOf(path)
      const known = collected.get(key)
      if (known) known.values = combined(known.values, values, strategy)
      else collected.set(key, { path, values })
    }
  }
  return build([...collected.values()])
}

function keyOf({ nested, link, column }: FieldPath): string {
  return [...nested.map(({ key }) => key), link?.key ?? '', column?.key ?? ''].join('.')
}

function combined(before: readonly Value[], values: readonly Value[], strategy: Strategy): readonly Value[] {
  switch (strategy) {
    case 'replace':
      return values
    case 'skip_if_present':
      return before
    case 'append':
      return [...before, ...values].slice(0, mostRows)
    case 'merge': {
      const known = new Set(before.map((value) => JSON.stringify(value)))
      return [...before, ...values.filter((value) => !known.has(JSON.stringify(value)))].slice(0, mostRows)
    }
  }
}

function build(collected: readonly Collected[]): Assembled {
  const block: Record<string, unknown> = {}
  const links: LinkRequest[] = []
  const lists: { readonly owner: Record<string, unknown>; readonly table: Table }[] = []
  const rowsOf = (owner: Record<string, unknown>, table: Table): Record<string, unknown>[] => {
    const known = owner[table.wireKey]
    if (Array.isArray(known)) return known
    const rows: Record<string, unknown>[] = []
    owner[table.wireKey] = rows
    lists.push({ owner, table })
    return rows
  }
  const groups = Map.groupBy(collected, ({ path }) =>
    path.link ? [...path.nested.map(({ key }) => key), path.link.key].join('.') : keyOf(path),
  )
  for (const group of groups.values()) {
    const [first] = group
    if (!first) continue
    const { nested, link } = first.path
    const count = nested.length === 0 ? 1 : first.values.length
    // A column that is no list gets the whole list as its text.
    const at = nested.length === 0 && !link ? [single(first)] : first.values
    for (let index = 0; index < count; index++) {
      const row = rowAt(block, nested, index, rowsOf)
      if (link?.target) {
        links.push({
          link,
          target: link.target,
          columns: group.flatMap(({ path }) => path.column ?? []),
          values: group.map(({ values }) => values[index]),
          put: (wire) => {
            row[link.name] = wire
          },
        })
      } else if (first.path.column) row[first.path.column.name] = at[index]
    }
  }
  return {
    block,
    links,
    prune() {
      for (const { owner, table } of lists.toReversed()) {
        const rows = (owner[table.wireKey] as Record<string, unknown>[]).filter((row) => Object.keys(row).length > 0)
        if (rows.length > 0) owner[table.wireKey] = rows
        else delete owner[table.wireKey]
      }
    },
  }
}

/** Values of nested tables are in rows, one value each; a table within a nested table is in the first row of that. */
function rowAt(
  block: Record<string, unknown>,
  nested: readonly Table[],
  index: number,
  rowsOf: (owner: Record<string, unknown>, table: Table) => Record<string, unknown>[],
): Record<string, unknown> {
  let row = block
  for (const [depth, table] of nested.entries()) {
    const rows = rowsOf(row, table)
    const at = depth === nested.length - 1 ? index : 0
    while (rows.length <= at) rows.push({})
    row = rows[at] as Record<string, unknown>
  }
  return row
}

const joinedBy = '; '

/** One value of several: texts are joined; of other values, the first is used. */
function single({ values, path }: Collected): Value {
  const [first] = values
  if (values.length === 1 || typeof first === 'undefined') return first
  if (typeof first === 'string') return values.join(joinedBy)
  if (path.column?.type !== 'text_l10n' && path.column?.type !== 'text_l10n_oneline') return first
  const texts = values as readonly Readonly<Record<string, string>>[]
  const languages = new Set(texts.flatMap((one) => Object.keys(one)))
  return Object.fromEntries(
    [...languages].map((language) => [language, texts.flatMap((one) => one[language] ?? []).join(joinedBy)]),
  )
}
