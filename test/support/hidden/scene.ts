import fc from 'fast-check'
import { defineModel } from '../seed/model.ts'

/**
 * A small world drawn at random, as plain data: object types with masks, pools, tags, callers with grants of all kinds,
 * objects with values and links. `knowledge.ts` says what a caller may know of it, `twins.ts` makes services of it.
 */

export const words = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'birches', 'cobalt'] as const
export const years = ['1801', '1845-06', '1900', '1950-03-12'] as const
export const numbers = [-3, 0, 7, 12, 100] as const
export const callers = ['ann', 'ben', 'cleo', 'dan'] as const
export const poolCount = 4
export const tagCount = 2

export type TypeName = 'person' | 'place' | 'work'

/** Column types by full path; rows of the nested table `part` are written `part.<column>`. */
export const columns = {
  person: { name: 'text_oneline', note: 'text', born: 'date' },
  place: { name: 'text_l10n_oneline', code: 'string' },
  work: {
    title: 'text_l10n_oneline',
    note: 'text',
    plain: 'text_oneline',
    code: 'string',
    width: 'number',
    price: 'integer.2',
    signed: 'boolean',
    made: 'date',
    period: 'daterange',
    creator: 'link:person',
    place: 'link:place',
    related: 'link:work',
    'part.name': 'text_oneline',
    'part.amount': 'number',
    'part.since': 'date',
    'part.maker': 'link:person',
    'part.origin': 'link:place',
  },
} as const satisfies Record<TypeName, Record<string, string>>

export const typeNames = ['person', 'place', 'work'] as const
/** What others show the object by: whoever may read the object knows it. */
export const titles: Record<TypeName, string> = { person: 'name', place: 'name', work: 'title' }

/** Columns by mask; `standard` has all of them. */
export const masks: Record<TypeName, Record<string, readonly string[]>> = {
  person: { name_only: ['name'] },
  place: { name_only: ['name'] },
  work: {
    public: ['title', 'code', 'creator', 'related', 'part.name', 'part.maker'],
    sizes: ['title', 'width', 'price', 'signed', 'made', 'period', 'place', 'part.amount', 'part.since', 'part.origin'],
    notes: ['title', 'note', 'plain', 'code'],
  },
}
/** A mask that is only for objects with tag 1. */
export const filteredMask = 'notes'

/** Ids in the order in which the model is defined. */
export const tableIds: Record<TypeName, number> = { person: 1, place: 2, work: 3 }
export const maskIds: Record<TypeName, Record<string, number>> = {
  person: { standard: 1, name_only: 4 },
  place: { standard: 2, name_only: 5 },
  work: { standard: 3, public: 6, sizes: 7, notes: 8 },
}

export function hiddenModel() {
  const { person, place, work } = columns
  const own = (of: Record<string, string>) =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !name.includes('.')))
  const part = Object.fromEntries(
    Object.entries(work).flatMap(([name, type]) => (name.startsWith('part.') ? [[name.slice(5), type]] : [])),
  )
  const model = defineModel(
    {
      person: { columns: own(person), flags: { acl_table: true } },
      place: { columns: own(place), flags: { pool_link: true, is_hierarchical: true } },
      work: {
        columns: own(work),
        nested: { part: { columns: part } },
        flags: { pool_link: true, has_tags: true, acl_table: true },
      },
    },
    Object.fromEntries(
      typeNames.flatMap((type) =>
        Object.entries(masks[type]).map(([mask, shown]) => [
          `${type}__${mask}`,
          {
            table: type,
            shape: (field: { kind: string }, name: string) => {
              const column = name.replace('work__part.', 'part.').replace(`${type}.`, '')
              if (name === 'work__part') return shown.some((each) => each.startsWith('part.')) ? field : null
              return shown.includes(column) ? field : null
            },
          },
        ]),
      ),
    ),
  )
  withoutFacet(model.masks.masks, model)
  return model
}

/** One column is not prepared for facets, so that its stored values are counted. */
function withoutFacet(list: readonly Record<string, unknown>[], { schema }: ReturnType<typeof defineModel>): void {
  const tables = schema.tables as unknown as { name: string; columns: { name?: string; column_id?: number }[] }[]
  const plain = tables.find(({ name }) => name === 'work')?.columns.find(({ name }) => name === 'plain')?.column_id
  for (const mask of list) {
    for (const field of mask.fields as { column_id?: number; search: object }[]) {
      if (field.column_id === plain) field.search = { ...field.search, facet: false }
    }
  }
}

export interface TagFilter {
  readonly all: readonly number[]
  readonly any: readonly number[]
  readonly not: readonly number[]
}

/** A read grant; masks by object type, `null`: all. Tags are numbered from 0. */
export interface Grant {
  readonly who: number
  readonly masks: Readonly<Partial<Record<TypeName, readonly string[]>>>
  readonly tags: TagFilter | null
}

export type Row = Readonly<Record<string, unknown>>

export interface Thing {
  readonly type: TypeName
  /** null: the type has no pools. */
  readonly pool: number | null
  readonly tags: readonly number[]
  readonly owner: number | null
  readonly grants: readonly Grant[]
  /** Texts, numbers, dates; links are indexes of things. */
  readonly values: Row
  readonly rows: readonly Row[]
  /** Index of the place above. */
  readonly parent: number | null
}

export interface Scene {
  readonly pools: readonly {
    readonly parent: number | null
    readonly grants: readonly Grant[]
    readonly standard: string | null
  }[]
  readonly types: Readonly<Partial<Record<TypeName, readonly Grant[]>>>
  /** Persons, then places, then works. */
  readonly things: readonly Thing[]
}

const word = fc.constantFrom(...words)
const tagList = fc.uniqueArray(fc.nat(tagCount - 1), { maxLength: 1 })
const tagFilter = fc.option(fc.record({ all: tagList, any: tagList, not: tagList }), { freq: 2 })
const limit = (type: TypeName) =>
  fc.option(fc.uniqueArray(fc.constantFrom('standard mask', ...Object.keys(masks[type])), { maxLength: 2 }), {
    nil: undefined,
    freq: 3,
  })
const grant: fc.Arbitrary<Grant> = fc
  .record({
    who: fc.nat(callers.length - 1),
    masks: fc.record({ person: limit('person'), place: limit('place'), work: limit('work') }),
    tags: tagFilter,
  })
  .map(({ masks: limits, ...rest }) => ({
    ...rest,
    masks: Object.fromEntries(Object.entries(limits).filter(([, list]) => list !== undefined)),
  }))

/** Values of columns; `earlier` are the indexes that links may point to. */
export function someValue(type: string, earlier: Readonly<Record<TypeName, readonly number[]>>): fc.Arbitrary<unknown> {
  const text = fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => list.join(' '))
  switch (type) {
    case 'text':
    case 'text_oneline':
      return text
    case 'string':
      return word
    case 'text_l10n_oneline':
      return fc.record({ 'en-US': text, 'de-DE': text }, { requiredKeys: ['en-US'] })
    case 'number':
    case 'integer.2':
      return fc.constantFrom(...numbers)
    case 'boolean':
      return fc.boolean()
    case 'date':
      return fc.constantFrom(...years).map((value) => ({ value }))
    case 'daterange':
      return fc
        .tuple(fc.constantFrom('1700', '1800'), fc.constantFrom('1850', '1901'))
        .map(([from, to]) => ({ from, to }))
    default: {
      const targets = earlier[type.slice('link:'.length) as TypeName]
      return targets.length === 0 ? fc.constant(undefined) : fc.constantFrom(...targets)
    }
  }
}

const sizes: Record<TypeName, number> = { person: 5, place: 6, work: 14 }

/** Indexes of the things of each type before those of a type; works may point to the first half of the works. */
export const targets: Record<TypeName, readonly number[]> = {
  person: range(0, sizes.person),
  place: range(sizes.person, sizes.place),
  work: range(sizes.person + sizes.place, sizes.work / 2),
}

export const someScene: fc.Arbitrary<Scene> = fc
  .record({
    pools: fc.tuple(
      ...Array.from({ length: poolCount }, () =>
        fc.record({
          grants: fc.array(grant, { maxLength: 3 }),
          standard: fc.option(fc.constantFrom('public', 'sizes'), { freq: 2 }),
        }),
      ),
    ),
    persons: fc.array(grant, { maxLength: 2 }),
    things: fc.tuple(...typeNames.flatMap((type) => Array.from({ length: sizes[type] }, () => someThing(type)))),
  })
  .map(({ pools, persons, things }) => ({
    pools: pools.map((pool, index) => ({ ...pool, parent: index === 1 ? 0 : null })),
    types: { person: persons.map((each) => ({ ...each, tags: null })) },
    // Places stand below earlier ones, so that there is no circle.
    things: things.map((thing, index) => ({
      ...thing,
      parent: thing.parent !== null && thing.parent + sizes.person < index ? thing.parent + sizes.person : null,
    })),
  }))

function range(start: number, length: number): number[] {
  return Array.from({ length: Math.floor(length) }, (_, index) => start + index)
}

export function columnsOf(type: TypeName, nested: boolean): [string, string][] {
  return Object.entries(columns[type]).flatMap(([name, kind]): [string, string][] => {
    if (name.startsWith('part.') !== nested) return []
    return [[nested ? name.slice(5) : name, kind]]
  })
}

function someRow(type: TypeName, nested: boolean): fc.Arbitrary<Row> {
  const values = columnsOf(type, nested).map(([name, kind]) =>
    fc.option(someValue(kind, targets), { nil: undefined, freq: 4 }).map((value) => [name, value] as const),
  )
  return fc.tuple(...values).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

function someThing(type: TypeName): fc.Arbitrary<Thing> {
  const isWork = type === 'work'
  return fc.record({
    type: fc.constant(type),
    pool: type === 'person' ? fc.constant(null) : fc.nat(poolCount - 1),
    tags: isWork ? fc.uniqueArray(fc.nat(tagCount - 1), { maxLength: 2 }) : fc.constant([]),
    owner: fc.option(fc.nat(callers.length - 1), { freq: 2 }),
    grants:
      type === 'place'
        ? fc.constant([])
        : fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(grant, { maxLength: 2 })),
    values: someRow(type, false),
    rows: isWork ? fc.array(someRow(type, true), { maxLength: 2 }) : fc.constant([]),
    parent: type === 'place' ? fc.option(fc.nat(sizes.place - 1), { freq: 3 }) : fc.constant(null),
  })
}
