import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Queryable } from '../../src/platform/postgres/db.ts'
import { holds } from '../../src/rights/expression.ts'
import { readPrincipals } from '../../src/rights/grants.ts'
import type { Expression, Guarded, OfFiles, OfObject, ReadExpression, StoredGrant } from '../../src/rights/model.ts'
import { objectSql } from '../../src/rights/object-sql.ts'
import { objectsOf } from '../../src/rights/shares/object-set.ts'
import { accessLexemes } from '../../src/search/postgres/document/access.ts'
import type { AccessKind } from '../../src/search/postgres/index/access-sets.ts'
import { type AskedSets, askedSets, expressionNode } from '../../src/search/postgres/query/access/access.ts'
import { type AccessSetCondition, knownSetsSql } from '../../src/search/postgres/query/access/access-sets.ts'
import { accessSql } from '../../src/search/postgres/query/access/visibility.ts'
import { inlineSql } from '../../src/search/postgres/query/sql/sql.ts'
import { startService, type TestService } from '../support/service.ts'
import { id, someObject } from './arbitraries.ts'
import { noon } from './support.ts'

/**
 * Conditions on who may read an object are printed in several ways. Random ones are asked of random objects in each of them, and
 * compared with a naive reading.
 */

/** Objects of which some are in the collections that every database has. The last one has too many to be listed. */
const numbers = Array.from({ length: 900 }, (_, index) => index + 1)
const isIn = (collection: number, object: number): boolean => object % (collection === 3 ? 2 : 7 * collection) === 0

function objectsIn(collections: readonly number[]) {
  return objectsOf(
    collections.map((id) => ({
      id,
      parentId: null,
      ownerId: 1,
      acl: [],
      privateAcl: false,
      list: { version: 1, ids: Float64Array.from(numbers.filter((each) => isIn(id, each))) },
    })),
  )
}

const ids = fc.uniqueArray(id(4), { maxLength: 3 })
const tags = fc.uniqueArray(id(3), { maxLength: 2 })
const who = fc.uniqueArray(fc.constantFrom('u1', 'u2', 'u3', 'g1', 'g2', 'g3', 'c2', 'c3', 'c4'), { maxLength: 3 })
const masks = fc.constantFrom<'any' | 'all' | 'limited' | 'standard' | number>(
  'any',
  'all',
  'limited',
  'standard',
  1,
  2,
)
const leaf: fc.Arbitrary<ReadExpression> = fc.oneof(
  ids.map((list) => ({ is: 'types', ids: list }) as const),
  ids.map((list) => ({ is: 'pools', ids: list }) as const),
  fc.constant({ is: 'withoutPool' } as const),
  fc.record({ all: tags, any: tags, not: tags }).map((filter) => ({ is: 'tags', filter }) as const),
  fc.constant({ is: 'private' } as const),
  fc.tuple(id(3), ids).map(([userId, groupIds]) => ({ is: 'owner', userId, groupIds }) as const),
  fc
    .subarray([1, 2, 3])
    .map((collections) => ({ is: 'member', collections, objects: objectsIn(collections) }) as const),
  {
    weight: 3,
    arbitrary: fc.tuple(who, masks).map(([list, given]) => ({ is: 'granted', who: list, masks: given }) as const),
  },
)
const marks = { class: ['image', 'video'], version: ['image.original', 'image.preview'], seer: ['u1', 'u2', 'g3'] }
const ofFiles = fc
  .record({ columnId: id(2), by: fc.constantFrom('class' as const, 'version' as const, 'seer' as const) })
  .chain(
    ({ columnId, by }): fc.Arbitrary<OfFiles> =>
      fc.subarray(marks[by]).map((names) => ({ is: 'files', columnId, by, names })),
  )

/** Put together from such leaves. */
function put<L>(leaves: fc.Arbitrary<Expression<L>>): fc.Arbitrary<Expression<L>> {
  return fc.letrec<{ expression: Expression<L> }>((tie) => ({
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 3, arbitrary: leaves },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(tie('expression'), { maxLength: 3 }))
          .map(([is, of]) => ({ is, of })),
      },
      { weight: 1, arbitrary: tie('expression').map((of) => ({ is: 'not' as const, of })) },
    ),
  })).expression
}

/** Type 1 has grants of its own, 2 has none. */
const withGrants = [1]

/** What is stored: a type may have lost its grants. What is known of files is given. */
interface Stored extends Guarded {
  readonly files: readonly (Omit<OfFiles, 'is' | 'names'> & { readonly names: readonly string[] })[]
}

const someStored: fc.Arbitrary<Stored> = fc
  .tuple(someObject, fc.array(ofFiles, { maxLength: 3 }), fc.integer({ min: 1, max: 900 }))
  .map(([object, files, systemObjectId]) => ({ ...object, files, systemObjectId }))

/** As `rights` sees it. */
const guardedOf = (stored: Stored): Guarded =>
  withGrants.includes(stored.objecttypeId) ? stored : { ...stored, acl: null, privateAcl: false }

/** Read out of the rules, one sentence after the other. */
function naive(asked: Expression, stored: Stored, now: number): boolean {
  const own = stored.objecttypeId === 1
  const owner =
    stored.ownerUserId !== null
      ? `u${stored.ownerUserId}`
      : stored.ownerGroupId !== null
        ? `g${stored.ownerGroupId}`
        : '-'
  switch (asked.is) {
    case 'types':
      return asked.ids.some((type) => type === stored.objecttypeId)
    case 'pools':
      return asked.ids.some((pool) => pool === stored.poolId)
    case 'withoutPool':
      return stored.poolId === null
    case 'tags':
      return fits(asked.filter, stored)
    case 'private':
      return own && stored.privateAcl
    case 'owner':
      return owner === `u${asked.userId}` || asked.groupIds.some((group) => owner === `g${group}`)
    case 'granted':
      return own && (stored.acl ?? []).some((grant) => isGranted(grant, asked, stored, owner, now))
    case 'member':
      return asked.collections.some((each) => isIn(each, stored.systemObjectId))
    case 'files':
      return stored.files.some(
        ({ columnId, by, names }) =>
          columnId === asked.columnId && by === asked.by && asked.names.some((name) => names.includes(name)),
      )
    case 'and':
      return !asked.of.some((each) => !naive(each, stored, now))
    case 'or':
      return !asked.of.every((each) => !naive(each, stored, now))
    case 'not':
      return !naive(asked.of, stored, now)
  }
}

function isGranted(
  grant: StoredGrant,
  { who: wanted, masks: given }: Extract<ReadExpression, { is: 'granted' }>,
  stored: Stored,
  owner: string,
  now: number,
): boolean {
  const { read, mask } = grant.rights
  if (read === undefined || grant.active === false) return false
  if (grant.from !== undefined && new Date(grant.from).getTime() > now) return false
  if (grant.to !== undefined && new Date(grant.to).getTime() <= now) return false
  if (read.objecttype_ids && !read.objecttype_ids.includes(stored.objecttypeId)) return false
  if (read.pool_ids && (stored.poolId === null || !read.pool_ids.includes(stored.poolId))) return false
  if (grant.tagfilter && !fits(grant.tagfilter, stored)) return false
  const named = grant.who === 'owner' ? owner : grant.who === 'contact' ? `c${stored.poolId ?? '-'}` : grant.who
  if (!wanted.includes(named)) return false
  const limits = [read.mask_ids?.['1'], mask?.mask_ids?.['1']].filter((limit) => limit !== undefined)
  if (given === 'any') return true
  if (given === 'all') return limits.length === 0
  if (given === 'limited') return limits.length > 0
  return limits.length > 0 && limits.every((limit) => limit.includes(given))
}

function fits({ all, any, not }: NonNullable<StoredGrant['tagfilter']>, { tags: own }: Stored): boolean {
  if (all.some((tag) => !own.includes(tag))) return false
  if (any.length > 0 && own.every((tag) => !any.includes(tag))) return false
  return own.every((tag) => !not.includes(tag))
}

/** Windows of the drawn grants are about noon of some day. */
function moved(stored: Stored, now: number): Stored {
  const shift = (at: string | undefined) => at && new Date(Date.parse(at) - noon + now).toISOString()
  const acl = stored.acl?.map(({ from, to, ...grant }) => {
    const [begins, ends] = [shift(from), shift(to)]
    // What begins or ends at this very moment is another one for each of those who are asked.
    const far = (at: string | undefined) => (at === undefined || Date.parse(at) !== now ? at : undefined)
    return { ...grant, ...(far(begins) ? { from: begins } : {}), ...(far(ends) ? { to: ends } : {}) } as StoredGrant
  })
  return { ...stored, acl: acl ?? null }
}

let svc: TestService
before(async () => {
  svc = await startService()
  for (const collection of [1, 2, 3]) {
    const objects = numbers.filter((each) => isIn(collection, each))
    await svc.db.query(
      'insert into collection_object (collection_id, object_id, rank) select $1, id, id from unnest($2::bigint[]) id',
      [collection, objects],
    )
  }
})
after(() => svc[Symbol.asyncDispose]())

async function bySql(
  db: Queryable,
  asked: readonly ReadExpression[],
  objects: readonly Stored[],
): Promise<boolean[][]> {
  const values: unknown[] = []
  const sql = asked.map((each) =>
    objectSql(each, { alias: 'o', withGrants, parameter: (value, type) => `$${values.push(value)}::${type}` }),
  )
  const rows = objects.map((object, n) => ({
    n,
    system_object_id: object.systemObjectId,
    objecttype: object.objecttypeId,
    pool_id: object.poolId,
    owner_user: object.ownerUserId,
    owner_group: object.ownerGroupId,
    tags: object.tags,
    acl: object.acl,
    private_acl: object.privateAcl,
  }))
  const found = await db.query<{ found: boolean[] }>(
    `select array[${sql.map((each) => `coalesce(${each}, false)`).join(', ')}]::boolean[] as found
     from jsonb_to_recordset($${values.push(JSON.stringify(rows))}) as o(n int, system_object_id bigint, objecttype int, pool_id bigint,
       owner_user bigint, owner_group bigint, tags int[], acl jsonb, private_acl boolean) order by n`,
    values,
  )
  return found.rows.map((row) => row.found)
}

/** As the index has it, asked by its lexemes, by the numbers of its sets, and of sets that are not known yet. */
async function byIndex(
  db: Queryable,
  asked: readonly Expression[],
  objects: readonly Stored[],
  now: number,
): Promise<boolean[][]> {
  const rows = objects.map((object) => lexemesOf(object, now))
  const kept: Record<AccessKind, Map<string, number>> = { shared: new Map(), people: new Map() }
  const numberOf = (kind: AccessKind, lexemes: readonly string[]): number => {
    const key = [...new Set(lexemes)].sort().join(' ')
    const number = kept[kind].get(key) ?? kept[kind].size + 1
    kept[kind].set(key, number)
    return number
  }
  const documents = rows.map(({ shared, people }, n) => ({
    n,
    id: objects[n]?.systemObjectId,
    lexemes: [...shared, ...people],
    access_set: n % 5 === 4 ? 0 : numberOf('shared', shared),
    people_set: n % 7 === 6 ? 0 : numberOf('people', people),
  }))
  const known = await knownTo(db, asked, kept)
  const columns = asked.flatMap((each, m) => [
    accessSql(expressionNode(each), 'd'),
    knownSetsSql(known[m] as AccessSetCondition, 'd', inlineSql),
  ])
  const found = await db.query<{ found: boolean[] }>(
    `select array[${columns.join(', ')}]::boolean[] as found from (
       select n, id, array_to_tsvector(lexemes) as access, access_set, people_set
       from jsonb_to_recordset($1) as x(n int, id bigint, lexemes text[], access_set int, people_set int)) d order by n`,
    [JSON.stringify(documents)],
  )
  return found.rows.map((row) => row.found)
}

function lexemesOf(stored: Stored, now: number) {
  const byColumn = Map.groupBy(stored.files, ({ columnId }) => columnId)
  const names = (list: Stored['files'], wanted: OfFiles['by']) =>
    list.flatMap(({ by, names: found }) => (by === wanted ? found : []))
  const files = [...byColumn].map(([columnId, list]) => ({
    columnId,
    classes: names(list, 'class'),
    versions: names(list, 'version'),
    uploaders: names(list, 'seer'),
    // Whom grants name is a matter of the files themselves.
    files: [{ class: 'office', extension: 'pdf', versions: [] }],
  }))
  const { systemObjectId, objecttypeId, ownerUserId, ownerGroupId, ...rest } = stored
  const source = {
    ...rest,
    id: systemObjectId,
    objecttype: objecttypeId,
    ownerUser: ownerUserId,
    ownerGroup: ownerGroupId,
    files,
  }
  return accessLexemes(source, withGrants.includes(objecttypeId), now)
}

/** What a reader of sets has found out, up to some of them. */
async function knownTo(
  db: Queryable,
  asked: readonly Expression[],
  kept: Record<AccessKind, ReadonlyMap<string, number>>,
): Promise<AccessSetCondition[]> {
  const queries = new Map<string, { kind: AccessKind; query: string }>()
  const walk = (each: AskedSets): void => {
    if (each.is === 'sets') queries.set(`${each.kind} ${each.query}`, each)
    else if (each.is !== 'member') for (const one of each.is === 'not' ? [each.of] : each.of) walk(one)
  }
  for (const each of asked) walk(askedSets(each))
  const list = [...queries.values()].map((each, n) => ({ ...each, n }))
  const sets = (['shared', 'people'] as const).flatMap((kind) =>
    [...kept[kind]].map(([key, number]) => ({ kind, number, lexemes: key === '' ? [] : key.split(' ') })),
  )
  const { rows } = await db.query<{ n: number; ids: number[] }>(
    `select q.n, coalesce(array_agg(s.number order by s.number) filter (where s.number is not null), '{}') as ids
     from jsonb_to_recordset($1) as q(n int, kind text, query text)
     left join jsonb_to_recordset($2) as s(kind text, number int, lexemes text[])
       on s.kind = q.kind and s.number <= 8 and array_to_tsvector(s.lexemes) @@ q.query::tsquery group by 1`,
    [JSON.stringify(list), JSON.stringify(sets)],
  )
  const ids = new Map(rows.map((row) => [row.n, row.ids]))
  const numbers = new Map(list.map(({ kind, query, n }) => [`${kind} ${query}`, ids.get(n) ?? []]))
  const knownOf = (each: AskedSets): AccessSetCondition => {
    if (each.is === 'member') return each
    if (each.is === 'not') return { is: 'not', of: knownOf(each.of) }
    if (each.is !== 'sets') return { is: each.is, of: each.of.map(knownOf) }
    const { kind, query, key } = each
    const few = numbers.get(`${kind} ${query}`) as number[]
    const bits = Buffer.alloc(2)
    for (const number of few) bits[number >> 3] = (bits[number >> 3] as number) | (1 << (number & 7))
    // A long list is a map of bits.
    return {
      is: 'sets',
      kind,
      key,
      by: 'access',
      sets: { query, few: query.length % 2 === 0 ? few : null, bits, upTo: 8 },
    }
  }
  return asked.map((each) => knownOf(askedSets(each)))
}

test('in memory, in SQL and in the index a condition says of objects what it says', async () => {
  let [yes, no] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.array(put(leaf), { minLength: 5, maxLength: 15 }),
      fc.array(put<OfFiles | OfObject>(fc.oneof(leaf, ofFiles)), {
        maxLength: 10,
      }),
      fc.array(someStored, { minLength: 5, maxLength: 20 }),
      async (ofObjects, withFiles, drawn) => {
        const now = Date.now()
        const objects = drawn.map((each) => moved(each, now))
        const asked: Expression[] = [...ofObjects, ...withFiles]
        const [sql, index] = [await bySql(svc.db, ofObjects, objects), await byIndex(svc.db, asked, objects, now)]
        for (const [n, object] of objects.entries()) {
          const guarded = guardedOf(object)
          const personal = {
            granted: () => readPrincipals(guarded, now).principals,
            files: (column: number, mark: OfFiles['by']) =>
              object.files.flatMap(({ columnId, by, names }) => (columnId === column && by === mark ? names : [])),
          }
          for (const [m, each] of asked.entries()) {
            const expected = naive(each, object, now)
            if (expected) yes++
            else no++
            const said = JSON.stringify([each, object])
            assert.equal(holds(each, guarded, personal), expected, `in memory: ${said}`)
            if (m < ofObjects.length) assert.equal(sql[n]?.[m], expected, `SQL: ${said}`)
            assert.equal(index[n]?.[2 * m], expected, `lexemes: ${said}`)
            assert.equal(index[n]?.[2 * m + 1], expected, `sets: ${said}`)
          }
        }
      },
    ),
    { numRuns: 400 },
  )
  assert.ok(Math.min(yes, no) > 1000, `${yes} hold, ${no} do not`)
})
