import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fuzz } from '../../fuzz/campaign.ts'

/** Four of each operation, the fewest behind which the growth of the memory is judged; `npm run fuzz -- --requests 1000000` goes further. */
const requests = 1000

test('changed requests of every endpoint are carried out or refused: nothing fails, leaks, lags or is changed by a refusal', async (t) => {
  const report = await fuzz({
    requests,
    seed: 20261121,
    epoch: requests,
    holders: 200,
    // Another test may have the processor.
    slow: 20_000,
    turn: 500,
    growth: 250e6,
    // So many are sent however slow the machine is just now: a part of them would prove less.
    seconds: 170,
    say: (line) => t.diagnostic(line),
  })
  const file = join(import.meta.dirname, '..', '..', 'src', 'system', 'openapi', 'examples.json')
  const recorded = JSON.parse(await readFile(file, 'utf8'))
  // One by one, so that what differs is told and not only that all together do.
  for (const [operationId, example] of Object.entries(report.examples))
    assert.deepEqual(
      example,
      recorded[operationId],
      `the example of ${operationId} is not that of today: node scripts/examples.ts`,
    )
  assert.deepEqual(Object.keys(report.examples), Object.keys(recorded))
  assert.deepEqual(report.findings, [])
  // Were all refused for one reason, they would show nothing.
  assert.ok(report.carriedOut > report.requests / 10, `${report.carriedOut} of ${report.requests} were carried out`)
})
