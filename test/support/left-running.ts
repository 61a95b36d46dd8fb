import { AsyncResource } from 'node:async_hooks'
import { after } from 'node:test'

const running = new Set<AsyncDisposable>()
/** The place of hooks of the whole process: whoever loads test files in suites loads this before them. */
const whole = new AsyncResource('tests')
let watched = false

/** Remembers what runs until it says that it has ended. */
export function runs(what: AsyncDisposable): { ended(): void } {
  running.add(what)
  // Behind the hooks of the test file, which are known when its first service starts.
  if (!watched) whole.runInAsyncScope(() => after(end))
  watched = true
  return { ended: () => void running.delete(what) }
}

/** What a test that failed has left running would keep its process for ever, and with it the whole run. */
async function end(): Promise<void> {
  const left = [...running]
  for (const each of left) await each[Symbol.asyncDispose]()
  if (left.length > 0) throw new Error(`services that tests left running: ${left.length}`)
}
