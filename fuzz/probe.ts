/**
 * Loaded into the service before it starts. On request, it reports the memory after a garbage collection, or the longest
 * turn of the event loop since the last request. During a turn, all other callers wait.
 */
export interface Turn {
  /** Milliseconds that the thread has worked: time of other processes on the machine is not included. */
  readonly worked: number
  /** Milliseconds of the clock. */
  readonly waited: number
}

const pause = 5
let longest: Turn = { worked: 0, waited: 0 }
let before = now()

function now(): Turn {
  const { user, system } = process.threadCpuUsage()
  return { worked: (user + system) / 1000, waited: performance.now() }
}

/** The work since the last look was one turn, or a few short ones. */
function look(): void {
  const after = now()
  longest = {
    worked: Math.max(longest.worked, after.worked - before.worked),
    waited: Math.max(longest.waited, after.waited - before.waited),
  }
  before = after
}
setInterval(look, pause).unref()

function tellMemory(): void {
  const collect = (globalThis as { gc?: () => void }).gc
  collect?.()
  // Memory released by finalisers is freed by the next collection.
  setTimeout(() => {
    collect?.()
    process.send?.({ memory: process.memoryUsage() })
    // This long turn was caused by the tool itself.
    before = now()
  }, 50)
}

process.on('message', (what: string) => {
  if (what === 'memory') return tellMemory()
  if (what !== 'turn') return
  look()
  process.send?.({ turn: longest })
  longest = { worked: 0, waited: 0 }
})
// The channel must not keep the service from ending.
process.channel?.unref()
