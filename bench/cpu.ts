import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'

/** Milliseconds of a clock tick in `/proc`. */
const tick = 10

interface Stat {
  readonly parent: number
  /** Processor time of the process, and of its children that have ended, in milliseconds. */
  readonly own: number
  readonly ended: number
}

/** Null where the system does not provide it, or the process has ended. */
async function statOf(pid: number | string): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name before it may contain spaces and brackets.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [, parent = 0] = fields
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11)
  return { parent, own: (user + system) * tick, ended: (endedUser + endedSystem) * tick }
}

/** Processor time in milliseconds so far: on a busy machine it is more reliable than the clock. `NaN` where it is unknown. */
export async function processTime(pid: number): Promise<number> {
  return (await statOf(pid))?.own ?? Number.NaN
}

/**
 * Processor time of the threads of a process, in milliseconds, to the microsecond: clock ticks are too long for a few requests. Threads
 * that have ended do not count.
 */
async function threadsTime(pid: number | string): Promise<number> {
  const folder = `/proc/${pid}/task`
  const threads = await readdir(folder).catch(() => [])
  const times = threads.map((each) => readFile(`${folder}/${each}/schedstat`, 'utf8').catch(() => '0'))
  return (await Promise.all(times)).reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e6, 0)
}

/** Processor times in milliseconds so far. */
export interface Spent {
  readonly service: number
  readonly postgres: number
}

/** Reads what a service and its PostgreSQL have spent, without a connection that would itself be counted. */
export async function createMeter(pid: number, dsn: string): Promise<() => Promise<Spent>> {
  const main = await postgresPid(dsn)
  const postgres = async (): Promise<number> => {
    const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const parents = await Promise.all(names.map(async (name) => ({ name, stat: await statOf(name) })))
    const own = parents.filter(({ name, stat }) => stat?.parent === main || name === String(main))
    const times = await Promise.all(own.map(({ name }) => threadsTime(name)))
    const ended = (await statOf(main))?.ended ?? Number.NaN
    return times.reduce((sum, time) => sum + time, ended)
  }
  return async () => ({ service: await threadsTime(pid), postgres: await postgres() })
}

/** The same for its child processes, including ended ones. */
export async function childrenTime(pid: number): Promise<number> {
  const all = await allProcesses()
  const own = await statOf(pid)
  return all.reduce(
    (sum, stat) => (stat?.parent === pid ? sum + stat.own + stat.ended : sum),
    own ? own.ended : Number.NaN,
  )
}

async function allProcesses(): Promise<(Stat | null)[]> {
  return Promise.all((await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(statOf))
}

/** The same for all processes of PostgreSQL together. */
export async function postgresTime(dsn: string): Promise<number> {
  const main = await postgresPid(dsn)
  const all = await allProcesses()
  const top = await statOf(main)
  return all.reduce(
    (sum, stat) => (stat?.parent === main ? sum + stat.own : sum),
    top ? top.own + top.ended : Number.NaN,
  )
}

/** The process of PostgreSQL that has started all others of it. */
export async function postgresPid(dsn: string): Promise<number> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
    return (await statOf(rows[0]?.pid ?? 0))?.parent ?? 0
  } finally {
    await db.end()
  }
}
