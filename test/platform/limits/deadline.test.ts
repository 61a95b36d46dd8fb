import assert from 'node:assert/strict'
import { request as httpRequest, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Caller, caller, signIn } from '../../../fuzz/caller.ts'
import { type DescribedOperation, readDescription } from '../../../fuzz/description.ts'
import { type FuzzRequest, wireOf } from '../../../fuzz/request.ts'
import type { Scene } from '../../../fuzz/seeds.ts'
import { assembled, seedsOf } from '../../../fuzz/stage.ts'
import { buildWorld } from '../../../fuzz/world.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { RequestDeadline } from '../../../src/platform/limits/deadline.ts'
import type { Json } from '../../support/client.ts'
import { attachService, startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** Operations that ask for nothing that is not in memory; in round brackets: those that go on whoever waits. */
const withoutStatements = [
  '(authorize)',
  '(authorizeWithForm)',
  '(changePassword)',
  '(continueUpload)',
  '(createToken)',
  '(createUpload)',
  '(introspectToken)',
  '(logout)',
  '(logoutHere)',
  '(overrideUploadMethod)',
  '(postLogout)',
  '(postLogoutHere)',
  // The configuration does not allow it.
  '(purgeAll)',
  '(revokeToken)',
  '(testDirectory)',
  // Switched off in tests.
  'beginIndexCheck',
  'getAuthorizationServer',
  'getCSSBundle',
  'getConfig',
  'getConfigValue',
  // From memory.
  'getCreateInfo',
  'getErrorTest',
  'getHTMLBundle',
  'getJSBundle',
  'getObjecttype',
  'getOpenApi',
  'getOpenApiPage',
  'getOpenIdConfiguration',
  'getPluginFile',
  'getPluginTexts',
  'getRobots',
  'getStaticTexts',
  'getXmlSchema',
  'listConfigDefinitions',
  'listLocations',
  'listManualTransitions',
  'listMetadataTags',
  'listObjecttypes',
  'listPlugins',
  'listTags',
  'listTaskModules',
  'previewJanitors',
  'readLocation',
  'streamEvents',
  'writeQuery',
]

/** Valid requests of operations that write, and log nothing: they ask first, change nothing, or only the working copy. */
const withoutEvents = [
  'cancelTask',
  'cancelUpload',
  'changeFile',
  'confirmMessage',
  'createBackup',
  'createShareLink',
  'deleteBackup',
  'deleteObjects',
  'deletePublishRecord',
  'deleteShareLink',
  'fetchFile',
  'fetchFiles',
  'moveContents',
  'removePasskey',
  'renamePasskey',
  'resyncFiles',
  'saveLocalization',
  'saveMasks',
  'savePublishRecords',
  'saveSchema',
  'saveTags',
  'saveTransitions',
  'stopMove',
]
/** What a client breaks off here is logged after it has gone. */
const logsWhatBrokeOff = ['continueUpload', 'createUpload', 'overrideUploadMethod', 'putFiles', 'uploadFiles']
const readingEvents = ['pollEvents', 'listEvents', 'getEvent']

suite('deadlines of requests', () => {
  let svc: TestService
  let url: URL
  let root: Caller
  let scene: Scene
  let operations: readonly DescribedOperation[]
  before(async () => {
    svc = await startService({ lockTimeout: 60_000 })
    url = new URL(await svc.listen())
    root = await signIn(url, 'root', svc.config.rootPassword ?? '')
    let last = 0
    scene = {
      world: await buildWorld(root),
      root,
      masked: root,
      fresh: () => ++last,
      signIn: (login, word) => signIn(url, login, word),
    }
    operations = readDescription(await root.call('GET', '/system/openapi/spec.json')).operations
    await svc.drain()
  })
  after(() => svc[Symbol.asyncDispose]())

  test('no endpoint asks the database for anything when the time of its request is over', async () => {
    // What they set in the configuration: the other process begins with it, and need not hear of it in time.
    for (const seed of seedsOf('downloadFile')) await seed.make(scene)
    await using hasty = await attachService(svc.dsn, { readTimeLimit: 0, writeTimeLimit: 0 })
    const there = new URL(await hasty.listen())
    const outliving = new Set([
      'authorize',
      'authorizeWithForm',
      'changePassword',
      'continueUpload',
      'createToken',
      'createUpload',
      'introspectToken',
      'logout',
      'logoutHere',
      'overrideUploadMethod',
      'postLogout',
      'postLogoutHere',
      'purgeAll',
      'revokeToken',
      'testDirectory',
    ])
    const carriedOut = new Set<string>()
    for (const operation of operations) {
      const { operationId } = operation
      for (const seed of seedsOf(operationId)) {
        const request = await seed.make(scene)
        const by = caller(there, 'somebody', (request.by ?? root).token)
        const ask = async () =>
          (await by.send(wireOf(assembled(operation, request, by)))) as { status: number; body: Buffer }
        const name = outliving.has(operationId) ? `(${operationId})` : operationId
        let answer = await ask()
        // What the seed has just made may not be known there yet: that is answered from memory.
        for (let tries = 0; tries < 50 && answer.status !== 503 && !withoutStatements.includes(name); tries++) {
          await sleep(100)
          answer = await ask()
        }
        const { status, body } = answer
        // The answer to a HEAD has no body.
        if (status === 503 && operation.method === 'HEAD') continue
        if (status === 503) assert.equal(JSON.parse(body.toString()).code, 'TimeLimitExceeded', operationId)
        else carriedOut.add(name)
      }
    }
    assert.deepEqual([...carriedOut].sort(), withoutStatements)
  })

  /** Nothing is read from the event log or written to it meanwhile: every change waits with its last step but one. */
  async function withLockedLog(work: () => Promise<void>): Promise<void> {
    const client = await svc.db.connect()
    try {
      await client.query('begin')
      await client.query('lock table event in access exclusive mode')
      await work()
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  /** Statements that wait for the log. */
  async function waiting(): Promise<number> {
    const { rows } = await svc.db.query<{ count: number }>(
      `select count(*)::int as count from pg_locks where not granted and relation = 'event'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    )
    return rows[0]?.count ?? 0
  }

  /** Sends it over a connection of its own, which is closed by `leave`. */
  function sendAlone(request: FuzzRequest) {
    const { method, target, headers, body } = wireOf(request)
    const sent = httpRequest(new URL(target, url), { method, headers, agent: false })
    let answered = false
    const ended = new Promise<void>((resolve) => sent.once('close', () => resolve()))
    sent.on('error', () => {})
    sent.on('response', (response) => {
      answered = true
      response.resume()
    })
    sent.end(body)
    return {
      answered: () => answered,
      async leave(): Promise<void> {
        sent.destroy()
        await ended
      },
    }
  }

  /** Valid requests of all that reads the log or writes to it. */
  async function requestsOfTheLog(): Promise<{ request: FuzzRequest; writes: boolean }[]> {
    const found: { request: FuzzRequest; writes: boolean }[] = []
    const silent = new Set(withoutStatements.map((name) => name.replaceAll(/[()]/g, '')))
    const { declaredRoutes } = svc.app.http
    for (const operation of operations) {
      const { operationId, template, method } = operation
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'path' ? '*' : `:${name}`))
      const writes = declaredRoutes.some((route) => route.url === path && route.method === method && route.writes)
      if (silent.has(operationId) || logsWhatBrokeOff.includes(operationId)) continue
      if (!(writes || readingEvents.includes(operationId))) continue
      const seed = await seedsOf(operationId)[0]?.make(scene)
      if (!seed || seed.query?.dry_run) continue
      found.push({ request: assembled(operation, seed, seed.by ?? root), writes })
    }
    return found
  }

  test('when a client goes away, what its request asked of the database ends, and nothing is stored', async () => {
    const requests = await requestsOfTheLog()
    const csv = requests.find(({ request }) => request.operationId === 'listEvents')
    assert.ok(csv)
    requests.push({ request: { ...csv.request, query: [['format', 'csv']] }, writes: false })
    assert.ok(requests.length >= 20, `${requests.map(({ request }) => request.operationId)}`)
    // What jobs log, which requests have begun, says from no address that somebody asked.
    const stored = async (): Promise<number> => {
      const { objects } = await root.call('GET', '/event/list?limit=1000')
      return objects.filter(({ event }: Json) => event.remote_addr !== undefined).length
    }
    // Jobs that earlier requests have begun log what they did; they would be counted among those that wait.
    await svc.drain()
    const before = await stored()
    const silent: string[] = []
    // So do those that requests begin which log nothing themselves: these come last, and are to be answered.
    const isSilent = ({ request }: { request: FuzzRequest }): boolean => withoutEvents.includes(request.operationId)
    const ordered = [...requests.filter((each) => !isSilent(each)), ...requests.filter(isSilent)]
    await withLockedLog(async () => {
      for (const { request } of ordered) {
        const mayWait = !withoutEvents.includes(request.operationId)
        const waited = await waiting()
        const { answered, leave } = sendAlone(request)
        await until(async () => answered() || (mayWait && (await waiting()) > waited))
        const isAnswered = answered()
        if (isAnswered) silent.push(request.operationId)
        await leave()
        if (!isAnswered) await until(async () => (await waiting()) <= waited)
      }
    })
    assert.deepEqual(silent.sort(), withoutEvents)
    await svc.drain()
    const after = await stored()
    assert.ok(before > 0 && before < 900)
    assert.equal(after, before)
  })

  test('after its time a statement is cancelled in PostgreSQL, and the answer is 503', async () => {
    await using hasty = await attachService(svc.dsn, {
      dataDir: svc.config.dataDir,
      readTimeLimit: 0.2,
      writeTimeLimit: 0.2,
      lockTimeout: 60_000,
    })
    const there = new URL(await hasty.listen())
    const requests = await requestsOfTheLog()
    await withLockedLog(async () => {
      const before = await waiting()
      for (const { request } of requests) {
        // The contents of files are where the first service is.
        if ([...withoutEvents, 'deriveFile'].includes(request.operationId)) continue
        const by = caller(there, 'somebody', root.token)
        const { status, body } = await by.send(wireOf(request))
        assert.equal(status, 503, request.operationId)
        assert.equal(JSON.parse(body.toString()).code, 'TimeLimitExceeded', request.operationId)
        // PostgreSQL is told to cancel it; that takes a moment.
        await until(async () => (await waiting()) === before, 5)
      }
    })
  })

  test('what is stored is not refused because the time is over meanwhile', async () => {
    const deadline = new RequestDeadline(new ServerResponse(new IncomingMessage(new Socket())), 1000, () => '')
    await svc.db.transaction(
      async (tx) => {
        await tx.query('select 1')
        deadline.spend(1000)
      },
      { deadline },
    )
    assert.equal((await svc.db.within(deadline).query('select 1')).rowCount, 1)
    const other = new RequestDeadline(new ServerResponse(new IncomingMessage(new Socket())), 1000, () => '')
    other.spend(1000)
    await assert.rejects(
      svc.db.within(other).query('select 1'),
      (error) => error instanceof AppError && error.code === 'TimeLimitExceeded',
    )
  })
})
