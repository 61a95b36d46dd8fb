import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for what happens by itself and tells nobody; fails when it does not within the time. The longer it has waited, the
 * less often it asks: dozens of tests that wait share the cores with those that work.
 */
export async function until(condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const began = performance.now()
  while (!(await condition())) {
    const waited = performance.now() - began
    assert.ok(waited < seconds * 1000, `waited for ${seconds} seconds`)
    await sleep(Math.min(Math.max(5, waited / 40), 25))
  }
}
