import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { compileModel } from '../../src/datamodel/compile/model.ts'
import type { Model } from '../../src/datamodel/model.ts'
import { currentVersion, readVersion } from '../../src/datamodel/store.ts'
import { createJobs } from '../../src/jobs/service.ts'
import { noDeadline } from '../../src/platform/limits/deadline.ts'
import { divideMemory, standardMemory } from '../../src/platform/memory/shares.ts'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { parseDate } from '../../src/platform/values/dates.ts'
import { words } from '../../src/search/document/analyze.ts'
import { everythingVisible } from '../../src/search/plan/field-visibility.ts'
import type { SearchEngine, SearchOutcome } from '../../src/search/plan/plan.ts'
import { createBitmapStore } from '../../src/search/postgres/bitmaps/bitmap-store.ts'
import { createKnownSets } from '../../src/search/postgres/query/access/access-sets.ts'
import { createPostgresEngine, type PostgresEngine } from '../../src/search/postgres/query/engine.ts'
import { createSortIndexes, indexOf, makeSortIndex } from '../../src/search/postgres/query/order/sort-indexes.ts'
import { createSlotCache, type Slots } from '../../src/search/postgres/slots.ts'
import { compileSearch } from '../../src/search/request/compile.ts'
import type { Json } from '../support/client.ts'
import { otherSearchIndex } from '../support/search-index.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { hold } from './support.ts'

/** A work as the naive evaluation sees it. */
interface Work {
  readonly id: number
  readonly title: Record<string, string>
  readonly note: string | undefined
  readonly inventory: string
  readonly width: number | undefined
  readonly signed: boolean
  readonly made: string | undefined
  readonly period: { from?: string; to?: string } | undefined
  readonly place: number | undefined
  readonly material: readonly { name?: string; amount?: number; origin?: number }[]
}

const memory = divideMemory(standardMemory)
const languages = ['en-US', 'de-DE']
const vocabulary = ['bridge', 'Brücke', 'river', 'dawn', 'bär', 'old', 'the', 'of', '100%', 'x-ray']
const phrase = fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 5 }).map((list) => list.join(' '))
const date = fc.constantFrom('1800', '1801', '1801-05', '1801-05-31', '1850', '-0044', '1801-05-31T10:00')
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

let museum: Museum
let model: Model
let slots: Slots
let works: Work[] = []
const places: number[] = []
const parentOf = new Map<number, number>()
/** That of the tests (test/support/search-index.ts); and, of PostgreSQL, the way that large results take. */
let small: SearchEngine
let large: SearchEngine
const opened: { close(): Promise<void> }[] = []

before(async () => {
  museum = await startMuseum()
  const { svc } = museum
  const root = svc.as('root')
  const save = async (type: string, bodies: object[]): Promise<number[]> => {
    const answer = await root.post(`/db/${type}`, bodies)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.map((object: Json) => object._system_object_id)
  }
  for (let i = 0; i < 6; i++) {
    const parent = i === 0 ? undefined : places[Math.floor((i - 1) / 2)]
    const above = parent === undefined ? {} : { 'lookup:_id_parent': { _system_object_id: parent } }
    const [id] = await save('place', [payload('place', { name: { 'en-US': `place ${i}` }, code: `P${i}`, ...above })])
    places.push(id as number)
    if (parent !== undefined) parentOf.set(id as number, parent)
  }
  const place = fc.constantFrom(...places)
  const work = fc.record({
    title: fc.dictionary(fc.constantFrom(...languages), phrase),
    note: maybe(phrase),
    width: maybe(fc.integer({ min: 0, max: 30 })),
    signed: fc.boolean(),
    made: maybe(date),
    period: maybe(fc.record({ from: date, to: date }, { requiredKeys: [] }).filter(isRange)),
    place: maybe(place),
    material: fc.array(
      fc.record({ name: fc.constantFrom('oil', 'Paper', 'oil paint'), amount: maybe(fc.nat(3)), origin: maybe(place) }),
      { maxLength: 3 },
    ),
  })
  const drafts = fc.sample(work, { numRuns: 80, seed: 7 })
  const ids = await save(
    'work',
    drafts.map((draft, index) =>
      payload('work', {
        ...inPool(museum.pool),
        title: draft.title,
        note: draft.note,
        inventory: `A${index}`,
        width: draft.width,
        signed: draft.signed,
        made: draft.made && { value: draft.made },
        period: draft.period,
        place: draft.place && link('place', draft.place),
        '_nested:work__material': unique(draft.material).map((row) => ({
          ...row,
          origin: row.origin && link('place', row.origin),
        })),
      }),
    ),
  )
  works = drafts.map((draft, index) => ({
    ...draft,
    material: unique(draft.material),
    id: ids[index] as number,
    inventory: `A${index}`,
  }))
  await svc.drain()
  const snapshot = await readVersion(svc.db, await currentVersion(svc.db))
  assert.ok(snapshot)
  model = compileModel(snapshot)
  const cache = createSlotCache(svc.db)
  slots = await cache.of(model, languages)
  const other = await otherSearchIndex()
  const log = pino({ level: 'silent' })
  if (other) {
    const index = other({
      db: svc.db,
      pipelined: svc.db,
      log,
      icu: process.versions.icu ?? '',
      connections: 2,
      memory,
      jobs: createJobs({ db: svc.db, log }),
    })
    opened.push(index)
    small = index.engine
    large = index.engine
    return
  }
  const accessSets = createKnownSets({ db: svc.db, log, maxBytes: memory.accessSets })
  const made = {
    db: svc.db,
    pipelined: svc.db,
    slots: cache,
    accessSets,
    sortIndexes: { wanted: () => {}, has: async () => true },
    bitmaps: createBitmapStore({ db: svc.db, log, memory }),
    maxConnections: 2,
    memory,
  }
  const engines: [PostgresEngine, PostgresEngine] = [
    createPostgresEngine(made),
    createPostgresEngine({ ...made, largeResult: 0 }),
  ]
  opened.push(...engines)
  ;[small, large] = engines
})

after(async () => {
  for (const each of opened) await each.close()
  await museum[Symbol.asyncDispose]()
})

const isRange = ({ from, to }: { from?: string; to?: string }): boolean => {
  if (!from && !to) return false
  return !from || !to || (parseDate(from)?.from ?? 0n) <= (parseDate(to)?.to ?? 0n)
}

/** Names are unique within a work. */
function unique<T extends { name: string }>(rows: readonly T[]): T[] {
  return [...new Map(rows.map((row) => [row.name, row])).values()]
}

// Elements, each with what it means.

interface Element {
  readonly wire: Record<string, unknown>
  readonly matches: (work: Work) => boolean
}

const textsOf: Record<string, (work: Work) => string[]> = {
  _fulltext: (work) => [
    ...Object.values(work.title),
    work.note ?? '',
    ...work.material.map((row) => row.name ?? ''),
    work.inventory,
    ...placeTexts(work),
  ],
  'work.title': (work) => Object.values(work.title),
  'work.note': (work) => [work.note ?? ''],
  'work._nested:work__material.name': (work) => work.material.map((row) => row.name ?? ''),
}

const placeTexts = (work: Work): string[] =>
  [work.place, ...work.material.map((row) => row.origin)].flatMap((id) =>
    id === undefined ? [] : [`place ${places.indexOf(id)}`],
  )

function text(): fc.Arbitrary<Element> {
  return fc
    .record({ fields: fc.subarray(Object.keys(textsOf), { minLength: 1 }), string: phrase })
    .map(({ fields, string }) => ({
      wire: { type: 'text', fields, string },
      matches: (work) =>
        words(string).every((word) =>
          fields.some((field) => textsOf[field]?.(work).some((each) => words(each).includes(word))),
        ),
    }))
}

function sequence(): fc.Arbitrary<Element> {
  return fc.record({ field: fc.constantFrom(...Object.keys(textsOf)), string: phrase }).map(({ field, string }) => ({
    wire: { type: 'text', fields: [field], string, phrase: true },
    matches: (work) =>
      (textsOf[field]?.(work) ?? []).some((each) =>
        ` ${words(each).join(' ')} `.includes(` ${words(string).join(' ')} `),
      ),
  }))
}

function wildcard(): fc.Arbitrary<Element> {
  const patterns: [string, RegExp][] = [
    ['br*', /^br/],
    ['*ge', /ge$/],
    ['*i*', /i/],
    ['b?r', /^b.r$/],
    ['?a*', /^.a/],
  ]
  return fc.constantFrom(...patterns).map(([string, pattern]) => ({
    wire: { type: 'text', fields: ['work.title', 'work.note'], mode: 'wildcard', string },
    matches: (work) =>
      [...Object.values(work.title), work.note ?? ''].some((each) => words(each).some((word) => pattern.test(word))),
  }))
}

function widths(): fc.Arbitrary<Element> {
  const bound = fc.option(fc.integer({ min: -2, max: 32 }), { nil: undefined })
  return fc.record({ from: bound, to: bound, from_equals: fc.boolean(), to_equals: fc.boolean() }).map((range) => ({
    wire: { type: 'range', field: 'work.width', ...range },
    matches: ({ width }) => width !== undefined && within(width, range),
  }))
}

function within(
  value: number,
  {
    from,
    to,
    from_equals,
    to_equals,
  }: { from?: number | undefined; to?: number | undefined; from_equals: boolean; to_equals: boolean },
): boolean {
  const above = from === undefined || (from_equals ? value >= from : value > from)
  return above && (to === undefined || (to_equals ? value <= to : value < to))
}

function dates(): fc.Arbitrary<Element> {
  const field = fc.constantFrom('made' as const, 'period' as const)
  return fc.record({ field, from: maybe(date), to: maybe(date) }).map(({ field: name, from, to }) => ({
    wire: { type: 'range', field: `work.${name}`, from, to },
    matches: (work) => {
      const value = name === 'made' ? work.made && { from: work.made, to: work.made } : work.period
      if (!value) return false
      const start = value.from === undefined ? null : (parseDate(value.from)?.from ?? 0n)
      const end = value.to === undefined ? null : (parseDate(value.to)?.to ?? 0n)
      const first = from === undefined ? null : (parseDate(from)?.from ?? 0n)
      const last = to === undefined ? null : (parseDate(to)?.to ?? 0n)
      return (first === null || end === null || end >= first) && (last === null || start === null || start <= last)
    },
  }))
}

function isBelow(id: number | undefined, wanted: number): boolean {
  for (let at = id; at !== undefined; at = parentOf.get(at)) if (at === wanted) return true
  return false
}

function values(): fc.Arbitrary<Element> {
  return fc.oneof(
    fc.boolean().map((flag) => ({
      wire: { type: 'in', fields: ['work.signed'], in: [flag] },
      matches: (work: Work) => work.signed === flag,
    })),
    fc.subarray(['A1', 'A20', 'A33', 'a1']).map((list) => ({
      wire: { type: 'in', fields: ['work.inventory'], in: list },
      matches: (work: Work) => list.includes(work.inventory),
    })),
    phrase.map((string) => ({
      wire: { type: 'in', fields: ['work.title'], in: [string, 'river'] },
      matches: (work: Work) => Object.values(work.title).some((each) => each === string || each === 'river'),
    })),
    fc.constantFrom('note', 'width', 'place', 'period').map((name) => ({
      wire: { type: 'in', fields: [`work.${name}`], in: [null] },
      matches: (work: Work) => work[name as 'note'] === undefined,
    })),
    fc.record({ index: fc.nat(5), include_path: fc.boolean() }).map(({ index, include_path }) => ({
      wire: {
        type: 'in',
        fields: ['work.place'],
        get in() {
          return [places[index]]
        },
        include_path,
      },
      matches: (work: Work) =>
        include_path ? isBelow(work.place, places[index] as number) : work.place === places[index],
    })),
    fc.array(fc.nat(79)).map((list) => ({
      wire: {
        type: 'in',
        fields: ['_system_object_id'],
        get in() {
          return list.map((index) => works[index]?.id)
        },
      },
      matches: (work: Work) => list.some((index) => works[index]?.id === work.id),
    })),
  )
}

function rows(): fc.Arbitrary<Element> {
  const material = 'work._nested:work__material'
  return fc
    .record({ name: fc.constantFrom('oil', 'paper', 'paint'), from: fc.nat(3), not: fc.boolean() })
    .map(({ name, from, not }) => ({
      wire: {
        type: 'nested',
        path: material,
        search: [
          { type: 'text', fields: [`${material}.name`], string: name, bool: not ? 'must_not' : 'must' },
          { type: 'range', field: `${material}.amount`, from },
        ],
      },
      matches: (work) =>
        work.material.some((row) => words(row.name ?? '').includes(name) !== not && (row.amount ?? -1) >= from),
    }))
}

const { tree: elements } = fc.letrec<{ tree: Element; leaf: Element; group: Element }>((tie) => ({
  tree: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('leaf'), tie('group')),
  leaf: fc.oneof(text(), sequence(), wildcard(), widths(), dates(), values(), rows()),
  group: list(tie('tree')).map((members) => ({
    wire: { type: 'complex', search: members.map(wireOf) },
    matches: (work) => combined(members, work),
  })),
}))

type Member = Element & { bool: 'must' | 'should' | 'must_not' }

function list(of: fc.Arbitrary<Element>): fc.Arbitrary<Member[]> {
  const bool = fc.constantFrom('must' as const, 'should' as const, 'must_not' as const)
  return fc.array(
    fc.tuple(of, bool).map(([element, how]) => ({ ...element, bool: how })),
    { maxLength: 3 },
  )
}

const wireOf = ({ wire, bool }: Member): object => ({ ...Object.fromEntries(Object.entries(wire)), bool })

function combined(members: readonly Member[], work: Work): boolean {
  const of = (bool: string) => members.filter((member) => member.bool === bool)
  const should = of('should')
  return (
    of('must').every((member) => member.matches(work)) &&
    (should.length === 0 || should.some((member) => member.matches(work))) &&
    !of('must_not').some((member) => member.matches(work))
  )
}

const sorts = fc.array(
  fc.record({
    field: fc.constantFrom('work.width', 'work.made', 'work.signed', 'work.inventory', '_score', 'work.title'),
    order: fc.constantFrom('asc', 'desc'),
  }),
  { maxLength: 2 },
)

/** The request as a plan. */
const planOf = (request: object) =>
  compileSearch(request as Record<string, unknown>, {
    model,
    languages,
    fieldVisibility: everythingVisible,
    alike: new Map(),
    synonyms: [],
    collections: null,
    poolByReference: () => undefined,
    databaseName: 'test',
    isSortValue: small.isSortValue,
    moment: null,
    now: new Date(),
  }).plan

async function run(engine: SearchEngine, request: object): Promise<SearchOutcome> {
  return engine.search(planOf(request), noDeadline)
}

test('SR-003 any search finds what a naive evaluation finds, whichever way the engine takes', async () => {
  await fc.assert(
    fc.asyncProperty(list(elements), sorts, async (members, sort) => {
      const expected = works.filter((work) => combined(members, work)).map((work) => work.id)
      const aggregations = {
        place: { type: 'linked_object', field: 'work.place', limit: 100 },
        signed: { type: 'term', field: 'work.signed' },
      }
      const request = { objecttypes: ['work'], search: members.map(wireOf), sort, limit: 1000, aggregations }
      const [one, other] = await Promise.all([run(small, request), run(large, request)])
      assert.equal(one.count, expected.length)
      assert.deepEqual(
        one.hits.map((hit) => hit.id).sort((a, b) => a - b),
        expected.sort((a, b) => a - b),
      )
      assert.deepEqual(other.hits, one.hits)
      assert.equal(other.count, one.count)
      for (const name of Object.keys(aggregations)) assert.deepEqual(counted(other, name), counted(one, name))
      const byPlace = counted(one, 'place')
      for (const id of places) {
        const below = works.filter((work) => expected.includes(work.id) && isBelow(work.place, id)).length
        assert.equal(byPlace.get(id) ?? 0, below)
      }
    }),
    { numRuns: 150 },
  )
})

test('what was found before is found in memory, with other facets, pages and conditions beside it, as a naive evaluation finds it', async (t) => {
  if (await otherSearchIndex()) return t.skip('about PostgreSQL')
  const { db } = museum.svc
  const log = pino({ level: 'silent' })
  const bitmaps = createBitmapStore({ db, log, memory })
  const accessSets = createKnownSets({ db, log, maxBytes: memory.accessSets })
  const engine = createPostgresEngine({
    db,
    pipelined: db,
    slots: createSlotCache(db),
    accessSets,
    sortIndexes: { wanted: () => {}, has: async () => true },
    bitmaps,
    maxConnections: 2,
    memory,
    largeResult: 0,
  })
  const place = { type: 'linked_object', field: 'work.place', limit: 100 }
  const signed = { type: 'term', field: 'work.signed' }
  let [walks, inMemory, inAll] = [0, 0, 0]
  const end = onStatement((text) => {
    if (/ from search_document d where (?!d\.id = any)/.test(text)) walks++
  })
  try {
    await fc.assert(
      fc.asyncProperty(list(elements), sorts, fc.nat(40), fc.nat(79), async (members, sort, offset, without) => {
        const fits = (work: Work) => combined(members, work)
        const request = { objecttypes: ['work'], search: members.map(wireOf), sort }
        // What is no text is read when it is asked for the second time; the order when the objects are known.
        for (const limit of [3, 4, 5]) {
          await run(engine, { ...request, limit, aggregations: { place, signed } })
          await bitmaps.idle()
        }
        const gone = { type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [works[without]?.id] }
        const other = {
          ...request,
          search: [...request.search, gone],
          limit: 30,
          offset,
          aggregations: { place },
        }
        walks = 0
        const found = await run(engine, other)
        inAll++
        if (walks === 0) inMemory++
        const expected = await run(small, other)
        assert.equal(found.count, works.filter((work) => fits(work) && work !== works[without]).length)
        assert.deepEqual(found.hits, expected.hits)
        assert.deepEqual(counted(found, 'place'), counted(expected, 'place'))
      }),
      { numRuns: 150 },
    )
    assert.ok(inMemory > 15, `${inMemory} of ${inAll} in memory`)
  } finally {
    end()
    await engine.close()
  }
})

test('an order that large results are asked for gets an index, once, and the index is used', async () => {
  const { db } = museum.svc
  const log = pino({ level: 'silent' })
  const indexes = createSortIndexes({ db, log, jobs: createJobs({ db, log }) })
  const request = (order: string) => ({ objecttypes: ['work'], sort: [{ field: 'work.inventory', order }] })
  for (const order of ['asc', 'desc', 'asc']) {
    indexes.wanted({ ...planOf(request(order)), slots, accessSets: { known: () => null, knownLexemes: () => null } })
  }
  await indexes.idle()
  await museum.svc.drain()
  const { rows } = await db.query<{ name: string; definition: string }>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relname like 'search\\_sort\\_%' and i.indisvalid order by 1`,
  )
  assert.equal(rows.length, 2, JSON.stringify(rows))
  const [ascending] = rows as [{ name: string; definition: string }]
  const key = /USING btree \((.*), id\)/.exec(ascending.definition)?.[1]
  const type = model.objecttypes.get('work')?.id
  const plan = await db.transaction(async (tx) => {
    await tx.query('set local enable_seqscan = off')
    await tx.query('set local enable_sort = off')
    return tx.query<{ 'QUERY PLAN': string }>(
      `explain select id from search_document where objecttype = ${type} and not deleted order by ${key}, id limit 10`,
    )
  })
  assert.match(plan.rows.map((row) => row['QUERY PLAN']).join('\n'), new RegExp(ascending.name))
  assert.deepEqual((await run(large, request('desc'))).hits, (await run(small, request('desc'))).hits)
})

test('a large result in an order without an index is walked through once, and the index is asked for', async (t) => {
  if (await otherSearchIndex()) return t.skip('about PostgreSQL')
  const { db } = museum.svc
  const accessSets = createKnownSets({ db, log: pino({ level: 'silent' }), maxBytes: memory.accessSets })
  let asked = 0
  const sortIndexes = { wanted: () => void asked++, has: async () => false }
  const slotCache = createSlotCache(db)
  const engine = createPostgresEngine({
    db,
    pipelined: db,
    slots: slotCache,
    accessSets,
    sortIndexes,
    bitmaps: createBitmapStore({ db, log: pino({ level: 'silent' }), memory }),
    maxConnections: 2,
    memory,
    largeResult: 0,
  })
  const statements: string[] = []
  const request = {
    objecttypes: ['work'],
    sort: [{ field: 'work.width' }],
    limit: 10,
    aggregations: { signed: { type: 'term', field: 'work.signed' } },
  }
  const expected = await run(small, request)
  const end = onStatement((text) => {
    if (text.includes('from search_document')) statements.push(text)
  })
  try {
    const found = await run(engine, request)
    assert.deepEqual([found.hits, found.count], [expected.hits, expected.count])
    assert.deepEqual(counted(found, 'signed'), counted(expected, 'signed'))
    assert.equal(statements.length, 1, statements.join('\n'))
    assert.equal(asked, 1)
  } finally {
    end()
    await engine.close()
  }
})

test('a stop waits for no index, and leaves none behind that is half made', async () => {
  const { db } = museum.svc
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
  using _ = await hold(db, 'set transaction isolation level repeatable read; select from object limit 1')
  const request = { objecttypes: ['work'], sort: [{ field: 'work.width' }] }
  const names = async (where: string) => {
    const { rows } = await db.query<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
       where c.relname like 'search\\_sort\\_%' and ${where}`,
    )
    return rows
  }
  const order = indexOf({ ...planOf(request), slots, accessSets: { known: () => null, knownLexemes: () => null } })
  assert.ok(order)
  const stop = new AbortController()
  const making = assert.rejects(makeSortIndex({ db, log }, order, stop.signal))
  await until(async () => (await names('not i.indisvalid')).length > 0)
  stop.abort()
  await making
  assert.deepEqual(await names('not i.indisvalid'), [])
  assert.deepEqual(lines, [])
})

function counted(outcome: SearchOutcome, name: string): Map<number | string, number> {
  const facet = outcome.facets.get(name)
  assert.ok(facet)
  return new Map(
    [...facet.counts.entries()]
      .map(([index, count]): [number | string, number] => [facet.value(index), count])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

test('SR-018 pages behind a hit follow each other without gap or repetition, whichever way the engine takes', async () => {
  await fc.assert(
    fc.asyncProperty(list(elements), sorts, fc.integer({ min: 1, max: 30 }), async (members, sort, limit) => {
      const request = { objecttypes: ['work'], search: members.map(wireOf), sort }
      const all = (await run(small, { ...request, limit: 1000 })).hits.map((hit) => hit.id)
      for (const engine of [small, large]) {
        const paged: number[] = []
        let after: readonly unknown[] | undefined
        while (paged.length < all.length) {
          const { hits } = await run(engine, { ...request, limit, search_after: after })
          if (hits.length === 0) break
          paged.push(...hits.map((hit) => hit.id))
          after = hits.at(-1)?.sort
        }
        assert.deepEqual(paged, all)
      }
    }),
    { numRuns: 40 },
  )
})

test('texts that begin alike for long are in order all the same, on pages of any size and whichever way', async () => {
  const beginning = 'A very long title that says the same again and again; '.repeat(10)
  const numbers = [7, 3, 11, 1, 10, 2, 5]
  const names = [...numbers.map((n) => `${beginning}${n}`), beginning, 'A very long title', 'Another one']
  const answer = await museum.svc.as('root').post(
    '/db/topic',
    names.map((name) => payload('topic', { name })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await museum.svc.drain()
  const byId = new Map<number, string>(answer.body.map((each: Json) => [each._system_object_id, each.topic.name]))
  const sorted = [
    'A very long title',
    beginning,
    ...numbers.toSorted((a, b) => a - b).map((n) => `${beginning}${n}`),
    'Another one',
  ]
  for (const order of ['asc', 'desc']) {
    const expected = order === 'asc' ? sorted : sorted.toReversed()
    for (const [engine, limit] of [small, large].flatMap((engine) =>
      [1, 2, 100].map((size) => [engine, size] as const),
    )) {
      const found: (string | undefined)[] = []
      let after: readonly unknown[] | undefined
      for (;;) {
        const request = { objecttypes: ['topic'], sort: [{ field: 'topic.name', order }], limit, search_after: after }
        const { hits } = await run(engine, request)
        if (hits.length === 0) break
        found.push(...hits.map(({ id }) => byId.get(id)))
        after = hits.at(-1)?.sort
        // However long the text is, what a hit carries of it is not.
        assert.ok(JSON.stringify(after).length < 1000)
      }
      assert.deepEqual(found, expected, `${order}, ${limit}`)
    }
  }
})
