import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Answer } from '../support/client.ts'
import { hostileValue, mutated } from '../support/hostile.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  svc = await startService()
  // Signing in is an event too.
  await svc.as('root').token()
})
after(() => svc[Symbol.asyncDispose]())

const valid = {
  _basetype: 'event',
  event: {
    type: 'SEARCH',
    object_id: 1,
    object_version: 2,
    system_object_id: 3,
    global_object_id: '3@x',
    schema: 'user',
    basetype: 'artwork',
    objecttype: 'artwork',
    timestamp: '2020-01-01T00:00:00Z',
    remote_addr: '192.0.2.1',
    user_generated_displayname: 'Ada',
    info: { text: 'x', list: [1, { a: null }] },
  },
  user: {
    _basetype: 'user',
    user: { _id: 1, 'lookup:_id': { reference: 'system:root' }, _generated_displayname: 'R' },
  },
}

async function stored(): Promise<number> {
  const { rows } = await svc.db.query<{ count: number }>('select count(*) as count from event')
  return rows[0]?.count ?? 0
}

/** Either it is done, or it is refused with a code, and then nothing is stored. */
async function expectDecided(answer: Answer, before: number, added: number): Promise<void> {
  if (answer.status === 200) return assert.equal(await stored(), before + added)
  assert.ok(answer.status >= 400 && answer.status < 500, `${answer.status} ${JSON.stringify(answer.body)}`)
  assert.equal(typeof answer.body.code, 'string')
  assert.equal(await stored(), before)
}

test('a hostile value anywhere in an event is stored or refused, never an internal error', async () => {
  await fc.assert(
    fc.asyncProperty(mutated(valid), fc.boolean(), async (body, skip) => {
      const before = await stored()
      await expectDecided(await svc.as('root').post('/event', body, { skip_constraints: skip }), before, 1)
    }),
    { numRuns: 300 },
  )
})

test('one hostile event refuses the whole list', async () => {
  await fc.assert(
    fc.asyncProperty(mutated([valid, valid, valid]), async (body) => {
      const before = await stored()
      const added = Array.isArray(body) ? body.length : 0
      await expectDecided(await svc.as('root').post('/event/list', body, { skip_constraints: 1 }), before, added)
    }),
    { numRuns: 200 },
  )
})

test('hostile query strings are answered or refused', async () => {
  const names = [
    'id',
    'type',
    'pollable',
    'user_id',
    'group_id',
    'user_type',
    'object_id',
    'date_from',
    'date_to',
    'sort',
  ]
  const more = ['offset', 'limit', 'format', 'pretty', 'csv_delimiter', 'csv_quote', 'csv_escape', 'csv_explode']
  const name = fc.constantFrom(...names, ...more, 'csv_max_length', 'csv_explode_array_concat', 'cvs_use_bom')
  const value = hostileValue.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)).slice(0, 5000))
  await fc.assert(
    fc.asyncProperty(fc.dictionary(name, value, { maxKeys: 3 }), fc.boolean(), async (query, csv) => {
      const answer = await svc.as('root').get('/event/list', { ...(csv ? { format: 'csv' } : {}), ...query })
      assert.ok(answer.status < 500, `${answer.status} ${JSON.stringify(query)} ${JSON.stringify(answer.body)}`)
    }),
    { numRuns: 400 },
  )
})

test('hostile paths are refused', async () => {
  for (const id of ['-1', '1.5', 'x', '9'.repeat(30), '%00', '1e400', '']) {
    for (const path of [`/event/${id}`, `/event/poll/${id}`]) {
      const { status } = await svc.as('root').get(path)
      assert.ok(status >= 400 && status < 500, `${path} ${status}`)
    }
  }
})
