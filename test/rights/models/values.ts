import type { Knowledge } from './knowledge.ts'
import type { Column, Field, ObjectType, Table } from './model.ts'
import type { titlesOf } from './titles.ts'
import type { Names } from './wire.ts'
import type { Row, Thing, World } from './world.ts'

/** What a search may use of each object, by docs/search.md ("What a search knows"). */

export interface Known {
  readonly world: World
  readonly names: Names
  readonly knowledge: Knowledge
  readonly titleOf: ReturnType<typeof titlesOf>
}

/** The values of a column of an object, as far as the caller knows them; rows of nested tables have one each. */
export function valuesOf({ knowledge }: Known, thing: Thing, column: Column): unknown[] {
  if (!knowledge.knows(thing.index, column)) return []
  return rowsIn(thing, column.table).flatMap((row) => row.values.get(column) ?? [])
}

/** The rows of a table in an object: itself, or those of a nested table. */
export function rowsIn(thing: Row, table: Table): Row[] {
  if (table.owner === null) return [thing]
  return rowsIn(thing, table.owner).flatMap((row) => row.rows.get(table) ?? [])
}

/** The texts of a value: of a link the titles of what it leads to, for those who may read that. */
export function textsOf({ knowledge, titleOf }: Known, column: Column, value: unknown): string[] {
  switch (column.kind) {
    case 'link':
      return knowledge.sees(value as number) ? Object.values(titleOf(value as number, 1) ?? {}) : []
    case 'text_l10n_oneline':
      return Object.values(value as Record<string, string>)
    case 'text':
    case 'text_oneline':
    case 'string':
      return [value as string]
    default:
      return []
  }
}

export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? []

/** Columns that any mask puts into `_fulltext`; `_all_fields` where there is no other. */
export function fulltextOf({ masks, allFields }: ObjectType): Set<Column> {
  const found = new Set<Column>()
  const read = (fields: readonly Field[]): void => {
    for (const field of fields) {
      if (field.is === 'below' || !field.fulltext) continue
      if (field.is === 'column') found.add(field.column)
      else read(field.fields)
    }
  }
  for (const mask of masks.length > 0 ? masks : [allFields]) read(mask.fields)
  return found
}

export function columnsOf(type: ObjectType): Column[] {
  const inside = (table: Table): Column[] => [...table.columns, ...table.nested.flatMap(inside)]
  return inside(type.table)
}

/** First and last day of what a date spans, as texts that sort. */
export const firstDay = (date: string): string => `${date}${'-01-01'.slice(0, 10 - date.length)}`
export const lastDay = (date: string): string =>
  `${date}${'-12-31'.slice(date.length === 7 ? 3 : 0, date.length === 7 ? 6 : 10 - date.length)}`

/** What stands above an object, itself excluded. */
export function aboveOf({ things }: World, index: number): Set<number> {
  const found = new Set<number>()
  const climb = (at: number): void => {
    for (const parent of things[at]?.parents ?? []) {
      found.add(parent)
      climb(parent)
    }
  }
  climb(index)
  return found
}

/** The pool and those above it, without the root pool. */
export function poolsAbove({ pools }: World, pool: number): number[] {
  const above = pools[pool]?.parent ?? null
  return above === null ? [pool] : [pool, ...poolsAbove({ pools } as World, above)]
}
