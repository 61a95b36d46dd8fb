import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { createServiceClient } from '../../src/import/client.ts'
import { sampleFolder } from '../../src/import/demo.ts'
import { importTate } from '../../src/import/tate/import.ts'
import { createProgress, paceText, silentProgress } from '../../src/platform/process/progress.ts'
import { preparedFolder } from '../support/prepared-folder.ts'
import { spawnService } from '../support/process.ts'
import { startService } from '../support/service.ts'

test('a rejected token is renewed once, however many requests find out at the same time', async () => {
  await using svc = await startService()
  const url = await svc.listen()
  const client = createServiceClient({ url, login: 'root', password: svc.config.rootPassword ?? '' })
  const token = await client.token()
  const logins = async (): Promise<number> =>
    (await svc.db.query<{ count: number }>(`select count(*) as count from oauth_session`)).rows[0]?.count ?? 0
  const before = await logins()
  const form = new URLSearchParams({ token, client_id: 'web-client' })
  assert.equal((await fetch(`${url}/api/oauth2/revoke`, { method: 'POST', body: form })).status, 200)
  const pools = await Promise.all([1, 2, 3].map(() => client.get<unknown[]>('/pool')))
  for (const list of pools) assert.ok(list.length > 0)
  assert.notEqual(await client.token(), token)
  assert.equal(await logins(), before + 1)
})

test('a refusal names the request, the code and what is wrong', async () => {
  await using svc = await startService()
  const client = createServiceClient({
    url: await svc.listen(),
    login: 'root',
    password: svc.config.rootPassword ?? '',
  })
  await assert.rejects(
    client.post('/db/nothing', []),
    /^Error: POST \/api\/v1\/db\/nothing was answered 400 UnknownObjecttype: .*\{"/,
  )
})

test('an import outlives kill -9 of the service', async () => {
  await using folder = await preparedFolder()
  const env = { SVC_ROOT_PASSWORD: 'kill-nine-password' }
  const first = await spawnService(folder.path, env)
  const client = createServiceClient({ url: first.url, login: 'root', password: env.SVC_ROOT_PASSWORD })
  const halfway = Promise.withResolvers<void>()
  let advanced = 0
  const progress = {
    ...silentProgress,
    advance: (count: number) => {
      advanced += count
      if (advanced > 900) halfway.resolve()
    },
  }
  const imported = importTate({ client, folder: sampleFolder, batch: 20, progress })
  await Promise.race([halfway.promise, imported])
  first.child.kill('SIGKILL')
  await first.exited
  await using second = await spawnService(folder.path, { ...env, SVC_PORT: new URL(first.url).port })
  assert.equal(second.url, first.url)
  const { total } = await imported
  assert.equal(total, 2592)
  const answer = await client.post<{ count: number }>('/search', { objecttypes: ['artwork'], search: [], limit: 1 })
  assert.equal(answer.count, 500)
})

test('without a terminal, progress is a few lines', () => {
  let text = ''
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  const progress = createProgress(out)
  progress.start('Artworks', 100)
  for (let count = 0; count < 100; count++) progress.advance(1)
  progress.say('done')
  progress.start('Loans', 0)
  progress.stop()
  assert.match(text, /^Artworks: 100 to do\nArtworks: 100 of 100.*\ndone\n$/)
})

test('what is left is a number or nothing: nothing before the first unit, in the first moment and at the end', () => {
  for (const [done, total, seconds] of [
    [0, 500, 0],
    [0, 500, 20],
    [1, 500, 0],
    [0, 0, 0],
    [0, 0, 5],
  ] as const) {
    assert.equal(paceText(done, total, seconds), '')
  }
  assert.equal(paceText(100, 500, 10), '  10/s  40 s left')
  assert.equal(paceText(1, 100, 10), '  0.1/s  17 min left')
  assert.equal(paceText(10, 100_000, 10), '  1.0/s  27 h 47 min left')
  assert.equal(paceText(500, 500, 10), '  50/s')
  assert.equal(paceText(501, 500, 10), '  50/s', 'more than was announced')
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(1e9), fc.double({ min: 0, max: 1e9, noNaN: true }), (done, total, seconds) => {
      assert.match(paceText(done, total, seconds), /^( {2}[\d.]+\/s( {2}[1-9]\d* (s|min|h \d+ min) left)?)?$/)
    }),
  )
})

test('on a terminal, progress is a bar', () => {
  let text = ''
  const out = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        text += chunk.toString()
        done()
      },
    }),
    { isTTY: true, columns: 80, cursorTo: () => true, clearLine: () => true, moveCursor: () => true },
  )
  const progress = createProgress(out)
  progress.start('Artworks', 10)
  progress.start('Artworks', 10)
  progress.advance(10)
  progress.start('Loans', 0)
  progress.stop()
  assert.match(text, /Artworks.*100 %/)
  assert.doesNotMatch(text, /NaN|Infinity|INF|NULL|undefined|left/i)
})
