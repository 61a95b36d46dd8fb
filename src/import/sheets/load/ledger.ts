import { SheetError } from '../limits.ts'
import { type Checkpoint, writeCheckpoint } from './checkpoint.ts'
import type { createErrorsFile } from './errors-file.ts'
import type { RowOutcome } from './rows.ts'

/** After this many refusals by the service without any success, the cause is not in single rows. */
const hopeless = 100

export interface LedgerOptions {
  readonly of: string
  readonly checkpoint: Checkpoint | null
  readonly checkpointFile: string
  readonly errorsFile: string
  readonly errors: ReturnType<typeof createErrorsFile>
}

/** Records the results of rows, batch after batch in their order, in whatever order they end. */
export function createLedger({ of, checkpoint, checkpointFile, errorsFile, errors }: LedgerOptions) {
  const { created = 0, updated = 0, unchanged = 0, refused = 0 } = checkpoint ?? {}
  const counts = { created, updated, unchanged, refused }
  const waiting = new Map<number, readonly RowOutcome[]>()
  let [next, row, bytes] = [0, checkpoint?.row ?? 0, checkpoint?.errors.bytes ?? 0]
  let [taken, notTaken] = [0, 0]
  let writing: Promise<void> = Promise.resolve()

  async function flush(): Promise<void> {
    for (let outcomes = waiting.get(next); outcomes; outcomes = waiting.get(next)) {
      waiting.delete(next)
      next++
      bytes = await errors.add(
        outcomes.filter(({ result }) => result === 'refused'),
        bytes,
      )
      for (const { result } of outcomes) counts[result]++
      row = outcomes.at(-1)?.row.number ?? row
      await writeCheckpoint(checkpointFile, { of, row, ...counts, errors: { file: errorsFile, bytes } })
    }
  }

  return {
    /** @throws {SheetError} when the service accepts no row at all. */
    async settle(number: number, outcomes: readonly RowOutcome[]): Promise<void> {
      for (const { result, asked } of outcomes) {
        if (result !== 'refused') taken++
        else if (asked) notTaken++
      }
      if (taken === 0 && notTaken >= hopeless) {
        const reason = outcomes.findLast(({ asked, problems }) => asked && problems.length > 0)?.problems[0]?.reason
        throw new SheetError(`the service takes no row: ${reason}`)
      }
      waiting.set(number, outcomes)
      writing = writing.then(flush)
      await writing
    },
    /** Rows that are stored, but have errors all the same. */
    async addErrors(outcomes: readonly RowOutcome[]): Promise<void> {
      bytes = await errors.add(outcomes, bytes)
      counts.refused += outcomes.length
    },
    counts: () => ({ ...counts }),
    hasErrors: () => bytes > 0,
  }
}
