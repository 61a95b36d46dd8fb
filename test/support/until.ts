import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for what happens by itself and tells nobody; fails when it does not within the time. */
export async function until(condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, `waited for ${seconds} seconds`)
    await sleep(5)
  }
}
