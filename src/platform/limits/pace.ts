/** The lowest speed of the other side. */
export interface Pace {
  /** Seconds over which the pace of a client is measured. */
  readonly grace: number
  /** Least bytes per second; 0: any. */
  readonly leastRate: number
}

/**
 * The chunks of `next`, as long as they arrive at least at the pace; time in which the consumer does not ask for more does not
 * count. @throws the error of `slow`.
 */
export async function* atPace(
  next: () => Promise<IteratorResult<Buffer>>,
  pace: Pace,
  slow: () => Error,
): AsyncGenerator<Buffer> {
  const watch = watchWaiting(pace, slow)
  try {
    for (;;) {
      const chunk = await watch.whileWaiting(next())
      if (chunk.done) return
      watch.arrived(chunk.value.length)
      yield chunk.value
    }
  } finally {
    watch.stop()
  }
}

/** Counts the time spent waiting for the other side, and the bytes that arrive in it. */
function watchWaiting({ grace, leastRate }: Pace, failure: () => Error) {
  const patience = grace * 1000
  let waited = 0
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  return {
    async whileWaiting<T>(arrival: Promise<T>): Promise<T> {
      if (leastRate === 0) return arrival
      const slow = Promise.withResolvers<never>()
      const since = performance.now()
      const look = (): void => {
        if (bytes < leastRate * grace) {
          slow.reject(failure())
          return
        }
        waited = 0
        bytes = 0
        timer = setTimeout(look, patience)
      }
      timer = setTimeout(look, Math.max(0, patience - waited))
      try {
        return await Promise.race([arrival, slow.promise])
      } finally {
        clearTimeout(timer)
        waited += performance.now() - since
      }
    },
    arrived(length: number): void {
      bytes += length
    },
    stop: () => clearTimeout(timer),
  }
}
