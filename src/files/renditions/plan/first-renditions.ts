import type { Attempt, Jobs } from '../../../jobs/service.ts'
import { createShares } from '../../../platform/limits/shares.ts'
import type { Db, Tx } from '../../../platform/postgres/db.ts'
import type { FileClass } from '../../classes.ts'
import type { ProduceJob } from '../make/produce.ts'
import { maxAttempts } from '../model.ts'
import type { Precedence } from '../recipes/precedence.ts'
import { isDirect } from '../sources/sources.ts'

/** A new file: its first renditions are made now, then the others. */
export interface NewFileJob {
  readonly fileId: number
  /** Added to the priorities of its renditions. */
  readonly priority: number
  /** The user for whom it is done (`callerOf`). */
  readonly who: string
}

export const newFileJob = 'files.new'

export interface FirstRenditionsOptions {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'runLocally'>
  /** Number of files whose first renditions are made at the same time. */
  readonly most: number
  readonly precedence: Precedence
  readonly produce: (job: ProduceJob, context: Attempt) => Promise<void>
  /** Queues the other renditions of files. */
  readonly scheduleRest: (tx: Tx, files: readonly NewFileJob[]) => Promise<void>
}

export type FirstRenditions = ReturnType<typeof createFirstRenditions>

/** Files in work for each one whose renditions are being made: others are opened and stored meanwhile. */
const besides = 2
/** Files that may wait in this process, for each one in work: further files are queued, so that other processes share them. */
const waitingForEach = 4
/** Milliseconds after which other renditions are queued even if more files arrive. */
const longest = 2000

/**
 * First renditions of new pictures: this process begins them as soon as the pictures are stored. It queues the other
 * renditions when no more pictures arrive for a moment, those of several files at once. So nothing delays the first view
 * of a picture. Should the process end, others take over (`takeOver`).
 */
export function createFirstRenditions({ db, jobs, most, precedence, produce, scheduleRest }: FirstRenditionsOptions) {
  let here = 0
  /** One more place than `most` is for users without work in progress, so that another user's slow files do not delay them. */
  const shares = createShares(most * besides)
  let rest: { readonly files: NewFileJob[]; readonly stored: Promise<void> } | null = null

  async function makeFirst({ fileId, who }: NewFileJob, context: Attempt): Promise<void> {
    here++
    try {
      const work = (): Promise<void> => produce({ fileId, priority: 0 }, context)
      await precedence.ahead(() => shares.run(who, work, context.signal))
    } finally {
      here--
    }
  }

  /** Queues it together with the files that arrive until it is quiet. */
  function queueRest(file: NewFileJob, signal: AbortSignal): Promise<void> {
    if (rest) {
      rest.files.push(file)
      return rest.stored
    }
    const files = [file]
    const stored = precedence.turn(signal, longest).then(() => {
      rest = null
      return db.transaction((tx) => scheduleRest(tx, files))
    })
    rest = { files, stored }
    return stored
  }

  return {
    /** Whether the first renditions of such a file can be made here. */
    takes: ({ class: kind, extension }: { readonly class: FileClass; readonly extension: string }): boolean =>
      kind === 'image' && isDirect(extension),

    /** The number of further files for which this process has room. */
    room: (): number => Math.max(0, most * (1 + waitingForEach) - here),

    /** Makes the renditions of files in this process, after the commit; false when that is not possible. */
    add: (tx: Tx, files: readonly NewFileJob[]): Promise<boolean> =>
      jobs.runLocally(
        tx,
        files.map((file) => ({
          name: newFileJob,
          payload: file,
          priority: file.priority,
          maxAttempts,
          run: async (attempt) => {
            await makeFirst(file, attempt)
            await queueRest(file, attempt.signal)
          },
        })),
      ),

    /** The same for a file of a process that has ended. */
    async takeOver(file: NewFileJob, context: Attempt): Promise<void> {
      await precedence.ahead(() => produce({ fileId: file.fileId, priority: 0 }, context))
      await db.transaction((tx) => scheduleRest(tx, [file]))
    },
  }
}
