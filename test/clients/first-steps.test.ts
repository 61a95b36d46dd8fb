import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { upload } from '../files/support.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'

/** What test suites and front ends ask for before they do anything else. */

test('the texts of the service are there for everybody, in the language that comes nearest', async () => {
  await using museum = await startMuseum()
  const { svc } = museum
  const nobody = svc.as(null)
  const german = await nobody.get('/l10n/static/de-DE.json')
  assert.deepEqual([german.status, Object.keys(german.body)], [200, ['de-DE']])
  assert.equal(german.body['de-DE']['page.login.title'], 'Anmelden')
  assert.deepEqual((await nobody.get('/l10n/static/de.json')).body, german.body)
  const english = await nobody.get('/l10n/static/en-US.json')
  assert.deepEqual(Object.keys(english.body['en-US']).sort(), Object.keys(german.body['de-DE']).sort())
  assert.deepEqual((await nobody.get('/l10n/static/fr-FR.json')).body, english.body)
  assert.equal((await nobody.get('/l10n/static/..%2f.json')).status, 400)

  const root = svc.as('root')
  await root.post('/l10n/user/HEAD', { 'page.login.title': { 'de-DE': 'Willkommen' } })
  await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal((await nobody.get('/l10n/static/de-DE.json')).body['de-DE']['page.login.title'], 'Willkommen')
})

test('the status counts files that wait for renditions, and renditions by their status', async () => {
  await using museum = await startMuseum()
  const { svc } = museum
  const status = async () => {
    const { body } = await svc.as('root').get('/system/status')
    return { pending: body.pending_files, queued: body.queued_files, stats: body.file_stats }
  }
  assert.deepEqual(await status(), { pending: 0, queued: 0, stats: [] })
  const content = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'red' } })
    .png()
    .toBuffer()
  const { body } = await upload(svc, 'root', [{ name: 'a.png', content }], { produce_versions: 'true' })
  await svc.drain()
  const done = await status()
  assert.deepEqual([done.pending, done.queued], [0, 0])
  const total = done.stats.reduce((sum: number, one: { count: number }) => sum + one.count, 0)
  assert.ok(total > 0, JSON.stringify(done))
  // As a worker leaves them while it is at one of them.
  const { rows } = await svc.db.query<{ name: string }>(
    'select name from file_rendition where file_id = $1 order by name',
    [body[0]._id],
  )
  await svc.db.query(`update file_rendition set status = 'pending'`)
  assert.deepEqual(await status(), { pending: 1, queued: 1, stats: [{ status: 'pending', count: total }] })
  await svc.db.query(`update file_rendition set status = 'processing' where name = $1`, [rows[0]?.name])
  const busy = await status()
  assert.deepEqual([busy.pending, busy.queued], [1, 0])
})

test('where purging is switched off it is a 400 (decisions.md, 79)', async () => {
  await using museum = await startMuseum({ allowPurge: false })
  const root = museum.svc.as('root')
  const [made] = (await root.post('/db/person', [payload('person', { name: 'Ada' })])).body
  await root.delete('/db/person', [[made.person._id, 1, null]], { delete_policy: 'remove' })
  const refused = await root.delete('/db/person', [[made.person._id, 2, null]], { delete_policy: 'purge' })
  assert.deepEqual([refused.status, refused.body.code], [400, 'PurgeNotAllowed'])
})
