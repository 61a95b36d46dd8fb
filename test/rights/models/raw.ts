import fc from 'fast-check'

/**
 * What a world is drawn as: plain numbers and switches that mean something only in their places (`world.ts` reads them).
 * Nothing here depends on anything else that is drawn, so each part shrinks by itself.
 */

/** Numbers that are read one after the other, from the beginning again when they are used up; 0 is the plainest choice. */
export type Choices = readonly number[]

export interface RawTable {
  readonly columns: Choices
  readonly nested: readonly { readonly columns: Choices; readonly inner: Choices; readonly pairs: boolean }[]
}

export interface RawType extends RawTable {
  /** 0: none, 1: one parent, 2: several. */
  readonly hierarchy: number
  readonly pool: boolean
  readonly tags: boolean
  readonly acl: boolean
  readonly main: boolean
  readonly unique: boolean
  readonly grants: readonly RawGrant[]
  /** None: the type has `_all_fields` alone. */
  readonly masks: readonly RawMask[]
  readonly standards: Choices
}

export interface RawMask {
  readonly fields: Choices
  readonly system: Choices
  readonly filter: RawFilter | null
}

export interface RawFilter {
  readonly all: readonly number[]
  readonly any: readonly number[]
  readonly not: readonly number[]
}

export interface RawGrant {
  readonly who: number
  readonly rights: number
  readonly masks: readonly (Choices | null)[]
  readonly moreMasks: readonly (Choices | null)[] | null
  readonly types: Choices | null
  readonly filter: RawFilter | null
  readonly when: 'always' | 'past' | 'future' | 'now'
  readonly active: boolean
  readonly sticky: boolean
  /** Of a pool or an object type: all of it may be passed on. */
  readonly grantable: boolean
}

export interface RawPool {
  readonly parent: number
  readonly private: boolean
  readonly grants: readonly RawGrant[]
  readonly standards: Choices
  readonly contact: number | null
}

export interface RawThing {
  readonly type: number
  readonly pool: number
  readonly tags: readonly number[]
  readonly owner: number
  readonly grants: readonly RawGrant[]
  readonly cells: Choices
  readonly parents: Choices
  readonly trashed: boolean
  readonly private: boolean
}

/** A collection with some of the things in it. */
export interface RawShare {
  readonly parent: number
  readonly owner: number
  readonly private: boolean
  readonly grants: readonly RawGrant[]
  readonly things: Choices
}

export interface RawTransition {
  readonly who: Choices
  readonly not: boolean
  readonly types: Choices
  readonly filter: RawFilter | null
  readonly sticky: boolean
}

export interface RawWorld {
  readonly types: readonly RawType[]
  readonly pools: readonly RawPool[]
  readonly rootGrants: readonly RawGrant[]
  readonly things: readonly RawThing[]
  readonly transitions: readonly RawTransition[]
  readonly shares: readonly RawShare[]
  /** What is asked of it. */
  readonly questions: number
}

const choices = (length: number) => fc.array(fc.nat(239), { minLength: length, maxLength: length })
/** Nothing, in so many of a hundred draws. */
const orNothing = <T>(nothing: number, of: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: nothing, arbitrary: fc.constant(null) }, { weight: 100 - nothing, arbitrary: of })
const rarely = fc.nat(5).map((n) => n === 5)
const tags = fc.uniqueArray(fc.nat(2), { maxLength: 2 })
/** A filter names a tag once. */
const filter: fc.Arbitrary<RawFilter> = fc
  .record({ tags: fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 2 }), first: fc.nat(2), second: fc.nat(2) })
  .map(({ tags: [one = 0, two], first, second }) => {
    const slots: [number[], number[], number[]] = [[], [], []]
    slots[first]?.push(one)
    if (two !== undefined) slots[second]?.push(two)
    return { all: slots[0], any: slots[1], not: slots[2] }
  })
const maskListsWithout = (nothing: number) =>
  fc.array(orNothing(nothing, fc.array(fc.nat(9), { maxLength: 2 })), { minLength: 4, maxLength: 4 })
const maskLists = maskListsWithout(65)

const grantParts = {
  who: fc.nat(15),
  rights: fc.nat(15),
  masks: maskLists,
  moreMasks: orNothing(75, maskLists),
  types: orNothing(75, fc.array(fc.nat(7), { maxLength: 3 })),
  filter: orNothing(65, filter),
  when: fc.constantFrom('always', 'always', 'always', 'now', 'past', 'future'),
  active: fc.nat(9).map((n) => n < 9),
  sticky: fc.boolean(),
  grantable: fc.nat(3).map((n) => n > 0),
}
const grant: fc.Arbitrary<RawGrant> = fc.record(grantParts)
/** On objects: mostly for some masks only, since one without limits says nothing of what masks hide. */
const grantOnThing: fc.Arbitrary<RawGrant> = fc.record({ ...grantParts, masks: maskListsWithout(20) })
const grants = (minLength: number, maxLength: number) => fc.array(grant, { minLength, maxLength, size: 'max' })

const table = {
  columns: choices(24),
  nested: fc.array(fc.record({ columns: choices(16), inner: choices(8), pairs: rarely }), { maxLength: 2 }),
}
const type: fc.Arbitrary<RawType> = fc.record({
  ...table,
  hierarchy: fc.constantFrom(0, 0, 1, 2),
  pool: fc.boolean(),
  tags: fc.boolean(),
  acl: fc.boolean(),
  main: fc.boolean(),
  unique: fc.boolean(),
  grants: grants(2, 4),
  masks: fc.array(fc.record({ fields: choices(60), system: choices(4), filter: orNothing(65, filter) }), {
    maxLength: 3,
    size: 'max',
  }),
  standards: choices(3),
})
const pool: fc.Arbitrary<RawPool> = fc.record({
  parent: fc.nat(9),
  private: fc.nat(2).map((n) => n === 2),
  grants: grants(2, 5),
  standards: choices(4),
  contact: fc.option(fc.nat(5)),
})
const thing: fc.Arbitrary<RawThing> = fc.record({
  type: fc.nat(11),
  pool: fc.nat(11),
  tags,
  owner: fc.nat(15),
  grants: fc.array(grantOnThing, { maxLength: 3, size: 'max' }),
  cells: choices(40),
  parents: choices(2),
  trashed: rarely,
  private: fc.nat(2).map((n) => n === 2),
})
const transition: fc.Arbitrary<RawTransition> = fc.record({
  who: fc.array(fc.nat(6), { maxLength: 2 }),
  not: fc.boolean(),
  types: fc.array(fc.nat(3), { maxLength: 2 }),
  filter: orNothing(50, filter),
  sticky: fc.boolean(),
})

const share: fc.Arbitrary<RawShare> = fc.record({
  parent: fc.nat(5),
  owner: fc.nat(7),
  private: fc.nat(2).map((n) => n === 2),
  grants: grants(1, 4),
  things: fc.array(fc.nat(239), { minLength: 3, maxLength: 9, size: 'max' }),
})

export const rawWorld: fc.Arbitrary<RawWorld> = fc.record({
  types: fc.array(type, { minLength: 2, maxLength: 4, size: 'max' }),
  pools: fc.array(pool, { minLength: 1, maxLength: 4, size: 'max' }),
  rootGrants: grants(1, 3),
  things: fc.array(thing, { minLength: 8, maxLength: 16, size: 'max' }),
  transitions: fc.array(transition, { maxLength: 3 }),
  shares: fc.array(share, { minLength: 2, maxLength: 6, size: 'max' }),
  questions: fc.nat(2 ** 30),
})
