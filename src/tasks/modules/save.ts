/** Changes the objects of a batch through the object service: all together, or, if some cannot be changed, the others. */
import { type ObjectService, type TaskObject, unattended } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { noDeadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { Run } from './model.ts'

/** Maximum number of attempts when objects were changed between reading and writing; they are read again. */
const mostTries = 3

export interface Part {
  readonly object: TaskObject
  readonly payload: unknown
}

type Within = (tx: Tx, changed: number) => Promise<void>

/** Changes objects of one type, and returns their number; its transaction calls `within`. */
export type Change = (parts: readonly Part[], within: Within) => Promise<number>

/**
 * Changes objects of any types. @returns the objects that have changed since they were read
 * @throws for failures that are unrelated to the objects
 */
export async function changeEach(
  run: Run,
  parts: readonly Part[],
  { dryRun, change }: { readonly dryRun: boolean; readonly change: (table: string) => Change },
): Promise<{ readonly failed: number; readonly stale: readonly number[] }> {
  let failed = 0
  const stale: number[] = []
  const halves = async (list: readonly Part[], work: Change): Promise<void> => {
    if (list.length === 0) return
    await run.check()
    try {
      run.count(await work(list, dryRun ? async () => {} : run.changed))
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500 || error.status === 423) throw error
      const [{ object }] = list as [Part]
      if (list.length > 1) {
        const half = list.length >> 1
        await halves(list.slice(0, half), work)
        await halves(list.slice(half), work)
      } else if (error.code === 'VersionMismatch') stale.push(object.systemObjectId)
      else {
        failed++
        run.log('warning', `${object.table.name} ${object.systemObjectId}: ${error.message.slice(0, 500)}`)
      }
    }
  }
  for (const [name, list] of Map.groupBy(parts, ({ object }) => object.table.name)) {
    await halves(list, change(name))
  }
  return { failed, stale }
}

/** The same, repeated until no object has changed in between. */
export async function untilCurrent(
  ids: readonly number[],
  attempt: (ids: readonly number[]) => Promise<{ readonly failed: number; readonly stale: readonly number[] }>,
): Promise<{ readonly failed: number }> {
  let failed = 0
  let open = ids
  for (let tries = 0; open.length > 0 && tries < mostTries; tries++) {
    const result = await attempt(open)
    failed += result.failed
    open = result.stale
  }
  return { failed: failed + open.length }
}

const question = 'The change would ask a question, which nobody can answer.'

export function saving(
  objects: Pick<ObjectService, 'save'>,
  actor: Actor,
  { dryRun }: { readonly dryRun: boolean },
): (table: string) => Change {
  const options = { ...unattended, partial: true, strict: false, dryRun, format: 'short' as const, awaitIndex: 0 }
  return (table) => async (parts, within) => {
    const body = parts.map(({ payload }) => payload)
    const noted = (tx: Tx) => within(tx, parts.length)
    const saved = await objects.save(actor, table, body, options, noDeadline, noted)
    if (saved.kind === 'confirm') throw new AppError('ConstraintViolation', {}, { message: question })
    return parts.length
  }
}

export type TaskDeletePolicy = 'setnull' | 'remove' | 'purge' | 'undelete'

export function deleting(
  objects: Pick<ObjectService, 'delete'>,
  actor: Actor,
  { policy, dryRun }: { readonly policy: TaskDeletePolicy; readonly dryRun: boolean },
): (table: string) => Change {
  const options = { policy, confirmTransition: 'ALL', dryRun, awaitIndex: 0 }
  return (table) => async (parts, within) => {
    const body = parts.map(({ payload }) => payload)
    const noted = (tx: Tx) => within(tx, parts.length)
    const deleted = await objects.delete(actor, table, body, options, noDeadline, noted)
    if (deleted.kind === 'confirm') throw new AppError('ConstraintViolation', {}, { message: question })
    return parts.length
  }
}

/** The comment in the history of the objects. */
export const commentOf = ({ task }: Run): string => `Task ${task.id}: ${task.module}`
