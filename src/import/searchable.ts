import { setTimeout as sleep } from 'node:timers/promises'
import type { Progress } from '../platform/process/progress.ts'
import { type ServiceClient, ServiceError } from './client.ts'

interface Status {
  indices_stats: { rebuilding: boolean }[]
  objecttypes: { type_name: string; not_indexed_count: number; error_count: number }[]
}

export interface SearchableOptions {
  client: ServiceClient
  progress: Progress
  signal: AbortSignal
}

/** Milliseconds without a further object after which the service is asked for the reason. */
const stall = 3000

/** Milliseconds without progress of the index, although it has work, after which the wait is given up. */
const patience = 120_000

/**
 * Waits until a search finds all `total` objects of the types.
 * @throws {Error} when the service reports that it could not index some, or makes no progress.
 */
export async function untilSearchable(
  { client, progress, signal }: SearchableOptions,
  objecttypes: readonly string[],
  total: number,
): Promise<void> {
  progress.start('Searchable', total)
  const begun = Date.now()
  let found = 0
  let movedAt = begun
  for (let asked = 0; found < total && !signal.aborted; ) {
    const request = { objecttypes, search: [], limit: 0, format: 'short' }
    const count = Math.min(total, (await client.post<{ count: number }>('/search', request)).count)
    if (count > found) movedAt = Date.now()
    progress.advance(count - found)
    found = count
    if (found < total) await sleep(pauseFor(total - found, found / (Date.now() - begun)))
    if (Date.now() - Math.max(movedAt, asked) < stall) continue
    asked = Date.now()
    await refuseFailures(client, objecttypes)
    if (asked - movedAt > patience) {
      throw new Error(`only ${found} of ${total} objects are searchable, and no more come: see the service's log`)
    }
  }
  progress.stop()
}

/** Waits until searches find all stored objects of the types; a user without the right to see the index waits a short time. */
export async function untilIndexed(client: ServiceClient, objecttypes: readonly string[]): Promise<void> {
  for (let waited = 0; waited < patience; waited += 250) {
    try {
      const { objecttypes: all } = await client.get<Status>('/system/status')
      const left = all.some((one) => objecttypes.includes(one.type_name) && one.not_indexed_count > 0)
      if (!left) return
    } catch (error) {
      if (!(error instanceof ServiceError && error.status === 403)) throw error
      return void (await sleep(stall))
    }
    await sleep(250)
  }
  throw new Error('the index of the service stands still')
}

/** Waits until searches have their final speed: after a large import the service rebuilds search indexes. */
export async function untilRebuilt({ client, progress, signal }: SearchableOptions): Promise<void> {
  if (!(await isRebuilding(client))) return
  progress.start('Indexes', 1)
  while (!signal.aborted && (await isRebuilding(client))) await sleep(250)
  progress.advance(1)
  progress.stop()
}

async function isRebuilding(client: ServiceClient): Promise<boolean> {
  try {
    const { indices_stats } = await client.get<Status>('/system/status')
    return indices_stats.some((index) => index.rebuilding)
  } catch (error) {
    // Only administrators may ask for this; other users do not wait.
    if (error instanceof ServiceError && error.status === 403) return false
    throw error
  }
}

/** Counting uses resources that indexing needs, so it is done rarely while many are missing and often near the end. */
function pauseFor(missing: number, perMillisecond: number): number {
  return Math.min(1000, Math.max(50, missing / Math.max(perMillisecond, 0.1) / 4))
}

async function refuseFailures(client: ServiceClient, objecttypes: readonly string[]): Promise<void> {
  const { objecttypes: all } = await client.get<Status>('/system/status')
  const ours = all.filter(({ type_name }) => objecttypes.includes(type_name))
  const failed = ours.filter(({ error_count }) => error_count > 0)
  if (failed.length === 0 || ours.some(({ not_indexed_count }) => not_indexed_count > 0)) return
  const list = failed.map(({ type_name, error_count }) => `${error_count} ${type_name}`).join(', ')
  throw new Error(`everything is stored, but the service could not index ${list}: see its log`)
}
