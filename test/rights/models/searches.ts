import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import { combined, type Drawing, drawMembers, wireOf } from './elements.ts'
import { drawFacet } from './facets.ts'
import { drawSort } from './order.ts'
import { type Asking, plain } from './reads.ts'
import { seenOf } from './seen.ts'
import { createShow, type FormatName, formatNames } from './shown.ts'
import { poolsAbove } from './values.ts'

/** Searches: what is found, counted, in which order, and what is shown of it. */
export async function askSearches(asking: Asking, count: number): Promise<void> {
  await askPoolsBelow(asking)
  for (let n = 0; n < count; n++) await askSearch(asking, n)
}

/** What lies in or below each pool: of the pools below it some may not be known to the caller. */
async function askPoolsBelow({ client, knowledge, names, who, world }: Asking): Promise<void> {
  const objecttypes = world.types.map(({ name }) => name)
  for (const [pool, id] of names.pools.entries()) {
    const search = [{ type: 'in', fields: ['_pool'], in: [id], include_path: true }]
    const what = `${who} searches what lies below the pool ${id}`
    const { status, body } = await client.post('/search', { objecttypes, search, limit: 1000, format: 'short' })
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    const below = world.things.filter(({ index, pool: own, trashed }) => {
      if (own === null || trashed || !knowledge.sees(index) || !knowledge.knowsSystem(index, 'pool')) return false
      return own === pool || (knowledge.knowsPool(own) && poolsAbove(world, own).includes(pool))
    })
    const found = body.objects.map((object: Json) => object._system_object_id)
    assert.deepEqual(found.sort(byNumber), below.map(({ index }) => names.ids[index] as number).sort(byNumber), what)
  }
}

async function askSearch(asking: Asking, n: number): Promise<void> {
  const { world, names, knowledge, pick, client, who, heard } = asking
  const { show } = createShow(asking)
  const types = pick([[pick(world.types)], [pick(world.types)], world.types])
  const drawing: Drawing = { ...asking, types }
  const members = drawMembers(drawing, [0, 1, 1, 1, 2, 3])
  const facets = Array.from({ length: pick([0, 1, 2]) }, () => drawFacet(drawing))
  const sort = drawSort(drawing)
  const format = pick<FormatName>(['short', 'standard', pick(formatNames)])
  const trash = pick([false, false, true])
  const request = {
    objecttypes: types.map(({ name }) => name),
    search: members.map(wireOf),
    limit: 1000,
    format,
    ...(trash ? { include_deleted: true } : {}),
    ...(sort ? { sort: sort.wire } : {}),
    aggregations: Object.fromEntries(facets.map(({ wire }, at) => [`a${at}`, wire])),
  }
  const what = `${who} searches (${n}) ${JSON.stringify(request)}`
  const { status, body } = await client.post(
    '/search',
    pick([true, false]) ? request : { ...request, point_in_time: {} },
  )
  assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
  heard(body, what)
  if (body.point_in_time) await askPages(asking, request, body, what)
  const expected = world.things.filter(
    (thing) =>
      types.includes(thing.type) &&
      knowledge.sees(thing.index) &&
      (trash || !thing.trashed) &&
      combined(members, thing),
  )
  const ids = expected.map(({ index }) => names.ids[index] as number)
  const found = body.objects.map((object: Json) => object._system_object_id)
  assert.deepEqual([...found].sort(byNumber), [...ids].sort(byNumber), what)
  assert.equal(body.count, expected.length, what)
  if (sort) sort.check(expected, body.objects, what)
  for (const [at, facet] of facets.entries()) facet.check(expected, body.aggregations[`a${at}`], what)
  const options = { format, merge: 'none', depth: 1, skipBelow: false } as const
  for (const { index } of expected) {
    const [best = null] = knowledge.masks(index)
    const hit = body.objects.find((object: Json) => object._system_object_id === names.ids[index])
    assert.deepEqual(plain(seenOf(hit, world)), plain(show(index, best, options)), what)
  }
}

const byNumber = (a: number, b: number): number => a - b

/** The pages of a point in time are those of the search that opened it. */
async function askPages({ client, world }: Asking, { aggregations: _, ...request }: Json, first: Json, what: string) {
  const { id } = first.point_in_time
  const limit = Math.ceil(first.count / 2) || 1
  const pages = [0, limit].map(async (offset) => {
    const { status, body } = await client.post('/search', { ...request, limit, offset, point_in_time: { id } })
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    assert.equal(body.count, first.count, what)
    return body.objects
  })
  const shown = (hit: Json) => [hit._system_object_id, hit._score, hit._sort, plain(seenOf(hit, world))]
  assert.deepEqual((await Promise.all(pages)).flat().map(shown), first.objects.map(shown), what)
  assert.equal((await client.delete('/search/point_in_time', { pit_id: [id] })).status, 200, what)
}
