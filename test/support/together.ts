import { relative, resolve } from 'node:path'
import { suite } from 'node:test'
import './left-running.ts'

const checkout = resolve(import.meta.dirname, '..', '..')

/**
 * Runs test files one after the other in this process: what they load, and what of it is compiled, they load once. Each is a
 * suite with the name of the file, so its hooks are its own, and one that cannot be loaded fails. Made for scripts/test.ts.
 */
export function runTogether(files: readonly string[]): void {
  for (const file of files) {
    suite(relative(checkout, resolve(checkout, file)), async () => {
      await import(resolve(checkout, file))
    })
  }
}
