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
   * Requests that may hold a lock on a connection of the pool while they work with others, one not counted. So many that one
   * connection is left for the work.
   */
  readonly locking: number
}

/** The listener for messages of other processes. */
const bus = 1

/**
 * The smallest number that works: of the six in the pool two are always in use, one is the indexer's, one builds an index for
 * sorting, one holds a lock (`locking`), and the last one lets requests finish, since no other request needs a second one.
 */
export const fewestConnections = 9

export function shareConnections(most: number): ConnectionShares {
  const pipelined = most >= 16 ? 2 : 1
  const pages = most >= 16 ? 2 : 0
  const lexical = Math.max(1, Math.min(6, Math.floor(most / 5)))
  const pool = most - bus - pipelined - pages - lexical
  return { pool, pipelined, pages, lexical, locking: Math.max(0, Math.min(3, pool - 6)) }
}
