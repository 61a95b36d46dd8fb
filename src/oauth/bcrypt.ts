import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

/**
 * Whether `secret` matches a bcrypt hash (2a, 2b or 2y). A library without native code works on every machine; secrets of clients
 * are compared so rarely that its speed does not matter.
 */
export async function verifyBcrypt(secret: string, hash: string): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const worker = new Worker(new URL(`./bcrypt-worker${extname(import.meta.url)}`, import.meta.url), {
    workerData: { secret, hash },
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  })
  worker.once('message', resolve)
  worker.once('error', reject)
  worker.once('exit', () => reject(new Error('the comparison of a client secret ended without a result')))
  return promise
}
