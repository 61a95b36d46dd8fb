import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Answer, Client, Json } from '../support/client.ts'
import { commitModel } from '../support/seed/model.ts'
import { inPool, museum, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/**
 * Random grants with tags, presets, times and owners, made through the front door, against the rules of
 * docs/rights-and-pools.md read one by one: what explanations, reads, lists, searches and facets say, and what saves do.
 */

const rightNames = ['read', 'write', 'delete'] as const
type Right = (typeof rightNames)[number]

interface Grant {
  readonly who: number | 'owner' | 'contact'
  readonly rights: readonly Right[]
  readonly tags: {
    readonly all: readonly number[]
    readonly any: readonly number[]
    readonly not: readonly number[]
  } | null
  readonly when: 'always' | 'ended' | 'not_yet' | 'now'
  readonly active: boolean
  /** Pools that the rights are limited to, by their index. */
  readonly pools: readonly number[] | null
  readonly sticky: boolean
  /** On objects only: one of the presets, in place of rights. */
  readonly preset: number | null
}

interface Pool {
  readonly parent: number
  readonly privateAcl: boolean
  readonly contact: number
  readonly acl: readonly Grant[]
}

interface Work {
  readonly pool: number
  readonly owner: number
  readonly tags: readonly number[]
  readonly acl: readonly Grant[]
  readonly privateAcl: boolean
}

const users = 3
/** Principals: users by 0 to 2, groups by 3 and 4. */
const groups = [3, 4]
/** Who is in the groups. */
const members: Readonly<Record<number, readonly number[]>> = { 3: [0, 1], 4: [1] }
const presets: readonly (readonly Right[])[] = [['read'], ['read', 'write']]

const tags = fc.uniqueArray(fc.nat(1), { maxLength: 1 })
const someGrant: fc.Arbitrary<Grant> = fc.record({
  who: fc.oneof(fc.nat(4), fc.constantFrom('owner' as const, 'contact' as const)),
  rights: fc.uniqueArray(fc.constantFrom(...rightNames), { minLength: 1, maxLength: 2 }),
  tags: fc.option(fc.record({ all: tags, any: tags, not: tags }), { freq: 2 }),
  when: fc.constantFrom('always', 'always', 'always', 'ended', 'not_yet', 'now'),
  pools: fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 2 }) },
  ),
  active: fc.constantFrom(true, true, true, false),
  sticky: fc.boolean(),
  preset: fc.option(fc.nat(1), { freq: 2 }),
})
const acl = fc.array(someGrant, { maxLength: 3 })
/** Pools are made in their order, each below one before it or below the root. */
const somePools: fc.Arbitrary<Pool[]> = fc.array(
  fc.record({ parent: fc.integer({ min: -1, max: 3 }), privateAcl: fc.boolean(), contact: fc.nat(2), acl }),
  { minLength: 4, maxLength: 4 },
)
const someWorks: fc.Arbitrary<Work[]> = fc.array(
  fc.record({
    pool: fc.nat(3),
    owner: fc.integer({ min: -1, max: 2 }),
    tags: fc.uniqueArray(fc.nat(1)),
    acl,
    privateAcl: fc.nat(3).map((n) => n === 3),
  }),
  { minLength: 12, maxLength: 12 },
)

describe('grants over HTTP agree with the rules read one by one', () => {
  let svc: TestService
  let root: Client
  let ids: { users: number[]; groups: number[]; tags: number[]; presets: number[] }

  const ok = (answer: Answer): Json => {
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }

  before(async () => {
    svc = await startService()
    root = svc.as('root')
    await commitModel(svc, museum())
    const made = await Promise.all(
      groups.map(async (n) => ok(await root.post('/group', [{ group: { name: `g${n}` } }]))[0].group._id as number),
    )
    const inGroups = (user: number) =>
      groups.flatMap((n, at) => (members[n]?.includes(user) ? [{ _basetype: 'group', group: { _id: made[at] } }] : []))
    const wire = Array.from({ length: users }, (_, n) => ({
      user: { login: `u${n}` },
      _password: `u${n}`,
      _groups: inGroups(n),
    }))
    const saved = ok(await root.post('/user', wire, { confirm: 'ignore_password_requirements' }))
    const group = { taggroup: { displayname: { 'en-US': 'State' }, type: 'checkbox' } }
    const names = ['one', 'two'].map((name) => ({ displayname: { 'en-US': name } }))
    const [{ _tags }] = ok(await root.post('/tags', [{ ...group, _tags: names }]))
    const terms = presets.map((names) => ({
      right_preset: { preset: { rights: Object.fromEntries(names.map((name) => [name, {}])) } },
    }))
    const stored = ok(await root.post('/right/object/presets', terms))
    ids = {
      users: saved.map((one: Json) => one.user._id),
      groups: made,
      tags: _tags.map((tag: Json) => tag._id),
      presets: stored.map((one: Json) => one.right_preset._id),
    }
  })
  after(() => svc[Symbol.asyncDispose]())

  const toWho = (who: Grant['who']): object => {
    if (who === 'owner') return { _owner: true }
    if (who === 'contact') return { _pool_contact: true }
    return who < users
      ? { _basetype: 'user', user: { _id: ids.users[who] } }
      : { _basetype: 'group', group: { _id: ids.groups[who - users] } }
  }

  const toWire = (grant: Grant, onObject: boolean, poolIds: readonly number[]): object => {
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const when = { always: {}, ended: { to: at(-1) }, not_yet: { from: at(1) }, now: { from: at(-1), to: at(1) } }[
      grant.when
    ]
    const tagsOf = (list: readonly number[]) => list.map((tag) => ids.tags[tag])
    const filter = grant.tags && {
      all: tagsOf(grant.tags.all),
      any: tagsOf(grant.tags.any),
      not: tagsOf(grant.tags.not),
    }
    const more = { who: toWho(grant.who), active: grant.active, when }
    if (onObject && grant.preset !== null) return { ...more, rights: {}, _right_preset: ids.presets[grant.preset] }
    const limit = grant.pools === null ? {} : { pool_ids: grant.pools.map((index) => poolIds[index]) }
    const rights = Object.fromEntries(grant.rights.map((name) => [name, limit]))
    return { ...more, rights, ...(filter ? { tagfilter: filter } : {}), ...(onObject ? {} : { sticky: grant.sticky }) }
  }

  /** The rules, without anything of the service. */
  function holds(right: Right, user: number, work: Work, pools: readonly Pool[]): boolean {
    if (work.owner === user) return true
    const pool = pools[work.pool] as Pool
    const gives = (grant: Grant, onObject: boolean): boolean => {
      const preset = onObject && grant.preset !== null ? presets[grant.preset] : undefined
      if (!(preset ?? grant.rights).includes(right)) return false
      if (!grant.active || grant.when === 'ended' || grant.when === 'not_yet') return false
      const { who } = grant
      // Owners have come before.
      if (who === 'owner') return false
      if (who === 'contact' ? pool.contact !== user : who < users ? who !== user : !members[who]?.includes(user))
        return false
      if (!preset && grant.pools && !grant.pools.includes(work.pool)) return false
      if (preset || !grant.tags) return true
      const { all, any, not } = grant.tags
      const has = (tag: number) => work.tags.includes(tag)
      return all.every(has) && (any.length === 0 || any.some(has)) && !not.some(has)
    }
    if (work.acl.some((grant) => gives(grant, true))) return true
    let stickyOnly = work.privateAcl
    for (let at = work.pool; at >= 0; ) {
      const one = pools[at] as Pool
      if (one.acl.some((grant) => (!stickyOnly || grant.sticky) && gives(grant, false))) return true
      stickyOnly ||= one.privateAcl
      at = one.parent
    }
    return false
  }

  let round = 0
  /** Answers of the rules, so that neither is always yes or no. */
  const seen: Record<Right, boolean[]> = { read: [], write: [], delete: [] }

  async function build(drafts: readonly Pool[], works: readonly Work[]) {
    round++
    // A parent is made before its children.
    const pools = drafts.map((pool, index) => ({ ...pool, parent: Math.min(pool.parent, index - 1) }))
    const poolIds: number[] = []
    for (const [index, pool] of pools.entries()) {
      const parent = pool.parent < 0 ? 1 : (poolIds[pool.parent] as number)
      const contact = { _basetype: 'user', user: { _id: ids.users[pool.contact] } }
      const entry = {
        pool: { _id_parent: parent, name: { 'en-US': `pool ${round}.${index}` }, contact },
        _private_acl: pool.privateAcl,
      }
      poolIds.push(ok(await root.post('/pool', [entry]))[0].pool._id)
    }
    // Grants can name pools that are made later.
    const given = ok(await root.get('/pool', { limit: 1000 })).flatMap(({ pool }: Json) => {
      const index = poolIds.indexOf(pool._id)
      if (index < 0) return []
      const _acl = pools[index]?.acl.map((grant) => toWire(grant, false, poolIds))
      return { pool: { _id: pool._id, _version: pool._version }, _acl }
    })
    ok(await root.post('/pool', given))
    const entries = works.map((work, index) =>
      payload(
        'work',
        { title: { 'en-US': `work ${round}.${index}` }, inventory: `R${round}${String(index).padStart(2, '0')}` },
        {
          ...inPool(poolIds[work.pool] as number),
          _tags: work.tags.map((tag) => ({ _id: ids.tags[tag] })),
          _acl: work.acl.map((grant) => toWire(grant, true, poolIds)),
          _private_acl: work.privateAcl,
          ...(work.owner < 0 ? {} : { _owner: { _basetype: 'user', user: { _id: ids.users[work.owner] } } }),
        },
      ),
    )
    const saved = ok(await root.post('/db/work', entries, { format: 'short', await_index: 60 }))
    return { pools, works: saved.map((one: Json) => one._system_object_id) as number[] }
  }

  async function check(drafts: readonly Pool[], works: readonly Work[]): Promise<void> {
    const { pools, works: made } = await build(drafts, works)
    for (let user = 0; user < users; user++) {
      const client = svc.as(`u${user}`)
      const may = (right: Right) => made.filter((_, index) => holds(right, user, works[index] as Work, pools))
      const told = await Promise.all(
        made.map(async (id) =>
          ok(await root.get('/right/explain', { user: ids.users[user] as number, system_object_id: id })),
        ),
      )
      for (const right of rightNames) {
        seen[right].push(...made.map((id) => may(right).includes(id)))
        const explained = made.filter((_, index) => told[index].rights.find(({ name }: Json) => name === right).holds)
        assert.deepEqual(explained, may(right), `${right} of user ${user}`)
      }
      const readable = may('read')
      const only = (all: number[]) => all.filter((id) => made.includes(id)).sort((a, b) => a - b)
      const list = ok(await client.get('/db/work/work__title_only/list', { format: 'short', limit: 1000 }))
      assert.deepEqual(only(list.map((one: Json) => one._system_object_id)), readable)
      const found = ok(
        await client.post('/search', {
          objecttypes: ['work'],
          format: 'short',
          limit: 1000,
          search: [{ type: 'text', fields: ['work.inventory'], string: `R${round}*`, mode: 'wildcard' }],
          aggregations: { inventories: { type: 'term', field: 'work.inventory', limit: 1000 } },
        }),
      )
      assert.deepEqual(only(found.objects.map((one: Json) => one._system_object_id)), readable)
      assert.equal(found.count, readable.length)
      const numbers = readable.map((id) => `R${round}${String(made.indexOf(id)).padStart(2, '0')}`)
      const terms = found.aggregations.inventories.terms.map(({ term, count }: Json) => [term, count])
      assert.deepEqual(
        terms.sort(),
        numbers.map((number) => [number, 1]),
      )
      await checkRequests(client, made, may)
    }
  }

  /** What requests do: reads, and saves and deletions that are not carried out. */
  async function checkRequests(
    client: Client,
    made: readonly number[],
    may: (right: Right) => number[],
  ): Promise<void> {
    const [reads, writes, deletes] = rightNames.map((right) => new Set(may(right))) as [
      Set<number>,
      Set<number>,
      Set<number>,
    ]
    for (const id of made) {
      const [seen] = ok(await client.get(`/db/work/work__title_only/system_object_id/${id}`))
      assert.equal(seen !== undefined, reads.has(id))
      const [{ work: block }] = ok(await root.get(`/db/work/_all_fields/system_object_id/${id}`, { format: 'short' }))
      const change = { _objecttype: 'work', _mask: 'work__title_only', work: { ...block, title: { 'en-US': 'new' } } }
      const saved = await client.post('/db/work', [change], { dry_run: true })
      if (reads.has(id)) assert.equal(saved.status === 200, writes.has(id), JSON.stringify(saved.body))
      else if (!writes.has(id)) assert.notEqual(saved.status, 200)
      const query = { dry_run: true, delete_policy: 'remove' }
      const gone = await client.delete('/db/work', [[block._id, block._version, null]], query)
      if (reads.has(id)) assert.equal(gone.status === 200, deletes.has(id), JSON.stringify(gone.body))
      else if (!deletes.has(id)) assert.notEqual(gone.status, 200)
    }
  }

  test('for random pools, objects, users, tags, presets and times', async () => {
    const worlds = fc.sample(fc.tuple(somePools, someWorks), { numRuns: 4, seed: 20_261_122 })
    for (const [pools, works] of worlds) await check(pools, works)
    for (const right of rightNames) {
      const share = seen[right].filter(Boolean).length / seen[right].length
      assert.ok(share > 0.2 && share < 0.8, `${right}: ${share}`)
    }
  })
})
