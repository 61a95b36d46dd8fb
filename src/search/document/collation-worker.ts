import { parentPort, workerData } from 'node:worker_threads'
import { buildTable } from './collation-table.ts'

/** Builds the tables of some locales and sends them back: a second of computing, so never in the thread of the requests. */
parentPort?.postMessage((workerData as readonly string[]).map((locale) => buildTable(locale)))
