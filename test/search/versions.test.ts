import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { payload } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { text } from './support.ts'

let old: TestService
before(async () => {
  old = await startService({ icu: '77.1' })
  await commitModel(old, defineModel({ note: { columns: { mark: 'text_oneline' } } }))
  await save(old, 'first')
  await old.drain()
})
after(() => old[Symbol.asyncDispose]())

async function save(svc: TestService, mark: string): Promise<void> {
  const answer = await svc.as('root').post('/db/note', [payload('note', { mark })])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

async function isFound(svc: TestService, mark: string): Promise<boolean> {
  const { body } = await svc.as('root').post('/search', { search: [text(mark)], limit: 0 })
  return body.count === 1
}

/** How often all objects were queued while something was done. */
async function requeued(work: () => Promise<void>): Promise<number> {
  let count = 0
  const stop = onStatement((statement) => {
    if (statement.includes('update search_state set analysis')) count++
  })
  try {
    await work()
  } finally {
    stop()
  }
  return count
}

test('beside a process of a newer release all is indexed anew once, by that one, and the older one saves on', async () => {
  const times = await requeued(async () => {
    await using newer = await attachService(old.dsn, { icu: '78.1' })
    await newer.drain()
    for (let n = 0; n < 5; n++) {
      await save(old, `old${n}`)
      await until(() => isFound(old, `old${n}`))
      await save(newer, `new${n}`)
      await until(() => isFound(newer, `new${n}`))
    }
    await Promise.all([old.drain(), newer.drain()])
  })
  assert.equal(times, 1)
})

test('when the newer process is gone for good, the older one indexes again', async () => {
  const times = await requeued(async () => {
    await save(old, 'later')
    await until(() => isFound(old, 'later'))
    await old.drain()
  })
  assert.equal(times, 1)
})
