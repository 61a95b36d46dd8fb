import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { pino } from 'pino'
import { type App, buildApp } from '../../src/app.ts'
import type { SaveCallback } from '../../src/objects/service.ts'
import type { Config } from '../../src/platform/config/config.ts'
import { fewestConnections, shareConnections } from '../../src/platform/config/connections.ts'
import { type Db, openDb } from '../../src/platform/postgres/db.ts'
import type { LoginPart, PasswordCost } from '../../src/signin/service.ts'
import { type Client, createClient, type Inject, type InjectResponse } from './client.ts'
import { runs } from './left-running.ts'
import { createTestDatabase } from './postgres.ts'
import { type MakeSearchIndex, otherSearchIndex } from './search-index.ts'
import { without } from './without.ts'

/** Settings, and what is given in place of the machine's own. */
export type TestServiceOptions = Partial<Config> & {
  icu?: string
  loginParts?: readonly LoginPart[]
  passwordCost?: PasswordCost
  saveCallbacks?: () => readonly SaveCallback[]
  searchIndex?: MakeSearchIndex
}

/** A whole service on a database of its own. `await using svc = await startService()` removes it at the block's end. */
export interface TestService extends AsyncDisposable {
  readonly app: App
  readonly db: Db
  readonly config: Config
  /** Connection string of the service's database. */
  readonly dsn: string
  /** A raw request without a socket. */
  inject(request: InjectOptions): Promise<InjectResponse>
  /**
   * A client with the token of that user (`null`: none). The user `root` has the configured password; any other user
   * must exist already, its password is `password`, by default its login. Tokens are kept, so ask as often as you like.
   */
  as(login: string | null, password?: string): Client
  /** Waits until the index queue and all jobs are done. */
  drain(): Promise<void>
  /** Listens on a free port and returns the base address, for tests that need real sockets. */
  listen(): Promise<string>
}

/** The configuration of test services; no test depends on the machine's own configuration. */
export function testConfig(dsn: string, options: Partial<Config> = {}): Config {
  return {
    // Made by what stores something there.
    dataDir: join(tmpdir(), `strongroom-test-${crypto.randomUUID()}`),
    host: '127.0.0.1',
    port: 0,
    backendHost: '127.0.0.1',
    backendPort: null,
    backendActions: false,
    debugSqlQuery: false,
    externalUrl: 'http://localhost:8080',
    dbDsn: dsn,
    // Few: each is a process of PostgreSQL that reads the catalogues and plans for itself, which is a tenth of what tests cost.
    dbMaxConnections: fewestConnections,
    databaseName: 'test',
    rootPassword: 'root-test-password',
    secretKey: 'a key that all test services share, 32',
    secretKeyBefore: null,
    memory: 512,
    logLevel: 'silent',
    readOnly: false,
    allowPurge: true,
    allowPurgeAll: false,
    bodyLimit: 64 * 1024 * 1024,
    answerLimit: 64 * 1024 * 1024,
    requestTimeout: 300,
    maxConnections: 2000,
    quotaConnections: 25,
    quotaHeavyRequests: 50,
    quotaEventBytes: 64 * 1024,
    quotaEvents: 10_000,
    quotaEventStorage: 20 * 1024 * 1024,
    quotaUploads: 200,
    quotaUploadBytes: 2 ** 40,
    quotaHotfolderFiles: 20_000,
    quotaHotfolderBytes: 100 * 2 ** 30,
    quotaPointsInTime: 10,
    indexCheckPause: 0,
    indexCheckEvery: 24,
    quotaAllPointsInTime: 200,
    quotaPointInTimeHits: 1_000_000,
    quotaSignIns: 1000,
    quotaDeepLinks: 10_000,
    quotaMails: 500,
    quotaTasks: 1000,
    quotaShareLinks: 1000,
    quotaPromises: 100_000,
    slowStatement: 0,
    tracingEndpoint: null,
    tracingPercent: 100,
    quotaCollections: 10_000,
    quotaCollectionEntries: 5_000_000,
    quotaExports: 1000,
    quotaExportRuns: 1,
    quotaArchives: 3,
    quotaShares: 100,
    quotaSessions: 1000,
    quotaStreams: 20,
    slowGrace: 60,
    leastRate: 1000,
    readTimeLimit: 30,
    writeTimeLimit: 300,
    heavyRequests: 2,
    jobsQuick: 4,
    jobsWebhook: 2,
    jobsStandard: 1,
    jobsExport: 2,
    jobsPreview: 1,
    jobsMedia: 2,
    jobsTask: 1,
    jobsBackup: 1,
    corsOrigins: [],
    trustedProxies: ['loopback'],
    stopTimeout: 10,
    versionConvention: 'stored',
    identifierAliases: [],
    lockTimeout: 2000,
    allowPrivateWebhooks: true,
    allowPrivateExports: true,
    pluginPaths: [],
    allowPluginInstall: true,
    allowPrivatePlugins: true,
    pluginServices: [],
    pluginSeconds: 30,
    pluginWait: 60,
    pluginMemory: 512,
    pluginOutput: 16,
    pluginPlaces: 4,
    pluginVersionConvention: null,
    outgoingAnswerLimit: 4 * 1024 * 1024,
    outgoingTimeout: 120,
    fileFolders: [],
    mappingPaths: [],
    leastFreeDisk: 0,
    pgDump: '',
    hotfolderPath: null,
    hotfolderReserve: 0,
    allowPrivateFiles: true,
    blockedFileHosts: [],
    mediaMemory: 1500,
    mediaSeconds: 60,
    mediaDrawingSeconds: 5,
    mediaPixels: 100,
    mediaOutput: 1000,
    ffmpeg: '',
    ffprobe: '',
    soffice: '',
    loginAllowRedirects: [],
    oauthClients: [],
    ...options,
  }
}

export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const database = await createTestDatabase()
  const service = await attachService(database.dsn, options).catch(async (error: unknown) => {
    await database.drop()
    throw error
  })
  const owned: TestService = {
    ...service,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      empty(owned)
      await database.drop()
    },
  }
  return owned
}

/**
 * The test runner keeps the functions of all tests until its process ends, and these know their service: emptied, it leaves
 * a hundred files that run in one process only a shell each.
 */
function empty(object: object): void {
  for (const name of Object.keys(object)) Reflect.deleteProperty(object, name)
}

/** Each service hashes the password of root when it starts, and each sign-in hashes one: 40 ms of a core as usual. */
const cheapPasswords: PasswordCost = { memory: 64, passes: 1, parallelism: 1 }

/** A further process's worth of service on the same database: for tests with several nodes. */
export async function attachService(
  dsn: string,
  {
    icu,
    loginParts = [],
    passwordCost = cheapPasswords,
    saveCallbacks = () => [],
    searchIndex: givenIndex,
    ...options
  }: TestServiceOptions = {},
): Promise<TestService> {
  const config = testConfig(dsn, options)
  const log = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' })
  const db = openDb({
    connectionString: dsn,
    maxConnections: shareConnections(config.dbMaxConnections).pool,
    applicationName: 'strongroom test',
    lockTimeout: config.lockTimeout,
    guarded: true,
    onError: () => {},
  })
  const searchIndex = givenIndex ?? (await otherSearchIndex())
  const given = {
    db,
    log,
    loginParts,
    passwordCost,
    saveCallbacks,
    ...(icu === undefined ? {} : { icu }),
    ...(searchIndex ? { searchIndex } : {}),
  }
  // No function below may know its parts otherwise: see `empty`.
  const open = { app: await buildOrClose(config, given), db }
  const direct: Inject = (request) => open.app.http.inject(request)
  const inject = process.env.TEST_WITHOUT ? without(process.env.TEST_WITHOUT, direct) : direct
  const clients = new Map<string, Client>()
  const service: TestService = {
    ...open,
    config,
    dsn,
    inject,
    as(login, password = login === 'root' ? (config.rootPassword ?? '') : (login ?? '')) {
      const key = JSON.stringify([login, password])
      const client = clients.get(key) ?? createClient(inject, login === null ? null : { login, password })
      clients.set(key, client)
      return client
    },
    drain: () => open.app.idle(),
    listen: () => open.app.http.listen({ host: '127.0.0.1', port: 0 }),
    [Symbol.asyncDispose]: async () => {
      const { app, db } = open
      // A test that failed in the middle may have left a request half sent.
      app.http.server.closeAllConnections()
      await app.http.close()
      await app.close()
      await db.close()
      if (options.dataDir === undefined) await rm(config.dataDir, { recursive: true, force: true })
      run.ended()
      empty(service)
      empty(open)
    },
  }
  const run = runs(service)
  return service
}

async function buildOrClose(config: Config, given: Parameters<typeof buildApp>[1]): Promise<App> {
  try {
    return await buildApp(config, given)
  } catch (error) {
    await given.db.close()
    throw error
  }
}
