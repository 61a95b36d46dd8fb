/**
 * Further sort keys of texts with digits, beside the keys that compare digits as numbers: a key in which digits are letters, and
 * keys of each run of digits. Texts without digits need none: the first would be the same, the others empty.
 */
import { collation } from './collation.ts'

/** The highest number of runs of digits in a text by which it can be sorted. */
export const mostRuns = 10
/** Bytes of a run: the number of digits that count, and up to eighteen of them. */
const runBytes = 10
const runDigits = 18

/** The number of runs, the runs, and the key of the text; null: there are no digits. */
export function digitKey(text: string, language: string): Buffer | null {
  const runs: string[] = []
  for (const [run] of text.matchAll(/[0-9]+/g)) {
    if (runs.length === mostRuns) break
    runs.push(run)
  }
  if (runs.length === 0) return null
  const key = Buffer.alloc(1 + runs.length * runBytes)
  key[0] = runs.length
  for (const [index, run] of runs.entries()) {
    const digits = run.replace(/^0+/, '')
    const at = 1 + index * runBytes
    key[at] = Math.min(digits.length, 255)
    key.write(digits.slice(0, runDigits).padEnd(runDigits, '0'), at + 1, 'hex')
  }
  return Buffer.concat([key, collation(language).key(text, { numeric: false })])
}
