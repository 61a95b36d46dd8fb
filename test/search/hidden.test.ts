import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type Knowledge, knowledgeOf, withOthers } from '../support/hidden/knowledge.ts'
import { draws, maskedScene, otherThings } from '../support/hidden/others.ts'
import { callers } from '../support/hidden/scene.ts'
import { comparable, startWorld, type World } from '../support/hidden/twins.ts'
import { someRequest } from './requests.ts'

/**
 * What a caller may not know changes no answer. Two services hold the same objects, with other values wherever the
 * caller knows none, and must answer random searches alike. Then the values are cleared, and root, who sees everything
 * that is left, must find what the caller finds: the caller's search uses all that they know, and nothing else.
 */
const requests = Number(process.env.HIDDEN_REQUESTS ?? 40)
const scene = maskedScene()

test('what is hidden from a caller shows in no answer to a search', { timeout: 600_000 }, async (t) => {
  const [one, two] = await Promise.all([startWorld(scene), startWorld(scene)])
  await using both = new AsyncDisposableStack()
  both.use(one)
  both.use(two)
  assert.deepEqual(one.ids, two.ids)
  for (const [index, login] of callers.entries()) {
    const knowledge = knowledgeOf(scene, index)
    await t.test(`${login}: other hidden values, same answers`, async () => {
      // Both are saved, so that their versions are the same.
      await Promise.all([one.rewrite(scene.things), two.rewrite(otherThings(scene, knowledge, index))])
      for (const request of draws(someRequest(one, { subsearches: true, more: true }), requests, index)) {
        const [a, b] = await Promise.all([one, two].map(({ svc }) => svc.as(login).post('/search', request)))
        const sent = JSON.stringify(request)
        assert.equal(a?.status, 200, `${sent} ${JSON.stringify(a?.body)}`)
        assert.deepEqual(comparable(a?.body), comparable(b?.body), sent)
      }
    })
    await t.test(`${login}: finds what root finds where all that is hidden is gone`, async () => {
      const cleared = withOthers(
        scene,
        knowledge,
        () => undefined,
        () => [],
      ).map((thing, n) => ({
        ...thing,
        parents: knowledge.mayKnowPlace(n) ? thing.parents : [],
      }))
      await Promise.all([one.rewrite(scene.things), two.rewrite(cleared)])
      // Where no mask may be used a link shows the title, but nothing shows system fields: root sees all of it or none.
      const titlesApart = scene.things.some((_, n) => knowledge.isTitleMasked(n))
      for (const request of draws(someRequest(one, { subsearches: false, more: true }), requests, 100 + index)) {
        // A boolean that root sees cleared is false; one that is hidden is neither.
        if (JSON.stringify(request).includes('work.signed')) continue
        if (titlesApart && apart.test(JSON.stringify(request))) continue
        await assertFindsAlike(one, two, login, knowledge, request)
      }
    })
  }
})

const apart = /_fulltext|_standard|\.name|\.title|"_(tags|pool|owner)|changelog/

async function assertFindsAlike(
  one: World,
  two: World,
  login: string,
  knowledge: Knowledge,
  request: Record<string, unknown> & { search: object[] },
): Promise<void> {
  const plain = { ...request, format: 'short', limit: 200, aggregations: comparableFacets(request.aggregations) }
  const readable = two.ids.filter((_, index) => knowledge.mayRead(index))
  const only = { type: 'in', fields: ['_system_object_id'], in: readable }
  const [mine, all] = await Promise.all([
    one.svc.as(login).post('/search', plain),
    two.svc.as('root').post('/search', { ...plain, search: [...request.search, only] }),
  ])
  const sent = JSON.stringify(request)
  assert.equal(mine.status, 200, `${sent} ${JSON.stringify(mine.body)}`)
  assert.equal(all.status, 200, `${sent} ${JSON.stringify(all.body)}`)
  const found = ({ body }: typeof mine) => body.objects.map((object: Json) => object._system_object_id).sort()
  assert.deepEqual(found(mine), found(all), sent)
  assert.deepEqual(facetsOf(mine.body), facetsOf(all.body), sent)
}

/** Names of what is counted are for its readers alone, so counts are compared by id. */
function comparableFacets(aggregations: unknown): unknown {
  return Object.fromEntries(
    Object.entries(aggregations as Record<string, Json>).flatMap(([name, each]) => {
      const plain = each.include === undefined && each.filter_parent === undefined && !each.field.startsWith('_pool')
      return plain ? [[name, each.ranges ? each : { ...each, sort: 'count' }]] : []
    }),
  )
}

function facetsOf(body: Json): unknown {
  return Object.values<Json>(body.aggregations ?? {}).map(({ terms, linked_objects, ranges }) => [
    terms,
    linked_objects?.map((each: Json) => [each._system_object_id, each.count]),
    ranges,
  ])
}
