/** Checks all collections that share something, in the background or before other rights on objects are stored. */
import type { Jobs } from '../../jobs/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { ContainerGrants, ShareOptions } from '../../rights/service.ts'
import type { ShareCheck } from './check.ts'

const job = 'collections-check'

/** The position of a job, and how long it works at a time. */
interface Look {
  readonly after: number
  readonly timeLimit: number | null
}

/** Collections in one transaction. */
const atOnce = 200

export interface LaterDeps {
  readonly db: Db
  readonly jobs: Pick<Jobs, 'register' | 'enqueue'>
  readonly check: Pick<ShareCheck, 'shared' | 'settle'>
}

export function shareChecks({ db, jobs, check }: LaterDeps) {
  const ask = (tx: Tx, look: Look): Promise<void> =>
    jobs.enqueue(tx, job, look, { key: `${job}:${look.after}` }) as Promise<void>

  jobs.register<Look>(
    job,
    async ({ after, timeLimit }) => {
      const begun = Date.now()
      const all = (await check.shared(db, null)).filter((id) => id > after)
      for (let start = 0; start < all.length; start += atOnce) {
        const ids = all.slice(start, start + atOnce)
        await db.transaction((tx) => check.settle(tx, null, { ids }, { allow: true, background: true }))
        const last = ids.at(-1) as number
        if (timeLimit === null || Date.now() - begun < timeLimit || start + atOnce >= all.length) continue
        return db.transaction((tx) => ask(tx, { after: last, timeLimit }))
      }
    },
    'standard',
  )

  return {
    /** Checks all collections some time after the transaction. */
    later: (tx: Tx, timeLimit?: number): Promise<void> => ask(tx, { after: 0, timeLimit: timeLimit ?? null }),

    /**
     * Before grants of pools or object types are stored: asks for a confirmation, or queues the check.
     * @throws {AppError} `UrlParameterNotSupported`. @throws {Unconfirmed}
     */
    async settle(tx: Tx, actor: Actor, containers: ContainerGrants, options: ShareOptions): Promise<void> {
      if (options.background) return ask(tx, { after: 0, timeLimit: options.timeLimit ?? null })
      await check.settle(tx, actor, { ids: await check.shared(tx, null), containers }, options)
    },
  }
}
