import fc from 'fast-check'
import {
  columns,
  columnsOf,
  masks,
  nestedOf,
  sizes,
  someValue,
  type TypeName,
  targets,
  typeNames,
  words,
} from './model.ts'

/**
 * A small world drawn at random, as plain data: pools, tags, callers with grants of all kinds, objects with values and
 * links. `model.ts` has its datamodel, `knowledge.ts` says what a caller may know of it, `twins.ts` makes services of it.
 */

export const callers = ['ann', 'ben', 'cleo', 'dan'] as const
/** The number of a group in grants and as an owner, and who is in it. */
export const crew = callers.length
export const members: readonly number[] = [0, 2]
export const poolCount = 5
export const tagCount = 2

export interface TagFilter {
  readonly all: readonly number[]
  readonly any: readonly number[]
  readonly not: readonly number[]
}

/** What a grant gives: reading, all that objects can be used for, or new objects only. */
export type Reach = 'read' | 'all' | 'create'

/** Masks by object type, absent: all. Tags are numbered from 0. */
export interface Grant {
  /** A caller, or the group. */
  readonly who: number
  readonly reach: Reach
  readonly masks: Readonly<Partial<Record<TypeName, readonly string[]>>>
  readonly tags: TagFilter | null
  /** When it holds: always, in the past, in the future, or between the two. */
  readonly when: 'always' | 'past' | 'future' | 'now'
  readonly active: boolean
  /** Comes through to pools with grants of their own; only on pools. */
  readonly sticky: boolean
}

export type Row = Readonly<Record<string, unknown>>

export interface Thing {
  readonly type: TypeName
  /** null: the type has no pools. */
  readonly pool: number | null
  readonly tags: readonly number[]
  /** A caller, the group, or root. */
  readonly owner: number | null
  readonly grants: readonly Grant[]
  /** Of the grants on pools only sticky ones reach it, of those on its type none. */
  readonly private: boolean
  /** Texts, numbers, dates; links are indexes of things. */
  readonly values: Row
  readonly rows: readonly Row[]
  /** Indexes of the things above. */
  readonly parents: readonly number[]
}

export interface Scene {
  readonly pools: readonly {
    readonly parent: number | null
    readonly grants: readonly Grant[]
    readonly standard: string | null
    /** Grants of the pools above do not hold in it and below, but for sticky ones. */
    readonly private: boolean
  }[]
  readonly types: Readonly<Partial<Record<TypeName, readonly Grant[]>>>
  /** In the order of their types. */
  readonly things: readonly Thing[]
}

/** Types whose grants stand on the object type. */
export const withoutPool = ['person', 'topic', 'loan'] as const
export const hasPool = (type: TypeName): boolean => !withoutPool.some((each) => each === type)
/** Objects of hierarchies have none of their own. */
export const hasGrants = (type: TypeName): boolean => type !== 'place' && type !== 'topic'
/** The pool of each caller's own works and places, and the one where each sees a part of everything. */
export const homePool = poolCount - 1
const gallery = poolCount - 2
const parents = [null, 0, 1, null, null]

const tagList = fc.uniqueArray(fc.nat(tagCount - 1), { maxLength: 1 })
const tagFilter = fc.option(fc.record({ all: tagList, any: tagList, not: tagList }), { freq: 2 })
const limit = (type: TypeName) =>
  fc.option(fc.uniqueArray(fc.constantFrom('standard mask', ...Object.keys(masks[type])), { maxLength: 2 }), {
    nil: undefined,
    freq: 3,
  })
const grant: fc.Arbitrary<Grant> = fc
  .record({
    who: fc.nat(callers.length),
    reach: fc.constantFrom<Reach>('read', 'all'),
    masks: fc.record({ person: limit('person'), place: limit('place'), topic: limit('topic'), work: limit('work') }),
    tags: tagFilter,
    when: fc.constantFrom('always', 'always', 'now', 'past', 'future'),
    active: fc.constantFrom(true, true, true, true, false),
    sticky: fc.boolean(),
  })
  .map(({ masks: limits, ...rest }) => ({
    ...rest,
    masks: Object.fromEntries(Object.entries(limits).filter(([, list]) => list !== undefined)),
  }))
/** A way to read with some masks only. */
const narrow: fc.Arbitrary<Grant> = fc
  .record({
    who: fc.nat(callers.length),
    reach: fc.constantFrom<Reach>('read', 'read', 'all'),
    person: fc.constantFrom('name_only', 'circle'),
    place: fc.constantFrom('name_only', 'noted'),
    work: fc.subarray(['public', 'sizes', 'notes'], { minLength: 1, maxLength: 2 }),
  })
  .map(({ who, reach, person, place, work }) => ({
    ...whole(reach, who),
    masks: { person: [person], place: [place], topic: ['name_only'], work },
  }))
const whole = (reach: Reach, who: number): Grant => ({
  who,
  reach,
  masks: {},
  tags: null,
  when: 'always',
  active: true,
  sticky: false,
})
/** What everybody has, so that not all that they write is refused: a pool for each other's things, own objects. */
const atHome = callers.map((_, who) => whole('all', who))
const ofOwn = callers.map((_, who) => whole('create', who))
const onType = (grants: readonly Grant[]): Grant[] => [
  ...grants.map((each) => ({ ...each, tags: null, sticky: false })),
  ...ofOwn,
]

export const someScene: fc.Arbitrary<Scene> = fc
  .record({
    pools: fc.tuple(
      ...Array.from({ length: poolCount }, () =>
        fc.record({
          grants: fc.array(grant, { maxLength: 3 }),
          standard: fc.option(fc.constantFrom('public', 'sizes'), { freq: 2 }),
          private: fc.constantFrom(false, false, true),
        }),
      ),
    ),
    views: fc.tuple(...callers.map(() => narrow)),
    person: fc.array(grant, { maxLength: 2 }),
    topic: fc.array(grant, { maxLength: 2 }),
    loan: fc.array(grant, { maxLength: 2 }),
    things: fc.tuple(...typeNames.flatMap((type) => Array.from({ length: sizes[type] }, () => someThing(type)))),
    pairs: fc.uniqueArray(fc.tuple(fc.constantFrom(...targets.person), fc.constantFrom(...targets.person)), {
      minLength: 4,
      maxLength: 8,
      selector: (pair) => [...pair].sort((a, b) => a - b).join(),
    }),
    note: fc.constantFrom(...words),
  })
  .map(({ pools, views, person, topic, loan, things, pairs, note }) => ({
    pools: pools.map((pool, index) => ({
      ...pool,
      parent: parents[index] ?? null,
      grants: [
        ...pool.grants,
        ...(index === homePool ? atHome : index === gallery ? views.map((view, who) => ({ ...view, who })) : []),
      ],
    })),
    types: { person: onType(person), topic: onType(topic), loan: onType(loan) },
    things: things.map((thing, index) => settled(thing, index, pairs, note)),
  }))

/** What depends on the other things: parents are earlier ones, keys are all different, influences go both ways. */
function settled(thing: Thing, index: number, pairs: readonly [number, number][], note: string): Thing {
  const { type, values } = thing
  const keyed = Object.entries<string>(columns[type]).flatMap(([name, kind]) =>
    kind === 'key' && values[name] !== undefined ? [[name, keyOf(index)]] : [],
  )
  const above = thing.parents.map((at) => targets[type][at] as number).filter((at) => at < index)
  const others = pairs.flatMap(([a, b]) => (a === b ? [] : a === index ? [b] : b === index ? [a] : []))
  return {
    ...thing,
    values: { ...values, ...Object.fromEntries(keyed) },
    parents: above,
    rows: type === 'person' ? others.map((other) => ({ person: other, note })) : thing.rows,
  }
}

export const keyOf = (index: number): string => `key-${index}`

function someRow(type: TypeName, nested: boolean): fc.Arbitrary<Row> {
  const values = columnsOf(type, nested).map(([name, kind]) =>
    fc.option(someValue(kind, targets), { nil: undefined, freq: 4 }).map((value) => [name, value] as const),
  )
  return fc.tuple(...values).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

function someThing(type: TypeName): fc.Arbitrary<Thing> {
  const above = { place: 1, topic: 2 }[type as string] ?? 0
  return fc.record({
    type: fc.constant(type),
    pool: hasPool(type) ? fc.nat(poolCount - 1) : fc.constant(null),
    tags: type === 'work' ? fc.uniqueArray(fc.nat(tagCount - 1), { maxLength: 2 }) : fc.constant([]),
    owner: fc.option(fc.nat(callers.length), { freq: 2 }),
    grants: hasGrants(type)
      ? fc.array(fc.oneof({ weight: 2, arbitrary: narrow }, { weight: 1, arbitrary: grant }), { maxLength: 2 })
      : fc.constant([]),
    private: hasGrants(type) ? fc.constantFrom(false, false, false, true) : fc.constant(false),
    values: someRow(type, false),
    rows: type === 'work' && nestedOf.work ? fc.array(someRow(type, true), { maxLength: 2 }) : fc.constant([]),
    parents: fc.uniqueArray(fc.nat(sizes[type] - 1), { maxLength: above }),
  })
}
