/** Decides which test files of a whole run share a process, and which begin first. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Durations } from './test-durations.ts'

export interface TestFile {
  /** From the root of the checkout: `test/objects/save.test.ts`. */
  readonly name: string
  readonly text: string
}

/** Milliseconds of the shortest groups: a process that loads all modules for less is not worth it. */
const shortest = 30_000

/** Milliseconds: if such a file began last, a core would be idle until it ends. */
const long = 25_000

/**
 * A file with this line, and a reason behind it, has a separate process: it measures the memory of its process, or changes
 * something that all tests of a process share.
 */
const alone = /^\/\/ alone: \S/m

/**
 * Groups of files, one for each process, in the order in which they begin. A process that runs many files loads and compiles
 * the service once, which is half of what a short file costs. So the first groups are large, and each further one has a share
 * of what is left: the last ones are short, and all cores are busy until the end.
 */
export function planTests(files: readonly TestFile[], durations: Durations, processes: number): string[][] {
  const timed = files.map((file) => ({ ...file, length: durations[file.name] ?? guess(file) }))
  const [single, shared] = partition(timed, ({ text }) => alone.test(text))
  const [late, early] = partition(shared, ({ length }) => length < long)
  // Files of the same folder load the same modules.
  const ordered = [
    ...early.toSorted((one, other) => other.length - one.length),
    ...late.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  ]
  let left = ordered.reduce((sum, { length }) => sum + length, 0)
  const groups: string[][] = single.toSorted((one, other) => other.length - one.length).map(({ name }) => [name])
  while (ordered.length > 0) {
    const size = Math.max(shortest, left / (shares * processes))
    const group: string[] = []
    for (let length = 0; ordered[0] && (length === 0 || length + ordered[0].length <= size); ) {
      const file = ordered.shift() as (typeof ordered)[number]
      group.push(file.name)
      length += file.length
      left -= file.length
    }
    groups.push(group)
  }
  return groups
}

/** In how many parts what is left is shared among the processes: more of them make up for durations that were guessed. */
const shares = 3

function partition<T>(all: readonly T[], is: (one: T) => boolean): [T[], T[]] {
  return [all.filter(is), all.filter((one) => !is(one))]
}

/** Milliseconds of a file that has not been run here: a longer text takes longer; processes of the service take much longer. */
function guess({ text }: TestFile): number {
  return text.length * (/support\/(process|prepared-folder)|fuzz\/|torture\/|SIGKILL/.test(text) ? 2.8 : 0.8)
}

export async function readTestFiles(root: string, names: readonly string[]): Promise<TestFile[]> {
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(join(root, name), 'utf8') })))
}
