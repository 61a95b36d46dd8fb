import type { Socket } from 'node:net'
import type pg from 'pg'
import { longestTurn } from '../process/cooperative-yield.ts'

/**
 * Lets other work run while a long answer of PostgreSQL arrives, until the returned function is called: without this, Node reads a
 * socket up to 32 times (2 MB of rows) before any other work has its turn.
 */
export function readYielding(client: pg.ClientBase): () => void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  let since: number | null = null
  let paused = false
  const goOn = (): void => {
    since = null
    if (!paused) return
    paused = false
    stream.resume()
  }
  // The driver's listener runs first: the received data is already parsed.
  const look = (): void => {
    if (since === null) {
      since = performance.now()
      setImmediate(goOn)
    } else if (!paused && performance.now() - since > longestTurn) {
      paused = true
      stream.pause()
    }
  }
  stream.on('data', look)
  return () => {
    stream.off('data', look)
    goOn()
  }
}
