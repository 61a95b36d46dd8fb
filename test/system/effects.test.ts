import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { startService, type TestService } from '../support/service.ts'
import { readTests } from './effects.candidates.ts'
import { settable } from './effects.walk.ts'

/** What the specification lets pass without any effect. */
const ignored = ['ObjecttypeInput.objecttype.standard_numbering', 'TransitionInput._set_by']

/**
 * Decision 26: what is known has its effect or is refused. Here only is seen that tests mention each query parameter and each
 * field of a body at all; `node scripts/effects.ts` takes them out of the requests of these tests and sees whether one fails.
 */
suite('nothing is accepted in vain', () => {
  let svc: TestService
  let known: ReturnType<typeof settable>
  before(async () => {
    svc = await startService()
    known = settable((await svc.as(null).get('/system/openapi/spec.json')).body)
  })
  after(() => svc[Symbol.asyncDispose]())

  test('a test of the endpoint mentions every parameter and field that is neither refused nor always on', async () => {
    assert.ok(known.size > 1000)
    const tests = await readTests()
    const silent = [...known].flatMap(([key, { name, refused, always }]) =>
      refused || always || ignored.includes(key) || tests.candidates(key, name).length > 0 ? [] : [key],
    )
    assert.deepEqual(silent, [])
  })

  test('what is ignored is still there to be sent', () => {
    assert.deepEqual(
      ignored.filter((key) => !known.has(key)),
      [],
    )
  })
})
