import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { createBackend } from '../../../src/platform/http/backend.ts'
import { startService, type TestService } from '../../support/service.ts'

test('the backend port tells readiness and the metrics, requests by route pattern', async () => {
  await using svc = await startService()
  const backend = createBackend({ db: svc.db, http: svc.app.http, measures: svc.app.measures })
  try {
    await svc.as('root').get('/event/poll/12345')
    await svc.as(null).get('/no/such/thing')
    const { body, headers } = await backend.inject('/metrics')
    assert.match(String(headers['content-type']), /^text\/plain/)
    assert.match(
      body,
      /strongroom_http_request_duration_seconds_count\{[^}]*route="\/api\/v1\/event\/poll\/:fromEventId"[^}]*\} 1/,
    )
    assert.match(body, /route="none"/)
    assert.doesNotMatch(body, /12345|no\/such/)
    assert.match(body, /strongroom_db_connections\{state="idle"\} \d/)
    // What the numbers themselves ask for is not counted.
    assert.match(body, /strongroom_db_connections\{state="waiting"\} 0\n/)
    assert.match(body, /^strongroom_cache_bytes\{cache="sessions"\} [1-9]/m)
    for (const line of [
      'index_queue{reason="saved"} 0',
      'index_lag_seconds 0',
      'index_failures 0',
      'jobs{state="due"} 0',
      'jobs{state="given_up"} 0',
      'sign_ins_failed 0',
    ]) {
      assert.ok(body.includes(`\nstrongroom_${line}\n`), line)
    }
    await signInWrongly(svc)
    await svc.db.query(
      `insert into object (system_object_id, objecttype, id, version, uuid, created_at, modified_at)
       values (1, 1, 1, 1, 'x', now(), now() - interval '1 hour')`,
    )
    await svc.db.query('insert into index_queue (system_object_id, priority) values (1, 0), (2, 2), (3, 2)')
    await svc.db.query(`select graphile_worker.add_job('later', run_at := now() + interval '1 day')`)
    const { body: busy } = await backend.inject('/metrics')
    for (const line of ['index_queue{reason="reindex"} 2', 'jobs{state="later"} 1', 'sign_ins_failed 1']) {
      assert.ok(busy.includes(`\nstrongroom_${line}\n`), line)
    }
    assert.ok(Number(/\nstrongroom_index_lag_seconds (\S+)/.exec(busy)?.[1]) >= 3600)
    for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds']) assert.ok(body.includes(name))
    assert.deepEqual((await backend.inject('/ready')).json(), { ready: true })
    await svc.app.http.traffic.drain(0)
    assert.equal((await backend.inject('/ready')).statusCode, 503)
  } finally {
    await backend.close()
  }
})

async function signInWrongly(svc: TestService): Promise<void> {
  const form = { grant_type: 'password', client_id: 'web-client', username: 'nobody', password: 'wrong' }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = new URLSearchParams(form).toString()
  await svc.inject({ method: 'POST', url: '/api/oauth2/token', headers, payload })
}

test('the log masks credentials, wherever they stand', async () => {
  const text = await logOf(`
    const secret = 'geheim'
    log.info({ access_token: secret, password: secret }, 'flat')
    log.info({ headers: { authorization: secret, cookie: secret, 'x-svc-authorization': secret } }, 'headers')
    log.info({ req: { headers: { authorization: secret } }, form: { client_secret: secret } }, 'nested')
    log.debug('not said')
  `)
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; level: string; time: string })
  assert.deepEqual(
    lines.map(({ msg, level }) => [level, msg]),
    [
      ['info', 'flat'],
      ['info', 'headers'],
      ['info', 'nested'],
    ],
  )
  assert.doesNotMatch(text, /geheim/)
  assert.ok(Date.parse(lines[0]?.time ?? ''))
})

/** Runs a program with a `log` and returns what it wrote until it ended. */
async function logOf(program: string, until?: RegExp): Promise<string> {
  const start = `
    import { createLog } from ${JSON.stringify(join(import.meta.dirname, '../../../src/platform/process/log.ts'))}
    const log = createLog({ logLevel: 'info' })
  `
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', start + program])
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += chunk
    if (until?.test(text)) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return text
}

const messages = (text: string): string[] => text.split('\n').flatMap((line) => (line ? [JSON.parse(line).msg] : []))

test('lines of the log stay in their order, and a process that ends has written all of them', async () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => String(n))
  const say = (count: number) => `for (let n = 0; n < ${count}; n++) log[n % 100 === 50 ? 'warn' : 'info'](String(n))`
  assert.deepEqual(messages(await logOf(say(1000))), numbers(1000))
  // What is just being written when the process is ended is not waited for; what waits is written.
  assert.deepEqual(messages(await logOf(`${say(50)}; process.exit(0)`)), numbers(50))
})

test('lines of the log do not wait for others, and what warns is written with all before it at once', async () => {
  const soon = await logOf(`log.info('soon'); setInterval(() => {}, 1000)`, /soon/)
  assert.deepEqual(messages(soon), ['soon'])
  // The process comes to nothing else before it is killed.
  const atOnce = await logOf(
    `
    log.info('before'); log.error('at once')
    setImmediate(() => setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)))
  `,
    /at once/,
  )
  assert.deepEqual(messages(atOnce), ['before', 'at once'])
})
