import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../support/service.ts'

test('x', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const saved = await root.post('/schema/user/HEAD', {
    version: 1,
    tables: [
      {
        name: 'artist',
        has_tags: true,
        columns: [
          { name: 'name', type: 'text_oneline' },
          { name: 'image', type: 'files' },
        ],
      },
    ],
  })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const c = await root.post('/schema/commit')
  assert.equal(c.status, 200, JSON.stringify(c.body))
  const l = await root.get('/objecttype')
  console.log(l.status, JSON.stringify(l.body), l.headers['x-svc-cache-id'])
  const p = await root.post('/objecttype', [
    {
      objecttype: { _id: 1, _version: 2, description: { 'de-DE': 'x' }, watermark: { gravity: 'ne' } },
      _export_asset_filenames: { 'en-US': '%artist.name%.%_asset.extension%' },
    },
  ])
  console.log(p.status, JSON.stringify(p.body), p.headers['x-svc-cache-id'])
  console.log(JSON.stringify((await root.get('/objecttype/1/stats')).body))
})
