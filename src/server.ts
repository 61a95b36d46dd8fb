import { access, constants, mkdir, mkdtemp, rmdir } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { type App, buildApp } from './app.ts'
import { registerBackendConsole } from './inspect/backend.ts'
import type { Config } from './platform/config/config.ts'
import { shareConnections } from './platform/config/connections.ts'
import { createBackend } from './platform/http/backend.ts'
import { assertMemory } from './platform/memory/start-check.ts'
import { openDb } from './platform/postgres/db.ts'
import { startEmbeddedPostgres } from './platform/postgres/embedded.ts'
import { checkExternalPostgres } from './platform/postgres/external.ts'
import { assertSameInstance, noteInstance } from './platform/postgres/instance-id.ts'
import { migrate } from './platform/postgres/migrate.ts'
import { databaseName } from './platform/postgres/own-database.ts'
import { createLog } from './platform/process/log.ts'
import { startTracing } from './platform/tracing/start.ts'
import { version } from './platform/version.ts'

export interface RunningService {
  /** Address on which the service listens. */
  readonly url: string
  readonly app: App
  /** Lets requests in flight finish, then stops everything that `startServer` started. */
  stop(): Promise<void>
  /** Stops PostgreSQL at once, without waiting for requests and jobs. The process must end after it. */
  abandon(): Promise<void>
}

/** Stops in the reverse order of the start; a part that fails does not keep the others running. */
class Closers {
  readonly #actions: (() => Promise<unknown>)[] = []

  /** The part that is started first and stopped last: PostgreSQL, if it is our own. */
  #last: () => Promise<unknown> = async () => {}

  add(action: () => Promise<unknown>): void {
    this.#actions.unshift(action)
  }

  addLast(action: () => Promise<unknown>): void {
    this.#last = action
  }

  async run(): Promise<void> {
    const failures: unknown[] = []
    for (const action of [...this.#actions.splice(0), this.#last])
      await action().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  async runLast(): Promise<void> {
    await this.#last()
  }
}

/**
 * Database, migrations, service, listening: the whole start. `onStep` gets one line for each step.
 * @throws {Error} with a message of one readable line; the parts that were started are stopped again.
 */
export async function startServer(config: Config, onStep: (step: string) => void): Promise<RunningService> {
  const closers = new Closers()
  try {
    const running = await start(config, onStep, closers)
    return { ...running, stop: () => closers.run(), abandon: () => closers.runLast() }
  } catch (error) {
    await closers.run().catch(() => {})
    throw error
  }
}

async function start(
  config: Config,
  onStep: (step: string) => void,
  closers: Closers,
): Promise<Omit<RunningService, 'stop' | 'abandon'>> {
  assertMemory(config.memory)
  await checkDataFolder(config.dataDir)
  const log = createLog(config)
  if (config.tracingEndpoint !== null) {
    const tracing = {
      endpoint: config.tracingEndpoint,
      ratio: config.tracingPercent / 100,
      version,
      onTrouble: (reason: string) => log.warn({ reason }, 'traces are lost'),
    }
    closers.add(await startTracing(tracing))
    onStep(`traces go to ${config.tracingEndpoint}`)
  }
  const dsn = config.dbDsn ? await useExternal(config.dbDsn, onStep) : await useEmbedded(config, onStep, closers)
  await assertSameInstance(dsn, config.dataDir)
  const applied = await migrate(dsn, (text) => onStep(`to be looked at: ${text}`), onStep)
  await noteInstance(dsn, config.dataDir)
  onStep(applied.length > 0 ? `applied ${applied.length} migrations` : 'the database is up to date')
  const db = openDb({
    connectionString: dsn,
    maxConnections: shareConnections(config.dbMaxConnections).pool,
    applicationName: 'strongroom',
    lockTimeout: config.lockTimeout,
    // Not the error itself: it contains the whole connection.
    onError: (error) => log.warn({ reason: error.message }, 'the database layer reports a failure'),
  })
  closers.add(() => db.close())
  const app = await buildApp(config, { db, log })
  closers.add(() => app.close())
  const backend = config.backendPort === null ? null : createBackend({ db, http: app.http, measures: app.measures })
  if (backend) {
    registerBackendConsole(backend, {
      ...app.console,
      log,
      actions: config.backendActions,
      host: config.backendHost,
      timeLimit: 1000 * config.readTimeLimit,
    })
  }
  // Closed late, so that /ready answers 503 while requests finish.
  if (backend) closers.add(() => backend.close())
  closers.add(() => app.http.close())
  const url = await listen(app.http, config.host, config.port, { host: 'SVC_HOST', port: 'SVC_PORT' })
  closers.add(() => app.http.traffic.drain(config.stopTimeout * 1000))
  if (backend && config.backendPort !== null) {
    const settings = { host: 'SVC_BACKEND_HOST', port: 'SVC_BACKEND_PORT' }
    const at = await listen(backend, config.backendHost, config.backendPort, settings)
    onStep(`metrics at ${at}/metrics, the console without sign-in at ${at}/inspect/`)
  }
  return { url, app }
}

async function checkDataFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true })
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    // Permissions do not reveal folders such as /proc, which root may write to and no process can.
    await rmdir(await mkdtemp(join(path, '.writable-')))
  } catch (cause) {
    throw new Error(`cannot use the data folder ${path} (SVC_DATA_DIR): ${(cause as Error).message}`, { cause })
  }
}

async function useExternal(dsn: string, onStep: (step: string) => void): Promise<string> {
  await checkExternalPostgres(dsn)
  onStep('connected to the configured PostgreSQL')
  return dsn
}

async function useEmbedded(config: Config, onStep: (step: string) => void, closers: Closers): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    connections: config.dbMaxConnections,
    database: databaseName,
    onStep,
    onTrouble: onStep,
  })
  closers.addLast(() => postgres.stop())
  return postgres.dsn
}

async function listen(
  server: Pick<FastifyInstance, 'listen' | 'addresses'>,
  host: string,
  port: number,
  settings: { readonly host: string; readonly port: string },
): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (cause) {
    throw new Error(
      `cannot listen on ${host}, port ${port}: ${listenFailure(cause as NodeJS.ErrnoException, settings)}`,
      {
        cause,
      },
    )
  }
  const { address, family, port: actual } = server.addresses()[0] as AddressInfo
  const name = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `http://${name}:${actual}`
}

/** The reason, and the setting that changes it. */
function listenFailure({ code, message }: NodeJS.ErrnoException, settings: { host: string; port: string }): string {
  switch (code) {
    case 'EADDRINUSE':
      return `another program listens there; set another port (${settings.port})`
    case 'EACCES':
      return `this user may not use the port; set one above 1023 (${settings.port})`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `this machine has no such address; set another one (${settings.host})`
    default:
      return message
  }
}
