import { parentPort, workerData } from 'node:worker_threads'
import { compareSync } from 'bcryptjs'

/** Compares one secret with one hash: a second of computing at 14 rounds, so never in the thread of the requests. */
const { secret, hash } = workerData as { secret: string; hash: string }
parentPort?.postMessage(compareSync(secret, hash))
