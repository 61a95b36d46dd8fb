/**
 * `node test/support/without-each.ts FILE '["KEY", …]'`: runs a test file once for each of the keys
 * (test/system/effects.walk.ts), without the parameter or field; an empty key takes nothing out. Whoever passes then
 * does not show its effect. One process for all of them: loading the service takes longer than most tests. Made for
 * scripts/effects.ts.
 */
import { resolve } from 'node:path'
import { after, afterEach, before, beforeEach, suite } from 'node:test'
import './left-running.ts'
import { takenOut } from './without.ts'

const [file = '', keys = '[]'] = process.argv.slice(2)

for (const [index, key] of (JSON.parse(keys) as string[]).entries()) {
  suite(key || 'as it is', async () => {
    let failed = false
    let begun = 0
    before(() => {
      process.env.TEST_WITHOUT = key
      begun = takenOut()
    })
    // One failure is enough.
    beforeEach(() => {
      if (failed) throw new Error('it shows the effect already')
    })
    afterEach((context) => {
      if ('passed' in context && !context.passed) failed = true
    })
    after(() => {
      if (takenOut() === begun) console.log(`# no request of ${file} has ${key}`)
    })
    await import(`${resolve(file)}?without=${index}`)
  })
}
