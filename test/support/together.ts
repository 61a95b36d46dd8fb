import { relative, resolve } from 'node:path'
import { suite } from 'node:test'
import './left-running.ts'

const checkout = resolve(import.meta.dirname, '..', '..')

/** Milliseconds; the files of one process take six minutes on two cores, and several times that beside other work. */
const longest = 60 * 60_000

/**
 * Runs test files one after the other in this process: what they load, and what of it is compiled, they load once. Each is a
 * suite with the name of the file, so its hooks are its own, and one that cannot be loaded fails. Made for scripts/test.ts.
 */
export function runTogether(files: readonly string[]): void {
  // A request that a failed test left repeating would keep this process for ever, and with it the whole run.
  setTimeout(() => {
    process.stderr.write(`${files.join(', ')}: no end after ${longest / 60_000} minutes\n`)
    process.exit(1)
  }, longest).unref()
  for (const file of files) {
    suite(relative(checkout, resolve(checkout, file)), async () => {
      await import(resolve(checkout, file))
    })
  }
}
