import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Queryable } from '../../src/platform/postgres/db.ts'
import { holds } from '../../src/rights/expression.ts'
import { readPrincipals } from '../../src/rights/grants.ts'
import type { Guarded, ReadExpression, StoredGrant } from '../../src/rights/model.ts'
import { objectSql } from '../../src/rights/object-sql.ts'
import { startService, type TestService } from '../support/service.ts'
import { id, someObject } from './arbitraries.ts'
import { noon } from './support.ts'

/**
 * Conditions on who may read an object are printed in several ways. Random ones are asked of random objects in each of them, and
 * compared with a naive reading.
 */

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
  {
    weight: 3,
    arbitrary: fc.tuple(who, masks).map(([list, given]) => ({ is: 'granted', who: list, masks: given }) as const),
  },
)
const { expression } = fc.letrec<{ expression: ReadExpression }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('and' as const, 'or' as const), fc.array(tie('expression'), { maxLength: 3 }))
        .map(([is, of]) => ({ is, of })),
    },
    { weight: 1, arbitrary: tie('expression').map((of) => ({ is: 'not' as const, of })) },
  ),
}))

/** Type 1 has grants of its own, 2 has none. */
const withGrants = [1]

/** What is stored: a type may have lost its grants. */
type Stored = Guarded

/** As `rights` sees it. */
const guardedOf = (stored: Stored): Guarded =>
  withGrants.includes(stored.objecttypeId) ? stored : { ...stored, acl: null, privateAcl: false }

/** Read out of the rules, one sentence after the other. */
function naive(asked: ReadExpression, stored: Stored, now: number): boolean {
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
     from jsonb_to_recordset($${values.push(JSON.stringify(rows))}) as o(n int, objecttype int, pool_id bigint,
       owner_user bigint, owner_group bigint, tags int[], acl jsonb, private_acl boolean) order by n`,
    values,
  )
  return found.rows.map((row) => row.found)
}

test('a predicate in memory and SQL on objects say what the condition says', async () => {
  let [yes, no] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.array(expression, { minLength: 5, maxLength: 20 }),
      fc.array(someObject, { minLength: 5, maxLength: 20 }),
      async (asked, drawn) => {
        const now = Date.now()
        const objects = drawn.map((each) => moved(each, now))
        const sql = await bySql(svc.db, asked, objects)
        for (const [n, object] of objects.entries()) {
          const guarded = guardedOf(object)
          const personal = { granted: () => readPrincipals(guarded, now).principals, files: () => [] }
          for (const [m, each] of asked.entries()) {
            const expected = naive(each, object, now)
            if (expected) yes++
            else no++
            const said = JSON.stringify([each, object])
            assert.equal(holds(each, guarded, personal), expected, `in memory: ${said}`)
            assert.equal(sql[n]?.[m], expected, `SQL: ${said}`)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
  assert.ok(Math.min(yes, no) > 1000, `${yes} hold, ${no} do not`)
})
