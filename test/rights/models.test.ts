import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { askAll, type Tally } from './models/ask.ts'
import { type House, roomIn } from './models/house.ts'
import { rawWorld } from './models/raw.ts'
import { worldOf } from './models/world.ts'

/**
 * Random datamodels with random masks, pools, tags, grants, links and callers. Whatever answers anything about objects is
 * asked as each caller, and compared with what a naive reading of the rules says of them (models/knowledge.ts, and for what
 * is shown, found and tried models/shown.ts, elements.ts, facets.ts, order.ts, others.ts, writes.ts). Besides, words that
 * stand in one place only may be told to nobody who does not know that place (models/marks.ts).
 *
 * `MODELS_RUNS` draws more worlds, `PROPERTY_SEED` others; `MODELS_SHRINK=1` looks for the smallest one that fails.
 */
const { seed: usual = 20261121 } = fc.readConfigureGlobal()
const { MODELS_RUNS, MODELS_SHRINK, PROPERTY_SEED } = process.env
const seed = PROPERTY_SEED && PROPERTY_SEED !== 'random' ? Number(PROPERTY_SEED) : usual

let house: House | null = null
after(async () => {
  await house?.[Symbol.asyncDispose]()
})

test('whatever the datamodel and the rights are, callers are told what the rules let them know', {
  timeout: 36_000_000,
}, async () => {
  const tally: Tally = { hidden: 0, partly: 0, whole: 0, columnsHidden: 0, carriedOut: 0 }
  const property = fc.asyncProperty(rawWorld, async (raw) => {
    house = await roomIn(house)
    const world = worldOf(raw, `r${house.worlds}`, house.ids)
    const names = await house.build(world)
    await askAll(house, world, names, tally)
  })
  const result = await fc.check(property, {
    seed,
    numRuns: Number(MODELS_RUNS ?? 8),
    endOnFailure: MODELS_SHRINK === undefined,
  })
  if (result.failed) {
    const again = `seed ${result.seed}, path ${result.counterexamplePath}, after ${result.numShrinks} shrinks`
    throw new Error(`${result.errorInstance} (${again})`, { cause: result.errorInstance })
  }
  const said = JSON.stringify(tally)
  const all = tally.hidden + tally.partly + tally.whole
  for (const part of [tally.hidden, tally.partly, tally.whole]) assert.ok(part > all / 20, said)
  assert.ok(tally.carriedOut > 0, said)
})
