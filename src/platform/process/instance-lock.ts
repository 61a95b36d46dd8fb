import { unlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'

/** The message names the holder's process. */
export class DataFolderInUse extends Error {
  override name = 'DataFolderInUse'
}

/** Held by the one process that serves a data folder. */
export interface InstanceLock {
  release(): Promise<void>
}

/**
 * Takes the data folder for this process, or throws with the holder's process id. The lock is a listening socket: the kernel drops
 * it with the process, also after `kill -9`. With a process id in a file one would have to guess whether it still means the same
 * process (it does not across containers or reboots).
 */
export async function takeInstanceLock(path: string): Promise<InstanceLock> {
  for (let attempt = 0; ; attempt++) {
    const server = await listen(path)
    if (server) return { release: () => close(server) }
    const holder = await askHolder(path)
    if (holder !== null) throw new DataFolderInUse(`the data folder is in use by another strongroom process${holder}`)
    if (attempt === 3) throw new Error(`cannot take the lock ${path}`)
    await unlink(path).catch(() => {})
  }
}

/** Null when the path is taken. */
async function listen(path: string): Promise<Server | null> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(` (process ${process.pid})`)
  })
  const { promise, resolve, reject } = Promise.withResolvers<Server | null>()
  server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)))
  server.listen(path, () => resolve(server))
  const listening = await promise
  listening?.unref()
  return listening
}

/** The description that the holder returns; null when there is no listener any more. */
async function askHolder(path: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const socket = connect(path)
  let answer = ''
  socket.setTimeout(2000, () => socket.destroy())
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', (error: NodeJS.ErrnoException) =>
    resolve(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? null : ''),
  )
  socket.on('close', () => resolve(answer))
  return promise
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()))
}
