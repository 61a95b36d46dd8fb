/** How the database connections of a process are shared out, so that the setting is the whole of them. */
export interface ConnectionShares {
  /** For requests, jobs and the indexer; two are always taken, by whoever waits for jobs and by whoever shows that he lives. */
  readonly pool: number
  /** For reads of microseconds. */
  readonly pipelined: number
  /** For the objects of pages, which take longer than those; with few connections these stand in the pool. */
  readonly pages: number
  /** For searches for words. */
  readonly lexical: number
}

/** Listens to the other processes. */
const bus = 1

/**
 * The fewest that work: of the five in the pool two are always taken, one is the indexer's, one makes an index for
 * sorting, and with the last one requests come to their end, since none of them needs a second one.
 */
export const fewestConnections = 8

export function shareConnections(most: number): ConnectionShares {
  const pipelined = most >= 16 ? 2 : 1
  const pages = most >= 16 ? 2 : 0
  const lexical = Math.max(1, Math.min(6, Math.floor(most / 5)))
  return { pool: most - bus - pipelined - pages - lexical, pipelined, pages, lexical }
}
