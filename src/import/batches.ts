/** The wanted records in groups of `size`; the last one may be smaller. */
export async function* inBatches<T>(
  records: AsyncIterable<T> | Iterable<T>,
  size: number,
  wanted: (record: T) => boolean = () => true,
): AsyncGenerator<T[]> {
  let some: T[] = []
  for await (const record of records) {
    if (!wanted(record)) continue
    some.push(record)
    if (some.length === size) {
      yield some
      some = []
    }
  }
  if (some.length > 0) yield some
}

export interface SharingOptions {
  readonly workers: number
  /** When it is aborted nobody takes another batch. */
  readonly signal: AbortSignal
}

/** Several workers draw from one list of batches: whoever is free takes the next. */
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
      // Whoever ends first, by a failure too, leaves nothing for the others.
      await batches.return(undefined)
    }
  }
  await Promise.all(Array.from({ length: workers }, worker))
}
