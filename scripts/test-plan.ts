/** Decides which test files of a whole run share a process, and which begin first. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Durations } from './test-durations.ts'

export interface TestFile {
  /** From the root of the checkout: `test/objects/save.test.ts`. */
  readonly name: string
  readonly text: string
}

/** Milliseconds that the files of one process take together: they load shared modules once. */
const enough = 20_000

/**
 * A file with this line, and a reason behind it, has a separate process: it measures the memory of its process, sets up
 * data that all its tests use, or takes much longer than its text suggests.
 */
const alone = /^\/\/ alone: \S/m

/**
 * Groups of files, one for each process, in the order in which they begin: the longest first. If a long one began last, a
 * core would be idle until it ends.
 */
export function planTests(files: readonly TestFile[], durations: Durations): string[][] {
  const groups: { names: string[]; length: number }[] = []
  let open: (typeof groups)[number] | null = null
  // Files of the same folder load the same modules.
  for (const file of files.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const length = durations[file.name] ?? guess(file)
    if (alone.test(file.text) || length >= enough) {
      groups.push({ names: [file.name], length })
      continue
    }
    if (!open || open.length + length > enough) {
      open = { names: [], length: 0 }
      groups.push(open)
    }
    open.names.push(file.name)
    open.length += length
  }
  return groups.toSorted((one, other) => other.length - one.length).map(({ names }) => names)
}

/** Milliseconds of a file that has not been run here: a longer text takes longer; processes of the service take much longer. */
function guess({ text }: TestFile): number {
  if (alone.test(text)) return enough
  return text.length * (/support\/process|fuzz\/|torture\//.test(text) ? 2 : 0.4)
}

export async function readTestFiles(root: string, names: readonly string[]): Promise<TestFile[]> {
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(root, name), 'utf8') })))
}
