import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { registerBackendConsole } from '../../src/inspect/backend.ts'
import { createBackend } from '../../src/platform/http/backend.ts'
import type { InjectResponse } from '../support/client.ts'
import { spawnService, temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { formFor } from './support.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }

suite('the console on the backend port', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  function openBackend(settings: { actions?: boolean; readOnly?: () => boolean; host?: string } = {}) {
    const backend = createBackend({ db: svc.db, http: svc.app.http, measures: svc.app.measures })
    registerBackendConsole(backend, {
      ...{ actions: false, readOnly: () => false, host: '127.0.0.1', timeLimit: 30_000 },
      ...settings,
      ...svc.app.console,
      log: pino({ level: 'silent' }),
    })
    return Object.assign(backend, { [Symbol.asyncDispose]: () => backend.close() })
  }

  const get = (backend: FastifyInstance, url: string, headers: Record<string, string> = {}): Promise<InjectResponse> =>
    backend.inject({ method: 'GET', url, headers: { host: 'localhost:8081', ...headers } })

  test('INSP-004 nobody is asked who they are, and the port stays in a private network', async () => {
    await using backend = openBackend()
    const others = ['publish', 'messages', 'tasks', 'mappings', 'mappings/1', 'statements', 'migration']
    for (const path of [
      ...['/inspect/', '/inspect', '/inspect/users/', '/inspect/config/', '/inspect/objects/list/'],
      ...others.map((name) => `/inspect/${name}/`),
    ]) {
      const page = await get(backend, path)
      assert.equal(page.statusCode, 200, page.body.slice(0, 300))
      assert.match(page.body, /^<!doctype html>/)
      const program = await get(backend, path, { accept: 'application/json' })
      assert.equal(program.statusCode, 200)
      assert.ok(Object.keys(program.json()).length > 0)
    }
    // A page of the internet reaches it over a browser inside by a name of the internet alone.
    for (const host of [
      'evil.example',
      'evil.example:8081',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'xlocal.de',
    ]) {
      const answer = await get(backend, '/inspect/', { host, accept: 'application/json' })
      assert.deepEqual([answer.statusCode, answer.json().code], [403, 'InsufficientRights'], host)
    }
    for (const host of [
      '127.0.0.1:8081',
      '10.0.0.7',
      '[::1]:8081',
      'strongroom',
      'archive.internal',
      'archive.local',
      'LOCALHOST',
    ])
      assert.equal((await get(backend, '/inspect/config/', { host })).statusCode, 200, host)
    await using named = openBackend({ host: 'console.museum.example' })
    assert.equal((await get(named, '/inspect/config/', { host: 'console.museum.example:8081' })).statusCode, 200)
  })

  test('it only shows, unless actions are allowed', async () => {
    await using shows = openBackend()
    const page = await get(shows, '/inspect/system/janitor/')
    assert.doesNotMatch(page.body, /method="post"/)
    await using acts = openBackend({ actions: true })
    const fields = formFor((await get(acts, '/inspect/system/janitor/')).body, 'run')
    const send = (backend: FastifyInstance, values: Record<string, string>) =>
      backend.inject({
        method: 'POST',
        url: '/inspect/system/janitor/',
        headers: { host: 'localhost', ...form },
        payload: new URLSearchParams(values).toString(),
      })
    assert.equal((await send(shows, fields)).statusCode, 403)
    assert.equal((await send(acts, { ...fields, csrf: '' })).statusCode, 400)
    assert.equal((await send(acts, fields)).statusCode, 303)
    const other = await acts.inject({
      method: 'POST',
      url: '/inspect/system/janitor/',
      headers: { host: 'localhost', 'content-type': 'text/plain' },
      payload: 'x',
    })
    assert.equal(other.statusCode, 400)
    await using quiet = openBackend({ actions: true, readOnly: () => true })
    assert.equal((await send(quiet, fields)).statusCode, 400)
  })

  test('what is wrong is said in the form that was asked for, without a 500', async () => {
    await using backend = openBackend()
    for (const path of ['/inspect/nothing/', '/inspect/objects/0/', '/inspect/migration/..%2Fx/']) {
      assert.equal((await get(backend, path, { accept: 'application/json' })).json().code, 'ResourceNotFound', path)
      const page = await get(backend, path, { accept: 'text/html', 'accept-language': 'de' })
      assert.deepEqual([page.statusCode, /Unter dieser Adresse gibt es nichts/.test(page.body)], [404, true], path)
    }
    for (const path of ['/inspect/objects/?limit=x', '/inspect/objects/?limit=1&limit=2', '/inspect/?a=b'])
      assert.equal((await get(backend, path, { accept: 'application/json' })).statusCode, 400, path)
  })

  test('/healthz says whether the process reaches its database', async () => {
    await using backend = openBackend()
    const answer = await get(backend, '/healthz')
    assert.deepEqual([answer.statusCode, answer.json()], [200, { status: 'ok', database: true }])
  })

  test('figures come as events: those of the last minutes, then one sample after the other', async () => {
    await using backend = openBackend()
    const address = await backend.listen({ port: 0, host: '127.0.0.1' })
    const [one, two] = await Promise.all([
      fetch(`${address}/inspect/figures/stream/`),
      fetch(`${address}/inspect/figures/stream/`),
    ])
    assert.match(String(one.headers.get('content-type')), /^text\/event-stream/)
    let told = ''
    const reader = one.body?.pipeThrough(new TextDecoderStream()).getReader()
    assert.ok(reader)
    await until(async () => {
      told += (await reader.read()).value ?? ''
      return (told.match(/^event: sample$/gm) ?? []).length >= 2
    })
    const [history, sample] = [...told.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event, data]) => [
      event,
      JSON.parse(data ?? ''),
    ])
    assert.deepEqual(history, ['history', []])
    assert.equal(sample?.[0], 'sample')
    const { values } = (sample?.[1] ?? { values: {} }) as { values: Record<string, number> }
    assert.deepEqual([values['index_queue.saved'], values['jobs.given_up']], [0, 0])
    assert.ok((values['memory.rss'] ?? 0) > 1e6)
    await reader.cancel()
    await two.body?.cancel()
  })
})

test('the backend port of a process has the console, on the loopback address', async () => {
  await using folder = await temporaryFolder()
  await using service = await spawnService(folder.path, { SVC_BACKEND_PORT: '0' })
  const [, address = ''] =
    /the console without sign-in at (http:\/\/localhost:\d+\/inspect\/|http:\/\/127\.0\.0\.1:\d+\/inspect\/)/.exec(
      service.output.stdout,
    ) ?? []
  assert.notEqual(address, '', service.output.stdout)
  assert.equal((await fetch(address)).status, 200)
})
