import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import type { Drawing } from './elements.ts'
import { rootOf } from './elements.ts'
import type { Column } from './model.ts'
import { drawPath, type Path } from './paths.ts'
import { columnsOf, firstDay, valuesOf } from './values.ts'
import type { Thing } from './world.ts'

/** Orders of hits: what the caller does not know stands last, as what has no value does. */

export interface Sort {
  readonly wire: readonly object[]
  /** @param hits as they are answered, in their order. */
  check(expected: readonly Thing[], hits: readonly Json[], what: string): void
}

type Key = string | number | null

/** Numbers in texts count as numbers; the words here have none but in letters. */
const { compare } = new Intl.Collator('en-US', { numeric: true })

export function drawSort(drawing: Drawing): Sort | null {
  const { pick, names, knowledge } = drawing
  const sorts = ({ kind }: Column): boolean => kind !== 'text' && kind !== 'daterange'
  const columns = drawing.types.flatMap(columnsOf).filter(sorts)
  const kind = pick(['none', 'field', 'field', 'path', 'path', 'standard'] as const)
  if (kind === 'none') return null
  const path = kind === 'path' ? drawPath(drawing, (each, { table }) => sorts(each) && table.owner === null) : null
  const column = path?.column ?? pick(columns)
  const descending = pick([true, false])
  const mode = path?.back ? pick([undefined, 'min', 'max'] as const) : undefined
  const keyOf = (thing: Thing): Key => {
    if (kind === 'standard') return titleKey(drawing, thing.index)
    return path
      ? pathKey(drawing, thing, path, mode ?? (descending ? 'max' : 'min'))
      : columnKey(drawing, thing, column)
  }
  const name = kind === 'standard' ? '_standard' : (path?.name ?? column.fullName)
  return {
    wire: [{ field: name, order: descending ? 'desc' : 'asc', ...(mode ? { mode } : {}) }],
    check(expected, hits, what) {
      assert.ok(expected.every(({ index }) => knowledge.sees(index)))
      const keyed = expected.map((thing) => ({ id: names.ids[thing.index] as number, key: keyOf(thing) }))
      // Long texts are told apart by their beginnings; which row comes after one without title is nowhere said.
      const inRows = kind !== 'standard' && column.kind === 'link' && column.table.owner !== null
      if (inRows || keyed.some(({ key }) => typeof key === 'string' && key.length > 55)) return
      const found = hits.map((hit) => hit._system_object_id)
      const known = new Map(keyed.map(({ id, key }) => [id, key !== null]))
      for (const { _system_object_id: id, _sort } of hits)
        assert.equal(_sort[0] !== null, known.get(id), `${what} _sort of ${id}`)
      keyed.sort((a, b) => {
        if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.id - b.id
        const order = inOrder(a.key, b.key)
        return order * (descending ? -1 : 1) || a.id - b.id
      })
      assert.deepEqual(
        found,
        keyed.map(({ id }) => id),
        `${what} ${JSON.stringify(keyed)}`,
      )
    },
  }
}

function inOrder(one: string | number, other: string | number): number {
  return typeof one === 'number' ? one - (other as number) : compare(one, other as string)
}

/** Of the first object that a link leads to, of those that link back the least or the greatest one. */
function pathKey(drawing: Drawing, thing: Thing, { reached, back, column }: Path, mode: 'min' | 'max'): Key {
  const all = reached(thing).map((each) => columnKey(drawing, each, column))
  if (!back) return all[0] ?? null
  const keys = all.filter((key) => key !== null).sort(inOrder)
  return keys.at(mode === 'min' ? 0 : -1) ?? null
}

function titleKey({ titleOf }: Drawing, index: number): Key {
  return titleOf(index, 1)?.['en-US'] ?? titleOf(index, 1)?.['de-DE'] ?? null
}

/** Of a nested table the first row counts. */
function columnKey(drawing: Drawing, thing: Thing, column: Column): Key {
  if (thing.type.table !== rootOf(column.table)) return null
  const [value] = valuesOf(drawing, thing, column)
  const { knowledge } = drawing
  if (column.kind === 'boolean') {
    if (!knowledge.knows(thing.index, column)) return null
    return value === true ? 1 : 0
  }
  if (value === undefined) return null
  switch (column.kind) {
    case 'link':
      return knowledge.sees(value as number) ? titleKey(drawing, value as number) : null
    case 'text_l10n_oneline':
      return (value as Record<string, string>)['en-US'] ?? null
    case 'date':
      return firstDay((value as { value: string }).value)
    default:
      return value as Key
  }
}
