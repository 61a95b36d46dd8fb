import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { createBackend } from '../../src/platform/backend.ts'
import { startService, type TestService } from '../support/service.ts'

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
  const program = `
    import { createLog } from ${JSON.stringify(join(import.meta.dirname, '../../src/platform/log.ts'))}
    const log = createLog({ logLevel: 'info' })
    const secret = 'geheim'
    log.info({ access_token: secret, password: secret }, 'flat')
    log.info({ headers: { authorization: secret, cookie: secret, 'x-svc-authorization': secret } }, 'headers')
    log.info({ req: { headers: { authorization: secret } }, form: { client_secret: secret } }, 'nested')
    log.debug('not said')
  `
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program])
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
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
