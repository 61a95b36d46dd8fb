import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitModel } from '../datamodel/support.ts'
import { someFiles } from '../files/support.ts'
import { startService } from '../support/service.ts'

test('output.standard_eas and standard_geo put a file and a place into what stands for the object', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const column = (name: string, output: object) => ({ kind: 'field', column_name_hint: name, output })
  const fields = (eas: object, geo: object) => [
    column('title', { standard: { order: 1 } }),
    column('image', eas),
    column('place', geo),
  ]
  await commitModel(
    root,
    [
      {
        name: 'work',
        columns: [
          { name: 'title', type: 'text_oneline' },
          { name: 'image', type: 'eas' },
          { name: 'place', type: 'geo_json' },
        ],
      },
    ],
    [
      {
        name: 'work__full',
        table_name_hint: 'work',
        is_preferred: true,
        fields: fields({ standard_eas: { order: 1 } }, { standard_geo: { order: 2 } }),
      },
    ],
  )
  await someFiles(svc, 5)
  const place = { type: 'Point', coordinates: [13.4, 52.5] }
  const object = { title: 'T', image: [{ _id: 5 }], place }
  const save = async (mask: string) => {
    const saved = await root.post('/db/work', [{ _objecttype: 'work', _mask: mask, work: object }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const path = `/db/work/${mask}/${saved.body[0].work._id}`
    return (await root.get(path, { format: 'standard_extended' })).body[0]._standard
  }
  const { eas, geo } = await save('work__full')
  assert.deepEqual(
    Object.entries(eas).map(([level, files]) => [level, (files as { _id: number }[]).map(({ _id }) => _id)]),
    [['1', [5]]],
  )
  assert.deepEqual(Object.keys(geo), ['2'])
  assert.deepEqual(geo['2'][0].geo, place)

  const head = (await root.get('/mask/HEAD')).body
  head.masks[0].fields[1].output = {}
  head.masks[0].fields[2].output = {}
  assert.equal((await root.post('/mask/HEAD', head)).status, 200)
  const committed = await root.post('/schema/commit', undefined, { reindex: 'skip' })
  assert.equal(committed.status, 200, JSON.stringify(committed.body))
  const bare = await save('work__full')
  assert.deepEqual([bare.eas, bare.geo], [undefined, undefined])
})

test('a slot ends at a field with stop_if_set; rows are joined by format_inner, or the first one stands for all', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const field = (name: string, standard: object) => ({ kind: 'field', column_name_hint: name, output: { standard } })
  const masks = (first: boolean) => [
    {
      name: 'album__full',
      table_name_hint: 'album',
      is_preferred: true,
      fields: [
        {
          kind: 'linked-table',
          other_table_name_hint: 'album__word',
          nested_standard_first_only: first,
          output: { standard: { order: 1, format: 'colon', format_inner: 'semicolon' } },
          mask: { fields: [field('word', { order: 1 })] },
        },
        field('title', { order: 1, stop_if_set: true }),
        field('number', { order: 1 }),
        {
          kind: 'reverse-linked-table',
          other_table_name_hint: 'loan',
          other_column_name_hint: 'album',
          mask: { fields: [field('borrower', { order: 1 })] },
        },
      ],
    },
  ]
  const text = (name: string) => ({ name, type: 'text_oneline' })
  const tables = [
    { name: 'album', columns: [text('title'), text('number')] },
    { name: 'album__word', owned_by: { other_table_name_hint: 'album' }, columns: [text('word')] },
    {
      name: 'loan',
      columns: [{ name: 'album', type: 'link', other_table_name_hint: 'album', reverse_edit: true }, text('borrower')],
    },
  ]
  await commitModel(root, tables, masks(false))
  const shown = async (block: object): Promise<string> => {
    const album = { '_nested:album__word': [{ word: 'a' }, { word: 'b' }], ...block }
    const { body } = await root.post('/db/album', [{ _objecttype: 'album', _mask: 'album__full', album }])
    assert.deepEqual(body[0].album['_reverse_nested:loan:album'], [], 'other objects stand for themselves')
    return body[0]._standard['1'].text['en-US']
  }
  assert.equal(await shown({ title: 'T', number: 'N' }), 'a; b: T')
  assert.equal(await shown({ number: 'N' }), 'a; b: N')

  assert.equal((await root.post('/mask/HEAD', { masks: masks(true) })).status, 200)
  assert.equal((await root.post('/schema/commit', undefined, { reindex: 'skip', confirm: 'yes' })).status, 200)
  assert.equal(await shown({ title: 'T' }), 'a: T')
})
