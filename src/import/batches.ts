export interface BatchOptions<T> {
  /** Records in a batch. */
  readonly size: number
  readonly wanted?: (record: T) => boolean
  /** A batch ends before the weight of its records exceeds `most`; a single record may exceed it. */
  readonly weigh?: (record: T) => number
  readonly most?: number
}

/** The wanted records in groups; the last one may be smaller. */
export async function* inBatches<T>(
  records: AsyncIterable<T> | Iterable<T>,
  { size, wanted = () => true, weigh = () => 0, most = Number.POSITIVE_INFINITY }: BatchOptions<T>,
): AsyncGenerator<T[]> {
  let some: T[] = []
  let weight = 0
  for await (const record of records) {
    if (!wanted(record)) continue
    const more = weigh(record)
    if (some.length > 0 && (some.length === size || weight + more > most)) {
      yield some
      some = []
      weight = 0
    }
    some.push(record)
    weight += more
  }
  if (some.length > 0) yield some
}

export interface SharingOptions {
  readonly workers: number
  /** When it is aborted, no worker takes another batch. */
  readonly signal: AbortSignal
}

/** Several workers share one list of batches: a free worker takes the next one. */
export async function shareOut<T>(
  batches: AsyncGenerator<T>,
  { workers, signal }: SharingOptions,
  work: (batch: T) => Promise<void>,
): Promise<void> {
  const worker = async (): Promise<void> => {
    try {
      for (let next = await batches.next(); !next.done && !signal.aborted; next = await batches.next()) {
        await work(next.value)
      }
    } finally {
      // When one worker ends, also by a failure, the others get no further batches.
      await batches.return(undefined)
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
