/** The division of the database connections of a process, so that all of them together are the number in the setting. */
export interface ConnectionShares {
  /** For requests, jobs and the indexer. Two are always in use: by the listener for jobs, and by the heartbeat of the process. */
  readonly pool: number
  /** For reads that take microseconds. */
  readonly pipelined: number
  /** For the objects of pages, whose reads take longer; with few connections they use the pool. */
  readonly pages: number
  /** For full-text searches. */
  readonly lexical: number
  /**
   * The number of requests of one caller that may hold a lock on one connection of the pool while they work on another one. The
   * limiter admits one more, of another caller. At least one connection is left for their work.
   */
  readonly locking: number
}

/** The listener for messages of other processes. */
const bus = 1

/**
 * The smallest number that works: of the six in the pool two are always in use, one is the indexer's, one builds an index for
 * sorting, one holds a lock (`locking`), and the last one lets requests finish, since no other request needs a second one. A backup,
 * hot folders and the janitor of users take one more each for as long as they work, and requests may wait for them.
 */
export const fewestConnections = 9

export function shareConnections(most: number): ConnectionShares {
  const pipelined = most >= 16 ? 2 : 1
  const pages = most >= 16 ? 2 : 0
  const lexical = Math.max(1, Math.min(6, Math.floor(most / 5)))
  const pool = most - bus - pipelined - pages - lexical
  return { pool, pipelined, pages, lexical, locking: Math.min(3, pool - 6) }
}
