import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

test('a simple model is committed', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const head = await root.get('/schema/user/HEAD')
  assert.equal(head.status, 200, JSON.stringify(head.body))
  const saved = await root.post('/schema/user/HEAD', {
    ...head.body,
    tables: [
      { name: 'artist', pool_link: true, columns: [{ name: 'name', type: 'text_oneline', not_null: true }] },
      {
        name: 'artwork',
        columns: [
          { name: 'title', type: 'text_l10n', name_localized: { 'de-DE': 'Titel' } },
          { name: 'artist', type: 'link', other_table_name_hint: 'artist', reverse_edit: true },
        ],
      },
      {
        name: 'artwork__note',
        owned_by: { other_table_name_hint: 'artwork' },
        columns: [{ name: 'text', type: 'text' }],
      },
    ],
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const commit = await root.post('/schema/commit')
  assert.equal(commit.status, 200, JSON.stringify(commit.body))
  assert.equal((await root.get('/schema/user/CURRENT')).body.version, 1)
})

test('example', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const ex = JSON.parse(readFileSync('/tmp/gb/for-administrators/tools/json-importer/examples/datamodel.json', 'utf8'))
  const s2 = await root.post('/schema/user/HEAD', { ...ex.schema, version: 1 })
  assert.equal(s2.status, 200, JSON.stringify(s2.body))
  const m2 = await root.post('/mask/HEAD', { ...ex.mask, version: 1 })
  assert.equal(m2.status, 200, JSON.stringify(m2.body))
  const l2 = await root.post('/l10n/user/HEAD', ex.keys)
  assert.equal(l2.status, 200, JSON.stringify(l2.body))
  const c2 = await root.post('/schema/commit')
  assert.equal(c2.status, 200, JSON.stringify(c2.body))
  const mm = await root.get('/mask/CURRENT/objekte__all_fields', { format: 'long' })
  console.log(JSON.stringify(mm.body).slice(0, 1500))
})
