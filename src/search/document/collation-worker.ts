import { parentPort, workerData } from 'node:worker_threads'
import { buildTable } from './collation-table.ts'

/**
 * Builds the tables of some locales and sends them back. This takes a second of computing, so it never runs in the thread of the
 * requests.
 */
parentPort?.postMessage((workerData as readonly string[]).map((locale) => buildTable(locale)))
