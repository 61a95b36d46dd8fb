import type { Logger } from 'pino'
import { createJobs } from '../jobs/service.ts'
import type { SaveCallback } from '../objects/service.ts'
import type { Config } from '../platform/config/config.ts'
import { shareConnections } from '../platform/config/connections.ts'
import { laneSetting, ofLanes } from '../platform/config/job-lanes.ts'
import { createRequestLimiter } from '../platform/limits/request-limiter.ts'
import { divideMemory } from '../platform/memory/shares.ts'
import { createBus } from '../platform/postgres/bus.ts'
import type { Db } from '../platform/postgres/db.ts'
import { openPipelinedReads } from '../platform/postgres/pipelined-reads.ts'
import { watchSlowStatements } from '../platform/postgres/slow-statements.ts'
import { createSnapshots } from '../platform/postgres/snapshot.ts'
import { createStandstill } from '../platform/postgres/standstill.ts'
import { createForeground } from '../platform/process/foreground.ts'
import { createSignal } from '../platform/process/signal.ts'
import { createSeal } from '../platform/secrets/seal.ts'
import type { SearchIndex, SearchIndexOptions } from '../search/service.ts'
import type { LoginPart, PasswordCost } from '../signin/service.ts'

/** The dependencies of a service. Tests replace some of them. */
export interface Given {
  readonly config: Config
  readonly db: Db
  readonly log: Logger
  /** Version of ICU. */
  readonly icu?: string
  /** The cost of password hashes, if it is not the default. */
  readonly passwordCost?: PasswordCost
  /** Further steps of the sign-in on the pages. */
  readonly loginParts?: readonly LoginPart[]
  /** Another index instead of the one in PostgreSQL, with its search engine. */
  readonly searchIndex?: (options: SearchIndexOptions) => SearchIndex
  /**
   * Callbacks before a change of objects is written, in this order. The list is read at each change, so callbacks can be switched
   * on.
   */
  readonly saveCallbacks?: () => readonly SaveCallback[]
}

export type Ground = Awaited<ReturnType<typeof composeGround>>

/** The foundation of all capabilities. `opened` collects resources to be closed. */
export async function composeGround({ config, db, log }: Given, opened: AsyncDisposableStack) {
  const bus = await createBus({ db, log })
  opened.defer(() => bus.close())
  const shares = shareConnections(config.dbMaxConnections)
  const pipelined = openPipelinedReads({ db, connections: shares.pipelined })
  opened.defer(() => pipelined.close())
  const pages = shares.pages > 0 ? openPipelinedReads({ db, connections: shares.pages }) : null
  opened.defer(() => pages?.close())
  const snapshots = createSnapshots({ bus, reads: pipelined.alone, log })
  opened.defer(() => snapshots.close())
  const standstill = await createStandstill({ db, bus, log, whenCurrent: snapshots.whenCurrent })
  opened.defer(() => standstill.close())
  const slowStatements = watchSlowStatements({ db, log, from: config.slowStatement })
  opened.defer(() => slowStatements.close())
  return {
    memory: divideMemory(config.memory),
    bus,
    standstill,
    seal: createSeal(config),
    shares,
    pipelined,
    pages: pages ?? db,
    snapshots,
    jobs: createJobs({
      db,
      log,
      concurrency: ofLanes((lane) => config[laneSetting(lane)]),
      upToDate: snapshots.upToDate,
    }),
    heavyRequests: createRequestLimiter({
      concurrency: config.heavyRequests,
      waitingOfCaller: config.quotaHeavyRequests,
    }),
    slowStatements,
    foreground: createForeground(),
    /** Something for the index is committed. */
    queued: createSignal(),
  }
}
