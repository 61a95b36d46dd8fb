import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService } from '../support/service.ts'
import { install } from './support.ts'

const folder = join(import.meta.dirname, '../../examples/plugins/vocabulary')

test('the example plugin: a type of values, an action of workflows and an updater, in Python', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(svc, defineModel({ animal: { columns: { note: 'text', term: 'custom:base.vocabulary.term' } } }))
  const names = await readdir(folder)
  const files = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const))
  const plugin = await install(svc, 'vocabulary', Object.fromEntries(files))
  assert.deepEqual(plugin.unsupported, [])
  const action = { type: 'vocabulary:needs_term', info: { field: 'term' } }
  const defined = await root.post('/transitions', [{ type: 'process', operations: ['INSERT'], actions: [action] }])
  assert.equal(defined.status, 200, JSON.stringify(defined.body))
  const save = (animal: object) => root.post('/db/animal', [{ _objecttype: 'animal', _mask: '_all_fields', animal }])
  const refused = await save({ note: 'no term' })
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.parameters],
    [400, 'vocabulary.term.missing', { field: 'term' }],
  )
  for (const word of ['lion', 'unicorn']) {
    const saved = await save({ term: { name: word, uri: `https://terms.example/${word}` } })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }
  await root.post('/config/system/config', { custom_data_type_updater: { active: true } })
  await svc.app.tidy(new Date(Date.now() + 8 * 86_400_000))
  const { body } = await root.get('/event/list', { type: 'CUSTOM_DATA_TYPE_UPDATER' })
  const [{ event }] = body.objects
  assert.deepEqual(event.info.log, ['2 terms in the vocabulary', '1 terms are not in the vocabulary'])
  assert.deepEqual(event.info.stats, { total: 2, updated: 1, de_duplicated: 0 })
  await svc.drain()
  const search = [{ type: 'match', fields: ['animal.term.broader'], string: 'felids' }]
  const found = await root.post('/search', { type: 'object', objecttypes: ['animal'], search, format: 'full' })
  assert.deepEqual(
    found.body.objects.map(({ animal }: Json) => animal.term.name),
    ['Panthera leo'],
  )
})
