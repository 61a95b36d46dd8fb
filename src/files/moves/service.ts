/**
 * Moves of contents between locations, in the background, one run at a time. A job moves one batch after the other, so
 * that any process can continue where another has stopped.
 */
import { type Jobs, openKeys } from '../../jobs/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { requireRight } from '../../platform/http/system-right.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { manageLocations } from '../locations/service.ts'
import { remoteLocation } from '../remote/remote-store.ts'
import { type MoveDeps, moveSome } from './run.ts'
import type { LocationMove, MoveInput } from './schema.ts'
import type { Move } from './store.ts'
import * as store from './store.ts'

export interface MoveOptions extends MoveDeps {
  readonly jobs: Jobs
  /** The locations for new originals, and for renditions. */
  readonly defaults: () => { readonly originals: number | null; readonly versions: number | null }
  /** No data may be changed at this time. */
  readonly paused: () => boolean
}

export type Moves = ReturnType<typeof createMoves>

const job = 'files.move'
/** Times that a batch is tried when a place cannot be read or written: some four hours. */
const maxAttempts = 10
/** Milliseconds after which another job continues, so that the count of attempts starts again. */
const longestJob = 60_000
/** The same while changes are paused. */
const pause = 60_000
const mostShown = 20

export function createMoves(options: MoveOptions) {
  const { db, jobs, locations, defaults, paused } = options
  const enqueue = (tx: Tx, id: number, runAt?: Date): Promise<unknown> =>
    jobs.enqueue(tx, job, { id }, { key: job, maxAttempts, ...(runAt && { runAt }) })

  jobs.register<{ id: number }>(
    job,
    async ({ id }, { isLastAttempt, signal }) => {
      if (paused()) return void (await db.transaction((tx) => enqueue(tx, id, new Date(Date.now() + pause))))
      const until = Date.now() + longestJob
      try {
        while (await moveSome(options, id, signal)) {
          signal.throwIfAborted()
          if (Date.now() > until) return void (await db.transaction((tx) => enqueue(tx, id)))
        }
      } catch (error) {
        if (signal.aborted) throw error
        const { message } = ((error as Error).cause ?? error) as Error
        if (isLastAttempt) await fail(id, message)
        else await store.noteProblem(db, id, message)
        throw error
      }
    },
    'standard',
    {
      attempts: maxAttempts,
      end: ({ id }) => fail(id, `the service was ended in each of ${maxAttempts} attempts`),
    },
  )

  async function fail(id: number, error: string): Promise<void> {
    const move = await store.findRunning(db, id)
    if (!move) return
    const target = locations.all().find((location) => location.id === move.toId)
    const info = { location_key: target?.name, location_id: move.toId, error }
    await db.transaction(async (tx) => {
      if (!(await store.endMove(tx, id, 'failed', error))) return
      await options.events.append(tx, [{ type: 'FILE_MOVE_ERROR', actor: null, basetype: 'location', info }])
    })
  }

  /** New contents would be added behind the run: change the default location first. */
  function assertNotDefault(id: number, contents: Move['contents']): void {
    const { originals, versions } = defaults()
    const named = contents !== 'versions' && originals === id ? 'originals' : 'versions'
    if (named === 'versions' && (contents === 'originals' || versions !== id)) return
    const message = `New ${named} go to this location: change location_defaults.${named} of the base configuration first.`
    throw badRequest(message, { name: 'id', id })
  }

  function render(move: Move): LocationMove {
    const name = (id: number): string | null => locations.all().find((location) => location.id === id)?.name ?? null
    const share = move.totalSize === 0 ? 0 : move.movedSize / move.totalSize
    return {
      id: move.id,
      from: name(move.fromId),
      to: name(move.toId),
      contents: move.contents,
      status: move.status,
      error: move.error ?? '',
      percent_done: move.status === 'done' ? 100 : Math.min(99, Math.floor(100 * share)),
      total: move.total,
      total_size: move.totalSize,
      moved: move.moved,
      moved_size: move.movedSize,
      failed: move.failed,
      started_at: move.startedAt.toISOString(),
      finished_at: move.finishedAt?.toISOString() ?? null,
    }
  }

  return {
    /** Begins a run. If the same run is in progress, answers it. @throws {AppError} when another run is in progress. */
    async start(actor: Actor, fromId: number, { to, contents = 'all' }: MoveInput): Promise<LocationMove> {
      requireRight(actor, manageLocations)
      const known = locations.all().filter(({ id }) => id !== remoteLocation)
      if (!known.some(({ id }) => id === fromId)) throw new AppError('ResourceNotFound', { id: fromId })
      const target = known.find(({ name }) => name === to)
      if (!target || target.readOnly || target.id === fromId) {
        throw badRequest(`There is no other location ${to} that can be written to.`, { name: 'to' })
      }
      assertNotDefault(fromId, contents)
      const wanted = { fromId, toId: target.id, contents }
      return db.transaction(async (tx) => {
        const move = await store.insertMove(tx, actor.userId, wanted)
        if (move) {
          await enqueue(tx, move.id)
          return render(move)
        }
        const [running] = await store.readMoves(tx, 1)
        const same = running && Object.entries(wanted).every(([key, value]) => running[key as keyof Move] === value)
        if (running && same) return render(running)
        throw badRequest('Contents are being moved already: one run at a time.', { name: 'id', id: fromId })
      })
    },

    /** The latest runs, newest first. */
    list: async (): Promise<LocationMove[]> => (await store.readMoves(db, mostShown)).map(render),

    /** Continues a run in progress. To be called once, with the jobs ready. */
    async wake(): Promise<void> {
      const [latest] = await store.readMoves(db, 1)
      if (latest?.status !== 'running' || (await openKeys(db, [job])).has(job)) return
      await db.transaction((tx) => enqueue(tx, latest.id))
    },

    /** Ends a run; moved contents stay at the target. A finished run is not changed. @throws {AppError} `ResourceNotFound`. */
    async stop(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageLocations)
      if (await store.endMove(db, id, 'stopped', null)) return
      if (!(await store.isKnown(db, id))) throw new AppError('ResourceNotFound', { id })
    },
  }
}
