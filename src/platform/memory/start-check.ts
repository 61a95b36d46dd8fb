import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { divideMemory } from './shares.ts'

const MiB = 1024 * 1024

/** The memory that is available to the process, in bytes. */
export interface Machine {
  /** Memory of the machine, or of the container where that has less. */
  readonly memory: number
  /** V8's limit. */
  readonly heap: number
}

/** @throws {Error} with a one-line message, when this process cannot have so many megabytes. */
export function assertMemory(megabytes: number, machine: Machine = thisMachine()): void {
  const there = Math.floor(machine.memory / MiB)
  if (megabytes > there) {
    throw new Error(
      `SVC_MEMORY: ${megabytes} MB are more than the ${there} MB of this machine or its container; set at most ${there}`,
    )
  }
  const { heap } = divideMemory(megabytes)
  const limit = Math.floor(machine.heap / MiB)
  if (limit < heap) {
    throw new Error(
      `SVC_MEMORY: with ${megabytes} MB the heap needs ${heap} MB, and V8 may take ${limit}; start with bin/strongroom.js, ` +
        `which tells it so, or run Node with --max-old-space-size=${heap}`,
    )
  }
}

function thisMachine(): Machine {
  // 0 where there is no limit.
  const constrained = process.constrainedMemory() || Number.POSITIVE_INFINITY
  return { memory: Math.min(totalmem(), constrained), heap: getHeapStatistics().heap_size_limit }
}
