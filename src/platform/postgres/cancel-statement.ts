import { connect } from 'node:net'
import type pg from 'pg'

/** The code of a cancel request in PostgreSQL's protocol, in the place of the version of a startup message. */
const cancelCode = 80_877_102
/** Milliseconds after which the server counts as not answering. */
const patience = 5000

/**
 * Asks PostgreSQL to end the statement that runs on a connection; resolves when the request was sent. Until then the connection
 * must not be used for another statement, which could be ended instead.
 *
 * A cancel request takes a connection without a session: it works when all sessions are taken.
 */
export function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as {
    host: string
    port: number
    processID: number | null
    secretKey: number | null
  }
  if (processID === null || secretKey === null) return Promise.resolve()
  const message = Buffer.alloc(16)
  message.writeInt32BE(message.length, 0)
  message.writeInt32BE(cancelCode, 4)
  message.writeInt32BE(processID, 8)
  message.writeInt32BE(secretKey, 12)
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
  socket.setTimeout(patience, () => socket.destroy())
  socket.on('error', () => {})
  socket.once('close', () => resolve())
  // The server sends no answer: it closes the connection when it has signalled the statement.
  socket.resume()
  socket.write(message)
  return promise
}
