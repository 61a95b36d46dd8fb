import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { ServiceProcess } from '../test/support/process.ts'
import type { SmallDisk } from './disk.ts'
import type { Random } from './random.ts'

export const faultNames = ['service', 'postgres', 'both', 'backend', 'disk'] as const
export type FaultName = (typeof faultNames)[number]

export interface Victim {
  readonly dataDir: string
  readonly service: ServiceProcess
  readonly disk: SmallDisk | null
  readonly random: Random
}

export const dsnOf = (dataDir: string): string =>
  `postgresql://strongroom@/strongroom?host=${encodeURIComponent(join(dataDir, 'postgres', 'run'))}`

const postmaster = async ({ dataDir }: Victim): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10)

/** Causes a fault in the middle of the load. Answers whether the service has to be restarted. */
export const faults: Record<FaultName, (victim: Victim) => Promise<boolean>> = {
  async service({ service }) {
    service.child.kill('SIGKILL')
    await service.exited
    return true
  },
  async postgres(victim) {
    process.kill(await postmaster(victim), 'SIGKILL')
    return false
  },
  async both(victim) {
    const pid = await postmaster(victim)
    victim.service.child.kill('SIGKILL')
    process.kill(pid, 'SIGKILL')
    await victim.service.exited
    return true
  },
  /** Kills one process of PostgreSQL that serves the service: then PostgreSQL restarts all others. */
  async backend({ dataDir, random }) {
    const client = new pg.Client({ connectionString: dsnOf(dataDir) })
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'strongroom' order by state = 'idle', pid`,
    )
    const busiest = rows.slice(0, 5)
    process.kill((random.pick(busiest) ?? rows[0])?.pid as number, 'SIGKILL')
    await client.end().catch(() => {})
    return false
  },
  async disk({ disk, random }) {
    if (!disk) throw new Error('there is no small disk')
    await disk.fill()
    // Space that PostgreSQL frees while it cleans up is filled, too.
    for (let n = 4 + random.below(12); n > 0; n--) {
      await sleep(250)
      await disk.fill()
    }
    await disk.empty()
    return false
  },
}
