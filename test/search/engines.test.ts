import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onStatement } from '../../src/platform/db.ts'
import { draws, maskedScene } from '../support/hidden/others.ts'
import { callers } from '../support/hidden/scene.ts'
import { startWorld } from '../support/hidden/twins.ts'
import { type Compared, createComparingIndex } from './memory/compare.ts'
import { someRequest } from './requests.ts'

const requests = Number(process.env.ENGINE_REQUESTS ?? 40)

test('random searches of random objects find, order and count the same in PostgreSQL and in memory', async () => {
  const compared: Compared = { plans: 0, differences: [] }
  /** Rights are asked of the index, until it is known which sets of them there are. */
  const ways = { lexemes: 0, sets: 0 }
  using _ = whileListening((text) => {
    if (text.includes('d.access_set = any')) ways.sets++
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

function whileListening(listener: (text: string) => void): Disposable {
  return { [Symbol.dispose]: onStatement(listener) }
}
