import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { Json } from '../support/client.ts'
import { draws, maskedScene } from '../support/hidden/others.ts'
import { callers } from '../support/hidden/scene.ts'
import { startWorld } from '../support/hidden/twins.ts'
import { type Compared, createComparingIndex } from './memory/compare.ts'
import { someRequest, someThroughLinks } from './requests.ts'

const requests = Number(process.env.ENGINE_REQUESTS ?? 40)

test('random searches of random objects find, order and count the same in PostgreSQL and in memory', async () => {
  const compared: Compared = { plans: 0, differences: [] }
  /** Rights are asked of the index, until it is known which sets of them there are. */
  const ways = { lexemes: 0, sets: 0 }
  using _ = whileListening((text) => {
    if (/d\.access_set (?:= any|between)/.test(text)) ways.sets++
    else if (text.includes('from search_document d where')) ways.lexemes++
  })
  await using world = await startWorld(maskedScene(), { service: { searchIndex: createComparingIndex(compared) } })
  for (const [index, login] of ['root', ...callers].entries()) {
    for (const request of draws(someRequest(world, { subsearches: true }), requests, 200 + index)) {
      const { status, body } = await world.svc.as(login).post('/search', { ...request, format: 'short' })
      const sent = `${login}: ${JSON.stringify(request)}`
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.deepEqual(
        compared.differences.map(({ message }) => message),
        [],
        sent,
      )
    }
  }
  assert.ok(compared.plans > 4 * requests, `${compared.plans} compared`)
  assert.ok(ways.lexemes > 0 && ways.sets > 0, JSON.stringify(ways))
})

test('what columns in memory say of random searches is what another engine finds', async () => {
  const compared: Compared = { plans: 0, differences: [] }
  let inMemory = 0
  using _ = whileListening((text) => {
    if (/from search_document d where d\.id = any/.test(text)) inMemory++
  })
  const aggregations = { pool: { type: 'linked_object', field: '_pool' }, tags: { type: 'term', field: '_tags._id' } }
  const searchIndex = createComparingIndex(compared, { again: true })
  await using world = await startWorld(maskedScene(), { service: { searchIndex } })
  for (const [index, login] of ['root', ...callers].entries()) {
    for (const request of draws(someRequest(world, { subsearches: false }), requests, 400 + index)) {
      const { objecttypes = ['work'], sort = [{ field: '_last_modified' }], search = [] } = request as Json
      const asked = { ...request, objecttypes: objecttypes.slice(0, 1), sort, search: search.slice(0, 1), aggregations }
      const { status, body } = await world.svc.as(login).post('/search', { ...asked, format: 'short' })
      const sent = `${login}: ${JSON.stringify(asked)}`
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.deepEqual(
        compared.differences.map(({ message }) => message),
        [],
        sent,
      )
    }
  }
  assert.ok(inMemory > requests / 4, `${inMemory} of ${compared.plans} in memory`)
})

test('conditions through links find the same by joins', async () => {
  const compared: Compared = { plans: 0, differences: [] }
  const searchIndex = createComparingIndex(compared, { joins: true })
  let joined = 0
  using _ = whileListening((text) => {
    if (/ in \(select link\.from_id/.test(text)) joined++
  })
  await using world = await startWorld(maskedScene(), { service: { searchIndex } })
  for (const [index, login] of ['root', ...callers].entries()) {
    for (const request of draws(someRequest(world, { subsearches: true }), requests, 800 + index)) {
      const { status, body } = await world.svc.as(login).post('/search', { ...request, format: 'short' })
      const sent = `${login}: ${JSON.stringify(request)}`
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.deepEqual(
        compared.differences.map(({ message }) => message),
        [],
        sent,
      )
    }
  }
  assert.ok(joined > requests / 4, `${joined} of ${compared.plans} by joins`)
})

test('orders and facets through links, forth and back, are the same from columns in memory', async () => {
  const compared: Compared = { plans: 0, differences: [] }
  const ways = { forth: 0, back: 0 }
  using _ = whileListening((text) => {
    if (/dense_rank\(\) over \(order by key/.test(text)) ways.forth++
    if (/\(dense_rank\(\) over \(order by [^k]/.test(text)) ways.back++
  })
  const searchIndex = createComparingIndex(compared, { again: true })
  await using world = await startWorld(maskedScene(), { service: { searchIndex } })
  for (const [index, login] of ['root', ...callers].entries()) {
    for (const request of draws(someThroughLinks, requests, 600 + index)) {
      const { status, body } = await world.svc.as(login).post('/search', { ...request, format: 'short' })
      const sent = `${login}: ${JSON.stringify(request)}`
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.deepEqual(
        compared.differences.map(({ message }) => message),
        [],
        sent,
      )
    }
  }
  assert.ok(ways.forth > 0 && ways.back > 0, JSON.stringify(ways))
})

function whileListening(listener: (text: string) => void): Disposable {
  return { [Symbol.dispose]: onStatement(listener) }
}
