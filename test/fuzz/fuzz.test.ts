import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fuzz } from '../../fuzz/campaign.ts'

/** What runs for a minute on two slow cores; `npm run fuzz -- --requests 1000000` goes further. */
const requests = 2000

test('changed requests of every endpoint are carried out or refused: nothing fails, leaks, lags or is changed by a refusal', async (t) => {
  const report = await fuzz({
    requests,
    seed: 20261121,
    epoch: requests,
    // Another test may have the processor.
    slow: 20_000,
    growth: 250e6,
    seconds: 45,
    say: (line) => t.diagnostic(line),
  })
  const file = join(import.meta.dirname, '..', '..', 'src', 'system', 'openapi', 'examples.json')
  const recorded = JSON.parse(await readFile(file, 'utf8'))
  assert.deepEqual(report.examples, recorded, 'the examples are not those of today: node scripts/examples.ts')
  assert.deepEqual(report.findings, [])
  // Were all refused for one reason, they would show nothing.
  assert.ok(report.carriedOut > report.requests / 10, `${report.carriedOut} of ${report.requests} were carried out`)
})
