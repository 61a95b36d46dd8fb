/** The thread of `longestWait`: the work of the bench itself must not count as a wait for the service. */
import { parentPort, workerData } from 'node:worker_threads'
import { Pool } from 'undici'

/** Milliseconds between the end of a request and the beginning of the next one. */
const interval = 5

const pool = new Pool((workerData as { url: string }).url, { connections: 1 })
let longest = 0
let done = false
parentPort?.once('message', () => {
  done = true
})
// The first request opens the connection.
for (let looks = 0; !done; looks++) {
  const sent = performance.now()
  const answer = await pool.request({ method: 'GET', path: '/nowhere' })
  await answer.body.dump()
  if (looks > 0) longest = Math.max(longest, performance.now() - sent)
  else parentPort?.postMessage('ready')
  await new Promise((resolve) => setTimeout(resolve, interval))
}
await pool.close()
parentPort?.postMessage(longest)
