import { AsyncLocalStorage } from 'node:async_hooks'

/** The open transaction of a guarded database, for the code that runs inside it. */
const insideTransaction = new AsyncLocalStorage<{ open: boolean }>()

/**
 * Code inside a transaction may only wait for that transaction: otherwise as many transactions as there are connections could each
 * wait for one more connection, and none would ever end. Tests check this.
 */
export function assertNoTransaction(text: string): void {
  if (insideTransaction.getStore()?.open !== true) return
  throw new Error(`a connection is taken inside a transaction: ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 200)}`)
}

/** Runs the work of a transaction in a context that `assertNoTransaction` recognizes. */
export async function marked<T>(work: () => Promise<T>): Promise<T> {
  const mark = { open: true }
  try {
    return await insideTransaction.run(mark, work)
  } finally {
    mark.open = false
  }
}
