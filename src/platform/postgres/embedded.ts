import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type InstanceLock, takeInstanceLock } from '../process/instance-lock.ts'
import { freshFile, giveFolder, readForeign } from '../process/own-folders.ts'
import { isAlive } from '../process/processes.ts'
import { assertNoTraces, clusterState, instanceTraces } from './cluster.ts'
import { quoteIdentifier } from './literals.ts'
import { fileSystems, type PostgresFolders, preparePostgresFolders, removeOutsideFolders } from './server-files.ts'
import { postgresSettings, thisMachine } from './settings.ts'
import { startLog, whyItEnded } from './start-failure.ts'

export interface EmbeddedPostgres {
  /** Connection string of `database`. */
  readonly dsn: string
  /** Stops the server cleanly and releases the data folder. */
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /** The service's data folder; the server lives in `postgres` below it. */
  dataDir: string
  /** Created when missing. */
  database: string
  /** False only for test servers: faster, but a crash of the machine loses the data. */
  durable?: boolean
  /** Maximum number of connections of the service. */
  connections?: number
  /** A new database may be created beside the traces of an instance: for a restore. */
  besideTraces?: boolean
  /** Called with each step of the start. */
  onStep: (step: string) => void
  /** Called when the server ended unexpectedly, and when it is back. */
  onTrouble: (message: string) => void
}

const superuser = 'strongroom'

/** A running server process: our child, or the server of an earlier, killed service. */
interface ServerProcess {
  readonly pid: number
  readonly exited: Promise<void>
}

/**
 * Starts the PostgreSQL of the npm package, or takes over the server that a killed service left running. From then on, a server
 * that dies is started again. @throws {Error} with one readable line.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  // Before any file is created in it.
  const found = await instanceTraces(options.dataDir)
  const folders = await preparePostgresFolders(options.dataDir)
  const lock = await takeInstanceLock(join(folders.run, 'instance.sock'))
  try {
    return await startLocked(options, folders, lock, found)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Connection string of the server that the service on this data folder is running, for commands beside it.
 * @throws {Error} when none answers within ten seconds.
 */
export async function runningPostgres(dataDir: string, database: string): Promise<string> {
  const folders = await preparePostgresFolders(dataDir)
  await answers(folders, 10_000)
  return connectionString(folders, database)
}

async function startLocked(
  options: EmbeddedPostgresOptions,
  folders: PostgresFolders,
  lock: InstanceLock,
  found: readonly string[],
): Promise<EmbeddedPostgres> {
  const launcher = await createLauncher(folders, options)
  let server = await firstServer(options, folders, launcher, found)
  let stopping = false
  const watch = async (): Promise<void> => {
    while (!stopping) {
      await server.exited
      if (stopping) return
      options.onTrouble('PostgreSQL ended unexpectedly; starting it again')
      server = await restart(launcher, options.onTrouble, () => stopping)
      options.onTrouble('PostgreSQL is back')
    }
  }
  await ensureDatabase(folders, options.database)
  const watching = watch().catch((error: Error) => options.onTrouble(error.message))
  const stop = async (): Promise<void> => {
    stopping = true
    await stopServer(server)
    await watching
    // It may have been restarted a moment ago.
    await stopServer(server)
    await removeOutsideFolders(folders)
    await lock.release()
  }
  let stopped: Promise<void> | null = null
  return {
    dsn: connectionString(folders, options.database),
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

async function firstServer(
  options: EmbeddedPostgresOptions,
  folders: PostgresFolders,
  launcher: Launcher,
  found: readonly string[],
): Promise<ServerProcess> {
  const running = await adoptRunningServer(folders)
  if (running) {
    options.onStep(`took over the running PostgreSQL (process ${running.pid})`)
    return running
  }
  if ((await clusterState(folders)) === 'missing') {
    if (!options.besideTraces) assertNoTraces(options.dataDir, found)
    options.onStep('creating the PostgreSQL data folder, which takes some seconds')
    await createCluster(folders)
    options.onStep('created the PostgreSQL data folder')
  }
  const started = await startAfterCrash(launcher)
  options.onStep(`started PostgreSQL (process ${started.pid})`)
  return started
}

/** The processes of a server that was just killed may take a while to notice. */
async function startAfterCrash(launcher: Launcher): Promise<ServerProcess> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      return await launcher.start(() => false)
    } catch (error) {
      if (!/pre-existing shared memory block|lock file/.test((error as Error).message) || Date.now() > deadline)
        throw error
      await sleep(250)
    }
  }
}

interface Launcher {
  /** Waits as long as the server needs: after a crash it replays its log. Once `givenUp` returns true it is stopped. */
  start(givenUp: () => boolean): Promise<ServerProcess>
}

async function createLauncher(
  folders: PostgresFolders,
  { durable = true, connections = 0 }: Pick<EmbeddedPostgresOptions, 'durable' | 'connections'>,
): Promise<Launcher> {
  const settings = {
    ...postgresSettings(thisMachine(await fileSystems(folders)), { durable, connections }),
    unix_socket_directories: folders.run,
  }
  const args = [
    '-D',
    folders.dataAsSeen,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  return {
    async start(givenUp) {
      await removeStalePidFile(folders)
      const begun = new Date()
      const child = await run(folders, 'postgres', args)
      const failed = exitOf(child).then(async () => {
        throw new Error(`PostgreSQL does not start: ${await whyItEnded(folders, begun, child)}`)
      })
      failed.catch(() => {})
      let ended = false
      try {
        await Promise.race([failed, answers(folders, Number.POSITIVE_INFINITY, () => ended || givenUp())])
      } catch (error) {
        if (child.pid && child.exitCode === null && child.signalCode === null) await stopServer({ pid: child.pid })
        throw error
      } finally {
        ended = true
      }
      return { pid: child.pid ?? 0, exited: exitOf(child) }
    },
  }
}

async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** The backends of a killed server need a moment to notice; until they have ended, a new server refuses to start. */
async function restart(
  launcher: Launcher,
  onTrouble: (message: string) => void,
  given: () => boolean,
): Promise<ServerProcess> {
  for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
    try {
      return await launcher.start(given)
    } catch (error) {
      if (given()) throw error
      if (pause > 1000) onTrouble((error as Error).message)
      await sleep(pause)
    }
  }
}

/**
 * Runs a program of the server in its own session, so that Ctrl+C in the terminal reaches the service only. It may have ended when
 * this returns, so its exit is awaited by `exitOf`, never by the event alone. @throws {Error} when it cannot be started.
 */
async function run(folders: PostgresFolders, program: 'initdb' | 'postgres', args: string[]): Promise<ChildProcess> {
  await using log = await freshFile(startLog(folders))
  const child = spawn(join(folders.server, 'bin', program), args, {
    cwd: folders.data,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    ...(folders.identity ?? {}),
  })
  await once(child, 'spawn')
  return child.on('error', () => {})
}

/**
 * Creates the cluster beside its place and moves it there when complete, so an interrupted start leaves no incomplete cluster
 * there. Its partial folder stays, since it may belong to another process. The default collation is by code point: fast, and equal
 * on every machine; sorting for people names an ICU collation. The C library's character classes are Unicode's, which trigrams
 * depend on.
 */
async function createCluster(folders: PostgresFolders): Promise<void> {
  // A unique name: the initdb of a killed service may still be writing to the last one.
  const partial: PostgresFolders = { ...folders, data: `${folders.data}.new-${randomBytes(4).toString('hex')}` }
  if (partial.dataAsSeen === folders.data) partial.dataAsSeen = partial.data
  await mkdir(partial.data, { mode: 0o700 })
  await giveFolder(partial.data, folders.identity, 0o700)
  const begun = new Date()
  const child = await run(partial, 'initdb', [
    ...['-D', partial.dataAsSeen, '--username', superuser, '--auth', 'trust', '--encoding', 'UTF8'],
    ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--lc-collate', 'C'],
    ...['--lc-ctype', process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8', '--no-instructions'],
  ])
  await exitOf(child)
  if (child.exitCode !== 0)
    throw new Error(`cannot create the PostgreSQL data folder: ${await whyItEnded(partial, begun, child)}`)
  await rename(partial.data, folders.data)
}

/**
 * The running server of a killed service, once it answers; null when there is none. Its client connections belong to the killed
 * service: they are ended, so that none of its locks remain.
 */
async function adoptRunningServer(folders: PostgresFolders): Promise<ServerProcess | null> {
  const pid = await runningPid(folders)
  if (pid === null) return null
  // It may be recovering.
  const deadline = Date.now() + 600_000
  while (isAlive(pid)) {
    if (await connects(folders)) {
      await query(
        folders,
        `select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
      return { pid, exited: untilGone(pid) }
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL (process ${pid}) runs on the data folder but does not answer`)
    await sleep(50)
  }
  return null
}

/** The process in the cluster's pid file, if it is alive and a PostgreSQL. */
async function runningPid(folders: PostgresFolders): Promise<number | null> {
  const pid = Number.parseInt(await readForeign(join(folders.data, 'postmaster.pid')), 10)
  if (!(pid > 0) || !isAlive(pid)) return null
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'postgres')
  if (name.trim() !== 'postgres') return null
  // The file belongs to the server's user, who must not be able to name a process of another user: that process will be stopped.
  const owner = await stat(`/proc/${pid}`).catch(() => null)
  return owner === null || folders.identity === null || owner.uid === folders.identity.uid ? pid : null
}

/** After a reboot, or in a new container, the noted process id may belong to any other process, and PostgreSQL would not start. */
async function removeStalePidFile(folders: PostgresFolders): Promise<void> {
  if ((await runningPid(folders)) === null) await rm(join(folders.data, 'postmaster.pid'), { force: true })
}

async function untilGone(pid: number): Promise<void> {
  // Keeps this process alive: otherwise a start that fails while it stops this server would end silently, with exit code 0.
  while (isAlive(pid)) await sleep(250)
}

/**
 * Fast shutdown; a server that does not end within a minute is stopped at once and recovers at the next start. An adopted server is
 * no child process whose exit could be awaited, so its pid is polled until it has ended.
 */
async function stopServer({ pid }: Pick<ServerProcess, 'pid'>): Promise<void> {
  if (!isAlive(pid)) return
  process.kill(pid, 'SIGINT')
  const deadline = Date.now() + 60_000
  while (isAlive(pid) && Date.now() < deadline) await sleep(20)
  if (!isAlive(pid)) return
  process.kill(pid, 'SIGQUIT')
  while (isAlive(pid)) await sleep(20)
}

function connectionString(folders: PostgresFolders, database: string): string {
  return `postgresql://${superuser}@/${encodeURIComponent(database)}?host=${encodeURIComponent(folders.run)}`
}

async function query(folders: PostgresFolders, text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: connectionString(folders, 'postgres'),
    connectionTimeoutMillis: 5000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.query(text, values)
  } finally {
    await client.end().catch(() => {})
  }
}

async function connects(folders: PostgresFolders): Promise<boolean> {
  return query(folders, 'select 1').then(
    () => true,
    () => false,
  )
}

async function answers(folders: PostgresFolders, milliseconds: number, givenUp = () => false): Promise<void> {
  const deadline = Date.now() + milliseconds
  while (!(await connects(folders))) {
    if (givenUp() || Date.now() > deadline) throw new Error('PostgreSQL was started but does not answer')
    await sleep(25)
  }
}

async function ensureDatabase(folders: PostgresFolders, name: string): Promise<void> {
  const { rowCount } = await query(folders, 'select from pg_database where datname = $1', [name])
  if (rowCount === 0) await query(folders, `create database ${quoteIdentifier(name)}`)
}
