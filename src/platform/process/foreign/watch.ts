import type { ChildProcess } from 'node:child_process'
import { megabytes, memoryOfTree, sizeOf } from './usage.ts'

export interface WatchLimits {
  /** Seconds of wall-clock time. */
  readonly seconds: number
  /** Bytes of memory of a program and its child processes. */
  readonly memory: number
  /** Bytes of its output files. */
  readonly output: number
}

/** The exceeded limit, as text that follows the name of the program. */
export interface Broken {
  readonly limit: 'time' | 'memory' | 'output'
  readonly reason: string
}

/** Milliseconds between two checks of a program's use. */
const watchEvery = 100
/** Number of checks of the memory for each check of the output files, which takes longer. */
const looksPerFolder = 5

/** Reports once when a program exceeds a limit, until the returned function is called. */
export function watchForeign(
  child: ChildProcess,
  { seconds, memory, output }: WatchLimits,
  folder: string | null,
  tell: (broken: Broken) => void,
): () => void {
  const deadline = setTimeout(
    () => tell({ limit: 'time', reason: `took more than ${Math.round(10 * seconds) / 10} seconds` }),
    1000 * seconds,
  )
  let looking = false
  let looks = 0
  const look = setInterval(async () => {
    // On a busy machine one check may take longer than the pause between two.
    if (looking || child.pid === undefined) return
    looking = true
    try {
      if ((await memoryOfTree(child.pid)) > memory) {
        tell({ limit: 'memory', reason: `took more than ${megabytes(memory)} MB of memory` })
      } else if (folder !== null && ++looks % looksPerFolder === 0 && (await sizeOf(folder)) > output) {
        tell({ limit: 'output', reason: `made more than ${megabytes(output)} MB` })
      }
    } finally {
      looking = false
    }
  }, watchEvery)
  return () => {
    clearTimeout(deadline)
    clearInterval(look)
  }
}
