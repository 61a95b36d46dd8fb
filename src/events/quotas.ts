import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { callerOf } from '../platform/limits/callers.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { useHourly } from '../platform/postgres/hourly-quotas.ts'
import { createYielder, yieldIfDue } from '../platform/process/cooperative-yield.ts'

/** The limits of what clients may write into the log. */
export interface PostQuotas {
  /** Bytes of one event. */
  readonly eventBytes: number
  /** Events of one caller within an hour, and their bytes. */
  readonly events: number
  readonly eventStorage: number
}

/**
 * The log keeps posted events until they are deleted, so they have limits: the size of each event, and the number and size of a
 * caller's events within an hour. Imports of old logs run as root, which has no limits.
 * @throws {AppError} `PayloadTooLarge`, `QuotaExceeded`
 */
export async function admitPosted(
  db: Queryable,
  { eventBytes, events, eventStorage }: PostQuotas,
  actor: Actor,
  inputs: readonly unknown[],
): Promise<void> {
  if (actor.isRoot) return
  const yielder = createYielder()
  let bytes = 0
  for (const [index, input] of inputs.entries()) {
    const size = Buffer.byteLength(JSON.stringify(input) ?? '')
    if (size > eventBytes) {
      const message = `An event has at most ${eventBytes} bytes.`
      throw new AppError('PayloadTooLarge', { quota: 'svc.quotas.eventBytes', most: eventBytes, index }, { message })
    }
    bytes += size
    await yieldIfDue(yielder)
  }
  const caller = callerOf(actor, actor.remoteAddr)
  const quota = { rows: 'svc.quotas.events', bytes: 'svc.quotas.eventStorage' }
  await useHourly(db, quota, [{ caller, mostRows: events, mostBytes: eventStorage }], { rows: inputs.length, bytes })
}
