import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import type { Drawing } from './elements.ts'
import { rootOf } from './elements.ts'
import type { Column } from './model.ts'
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
  const columns = drawing.types.flatMap(columnsOf).filter(({ kind }) => kind !== 'text' && kind !== 'daterange')
  const kind = pick(['none', 'field', 'field', 'standard'] as const)
  if (kind === 'none') return null
  const column = pick(columns)
  const descending = pick([true, false])
  const keyOf = (thing: Thing): Key =>
    kind === 'standard' ? titleKey(drawing, thing.index) : columnKey(drawing, thing, column)
  return {
    wire: [{ field: kind === 'standard' ? '_standard' : column.fullName, order: descending ? 'desc' : 'asc' }],
    check(expected, hits, what) {
      assert.ok(expected.every(({ index }) => knowledge.sees(index)))
      const keyed = expected.map((thing) => ({ id: names.ids[thing.index] as number, key: keyOf(thing) }))
      // Long texts are told apart by their beginnings; which row comes after one without title is nowhere said.
      const inRows = kind === 'field' && column.kind === 'link' && column.table.owner !== null
      if (inRows || keyed.some(({ key }) => typeof key === 'string' && key.length > 55)) return
      const found = hits.map((hit) => hit._system_object_id)
      const known = new Map(keyed.map(({ id, key }) => [id, key !== null]))
      for (const { _system_object_id: id, _sort } of hits)
        assert.equal(_sort[0] !== null, known.get(id), `${what} _sort of ${id}`)
      keyed.sort((a, b) => {
        if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.id - b.id
        const order = typeof a.key === 'number' ? a.key - (b.key as number) : compare(a.key, b.key as string)
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
