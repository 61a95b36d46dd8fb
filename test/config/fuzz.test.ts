import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
let document: Json
before(async () => {
  svc = await startService()
  const webhooks = [{ name: 'a', url: 'https://a.org/', secret: 's' }]
  await svc.as('root').post('/config/system/config/transition_webhook/webhooks', webhooks)
  document = (await svc.as('root').get('/config')).body
})
after(() => svc[Symbol.asyncDispose]())

async function stored(): Promise<unknown> {
  return (await svc.db.query('select section, value from base_config order by section')).rows
}

test('hostile values at any place of the document never make a 500 and store nothing', async () => {
  await fc.assert(
    fc.asyncProperty(mutated(document), async (body) => {
      const before = await stored()
      const answer = await svc.as('root').post('/config', body)
      assert.ok(
        answer.status === 200 || answer.status === 400,
        `${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`,
      )
      if (answer.status === 400) assert.deepEqual(await stored(), before)
      else assert.deepEqual((await svc.as('root').get('/config')).body, answer.body)
      await svc.as('root').post('/config', document)
    }),
    { numRuns: 150 },
  )
})

test('a section whose name cannot be stored is refused, and the refusal is logged', async () => {
  const answer = await svc.as('root').post('/config', { system: { 'a\0b': { title: 'x' } } })
  assert.deepEqual([answer.status, answer.body.code], [400, 'ServerGeneric'])
  const { rows } = await svc.db.query<{ text: string }>(
    `select info->>'Error' as text from event where type = 'BASE_CONFIG_ERROR' order by id desc limit 1`,
  )
  assert.ok(rows[0]?.text.includes('\ufffd'), JSON.stringify(rows))
})

test('hostile paths and values never make a 500', async () => {
  const names = [
    'system',
    'config',
    'plugin',
    'languages',
    'database',
    '0',
    'oauth2',
    'clients',
    'constructor',
    '__proto__',
    '*',
  ]
  const step = fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'binary', maxLength: 8 }))
  const method = fc.constantFrom('get' as const, 'post' as const, 'delete' as const)
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), method, hostileValue, async (steps, verb, value) => {
      const path = `/config/${steps.map((text) => encodeURIComponent(text.toWellFormed())).join('/')}`
      const client = svc.as('root')
      const answer = await (verb === 'post' ? client.post(path, value) : client[verb](path))
      assert.ok(answer.status < 500, `${verb} ${path} ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`)
    }),
    { numRuns: 200 },
  )
})
