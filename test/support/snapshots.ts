import { pino } from 'pino'
import { type Bus, createBus } from '../../src/platform/postgres/bus.ts'
import type { Db } from '../../src/platform/postgres/db.ts'
import { openPipelinedReads } from '../../src/platform/postgres/pipelined-reads.ts'
import { createSnapshots, type Snapshots, type SnapshotsOptions } from '../../src/platform/postgres/snapshot.ts'

export interface Memory extends AsyncDisposable {
  readonly bus: Bus
  readonly snapshots: Snapshots
}

/** What a further process keeps in memory, for tests of one capability without the rest of the service. */
export async function openMemory(
  db: Db,
  options: Partial<Pick<SnapshotsOptions, 'now' | 'highestAge' | 'longestOutdated'>> = {},
): Promise<Memory> {
  const log = pino({ level: 'silent' })
  const bus = await createBus({ db, log })
  const quick = openPipelinedReads({ db })
  const snapshots = createSnapshots({ bus, reads: quick.alone, log, ...options })
  return {
    bus,
    snapshots,
    async [Symbol.asyncDispose]() {
      snapshots.close()
      await quick.close()
      await bus.close()
    },
  }
}
