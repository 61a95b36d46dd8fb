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
  let runs = 0
  for (let at = 0; at < text.length && runs < mostRuns; at++) {
    if (!isDigit(text.charCodeAt(at))) continue
    at = writeRun(text, at, 1 + runs++ * runBytes)
  }
  if (runs === 0) return null
  const letters = collation(language).key(text, { numeric: false })
  const length = 1 + runs * runBytes
  written[0] = runs
  const key = Buffer.allocUnsafe(length + letters.length)
  key.set(written.subarray(0, length))
  key.set(letters, length)
  return key
}

/** Runs are written here and copied out. One buffer is enough, because no other code runs in between. */
const written = Buffer.alloc(1 + mostRuns * runBytes)

/** Writes the run of digits that begins there, two digits in a byte. Returns its end. */
function writeRun(text: string, start: number, to: number): number {
  let end = start + 1
  while (end < text.length && isDigit(text.charCodeAt(end))) end++
  let first = start
  while (first < end && text.charCodeAt(first) === zero) first++
  written[to] = Math.min(end - first, 255)
  const digit = (index: number): number => (first + index < end ? text.charCodeAt(first + index) - zero : 0)
  for (let index = 0; index < runDigits; index += 2) {
    written[to + 1 + index / 2] = 16 * digit(index) + digit(index + 1)
  }
  return end
}

const zero = 48

const isDigit = (code: number): boolean => code >= zero && code < zero + 10
