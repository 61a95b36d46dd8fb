import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { commitModel as commitTables, userWith } from '../datamodel/support.ts'
import type { Json } from '../support/client.ts'
import { commitModel } from '../support/seed/model.ts'
import { museum } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/**
 * What is kept for others, and what nothing acts on yet: whatever a record answers may be sent back as it is, and
 * parameters that nothing can ask for are told to have had no effect.
 */
suite('what was answered may be sent back', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
    await commitModel(svc, museum())
  })
  after(() => svc[Symbol.asyncDispose]())

  const root = () => svc.as('root')
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await root().get(path)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  test('settings of a group that an earlier release stored: as they are, or taken away, but not changed', async () => {
    const [made] = (await root().post('/group', [{ group: { name: 'old' } }])).body
    const stored = {
      _auth_method_group_maps: { system: [{ method: 'eq', value: 'cn=editors' }] },
    }
    await svc.db.query('update "group" set auth_method_group_maps = $2 where id = $1', [
      made.group._id,
      ...Object.values(stored),
    ])
    const read = async (): Promise<Json> => (await get(`/group/${made.group._id}`))[0]
    const shown = await read()
    for (const [name, value] of Object.entries(stored)) assert.deepEqual(shown[name], value)
    for (const method of ['post', 'put'] as const) {
      const back = await root()[method]('/group', [await read()])
      assert.equal(back.status, 200, JSON.stringify(back.body))
      for (const [name, value] of Object.entries(stored)) assert.deepEqual(back.body[0][name], value)
    }
    const others = {
      _auth_method_group_maps: { system: [{ method: 'eq', value: 'cn=others' }] },
    }
    for (const [name, value] of Object.entries(others)) {
      const answer = await root().post('/group', [{ ...(await read()), [name]: value }])
      assert.deepEqual([answer.status, answer.body.parameters.name], [400, `[0].${name}.system`])
    }
    const gone = { _auth_method_group_maps: null }
    assert.equal((await root().post('/group', [{ ...(await read()), ...gone }])).status, 200)
    const after = await read()
    assert.deepEqual(
      Object.keys(stored).map((name) => after[name]),
      [{}],
    )
  })

  test('every record, by POST and by PUT', async () => {
    const texts = { 'en-US': 'T' }
    const made: [path: string, body: Json[]][] = [
      ['/user', [{ user: { login: 'ada', first_name: 'Ada', street: 'S', mail_schedule: { hours: [7] } } }]],
      ['/group', [{ group: { name: 'g', displayname: texts }, _ip_subnet_filter: ['10.0.0.0/8'] }]],
      ['/pool', [{ pool: { name: texts, _id_parent: 1, watermark: { gravity: 'c' } }, _private_tags: true }]],
      ['/tags', [{ taggroup: { displayname: texts }, _tags: [{ displayname: texts, description: texts }] }]],
    ]
    for (const [path, body] of made) {
      const created = await root().post(path, body)
      assert.equal(created.status, 200, `${path}: ${JSON.stringify(created.body)}`)
    }
    assert.deepEqual((await get('/tags'))[0]._tags[0].description, texts)
    // The one who asks cannot take rights from itself, so it is not among those that are sent back.
    const own = (records: Json[]) => records.filter(({ user }) => user?._id !== 1)
    for (const path of ['/user', '/group', '/pool', '/tags']) {
      for (const method of path === '/tags' ? (['post'] as const) : (['post', 'put'] as const)) {
        const records = own(await get(path))
        assert.ok(records.length > 0)
        const answer = await root()[method](path, records)
        assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`)
        const unversioned = (list: Json[]) =>
          JSON.parse(
            JSON.stringify(list, (key, value) => (/^_version$|^_(updated|created)/.test(key) ? undefined : value)),
          )
        assert.deepEqual(unversioned(own(await get(path))), unversioned(records), `${method} ${path}`)
      }
    }
    const types = await get('/objecttype')
    for (const type of types) type.objecttype._version++
    assert.equal((await root().post('/objecttype', types)).status, 200)
    for (const path of ['/schema/user/HEAD', '/mask/HEAD', '/l10n/user/HEAD']) {
      const before = await get(path)
      assert.equal((await root().post(path, before)).status, 200, path)
      assert.deepEqual(await get(path), before)
    }
    assert.equal((await root().post('/config', await get('/config'))).status, 200)
  })
})

suite('answers to questions that nothing asks', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
    await commitModel(svc, museum())
  })
  after(() => svc[Symbol.asyncDispose]())

  const pool = () => [{ pool: { name: { 'en-US': 'P' }, _id_parent: 1, watermark: { gravity: 'c' } } }]
  const objecttype = async () => {
    const [{ objecttype: first }] = (await svc.as('root').get('/objecttype')).body
    return [{ objecttype: { _id: first._id, _version: first._version + 1, watermark: { dissolve: first._version } } }]
  }
  const background = { background_invalid_acl: 'true', background_invalid_acl_timelimit: '1m30.5s' }
  const saves = [
    { method: 'post', path: '/pool', body: pool },
    { method: 'put', path: '/pool', body: pool },
    { method: 'post', path: '/objecttype', body: objecttype },
    { method: 'post', path: '/tags', body: () => [] },
    { method: 'post', path: '/right/object/presets', body: () => [] },
  ] as const

  for (const { method, path, body } of saves.filter(({ path }) => path === '/tags' || path.startsWith('/right'))) {
    test(`${method} ${path} refuses what is about shared collections`, async () => {
      for (const [name, value] of Object.entries({ ...background, allow_invalid_acl: 'true' })) {
        const refused = await svc.as('root')[method](path, await body(), { [name]: value })
        assert.deepEqual([refused.status, refused.body.code], [400, 'UrlParameterNotSupported'], name)
        assert.equal(refused.body.parameters.param, name)
      }
      assert.equal((await svc.as('root')[method](path, await body())).status, 200)
    })
  }
  for (const { method, path, body } of saves.filter(({ path }) => path !== '/tags' && !path.startsWith('/right'))) {
    test(`${path === '/objecttype' ? 'OTAPI-015 ' : ''}${method} ${path} takes answers`, async () => {
      const root = svc.as('root')
      for (const query of [{ allow_invalid_acl: 'true' }, { allow_invalid_acl: 'false' }, background]) {
        const saved = await root[method](path, await body(), { ...query, strict: '1' })
        assert.deepEqual([saved.status, saved.headers['x-svc-ignored']], [200, undefined], JSON.stringify(saved.body))
      }
      for (const name of ['allow_invalid_acl', 'background_invalid_acl', 'background_invalid_acl_timelimit']) {
        const wrong = await root[method](path, await body(), { [name]: 'soon' })
        assert.deepEqual([wrong.status, wrong.body.code], [400, 'ServerGeneric'], name)
      }
      // Whether renditions are made anew is asked where there are any.
      for (const confirm of ['resync', 'skip']) {
        const saved = await root[method](path, await body(), { confirm, strict: '1' })
        assert.deepEqual([saved.status, saved.headers['x-svc-ignored']], [200, undefined], JSON.stringify(saved.body))
      }
      assert.equal((await root[method](path, await body(), { confirm: 'soon' })).status, 400)
      assert.equal((await root[method](path, await body())).headers['x-svc-ignored'], undefined)
    })
  }
})

suite('what is kept for front ends', () => {
  const field = {
    kind: 'field',
    column_name_hint: 'title',
    output: { detail: false, text: false, table: false, standard: { order: 1, design: 'bold' } },
    search: { expert: false, fulltext: true },
    inheritance: { inherit: false, show_in_detail: true },
  }
  const mask = {
    name: 'work__full',
    mask_id: 1,
    table_name_hint: 'work',
    is_preferred: true,
    hide_in_detail: true,
    hide_in_editor: true,
    hide_in_print_dialog: true,
    system_fields: {
      collections: { output: { mode: 'show' }, edit: { mode: 'off' } },
      publish: { output: { mode: 'off' } },
      object_id: { output: { mode: 'off' } },
    },
    fields: [field],
  }

  test('settings of masks come to everybody as they were sent, hide nothing, and ask for no new index', async () => {
    await using svc = await startService({ readOnly: false })
    const root = svc.as('root')
    await commitTables(
      root,
      [{ name: 'work', in_main_search: true, columns: [{ name: 'title', type: 'text_oneline' }] }],
      [mask],
    )
    const ada = await userWith(svc, 'ada', {})
    const [shown] = (await ada.get('/mask/CURRENT')).body.masks
    const { hide_in_detail, hide_in_editor, hide_in_print_dialog } = shown
    assert.deepEqual([hide_in_detail, hide_in_editor, hide_in_print_dialog], [true, true, true])
    assert.deepEqual(shown.system_fields.collections, mask.system_fields.collections)
    assert.deepEqual(shown.system_fields.object_id, mask.system_fields.object_id)
    assert.deepEqual(shown.fields[0].output, field.output)
    assert.deepEqual(shown.fields[0].search, field.search)
    assert.deepEqual(shown.fields[0].inheritance, field.inheritance)

    const saved = await root.post('/db/work', [{ _objecttype: 'work', _mask: 'work__full', work: { title: 'needle' } }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    await svc.drain()
    const [read] = (await root.get(`/db/work/work__full/${saved.body[0].work._id}`)).body
    assert.equal(read.work.title, 'needle')
    assert.ok('_collections' in read && !('_published' in read), 'only publish is switched off')
    const search = [{ type: 'text', fields: ['work.title'], string: 'needle', mode: 'fulltext' }]
    assert.equal((await root.post('/search', { search })).body.count, 1)

    const changed = {
      ...field,
      output: { ...field.output, detail: true, text: true, standard: { order: 1, design: '' } },
      search: { expert: true, fulltext: true },
    }
    const head = await root.post('/mask/HEAD', { masks: [{ ...mask, hide_in_detail: false, fields: [changed] }] })
    assert.equal(head.status, 200, JSON.stringify(head.body))
    assert.equal((await root.post('/schema/commit')).status, 200)
    const facet = { ...changed, search: { ...changed.search, facet: true } }
    await root.post('/mask/HEAD', { masks: [{ ...mask, fields: [facet] }] })
    assert.equal((await root.post('/schema/commit')).status, 202)
  })

  test('the reverse half of a bidirectional pair is its second column; there is none without a pair', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const link = (name: string, target: string, more = {}) => ({
      name,
      type: 'link',
      other_table_name_hint: target,
      ...more,
    })
    const tables = (author: object, book: object, pairs: object[]) => [
      { name: 'author', columns: [link('book', 'book', { column_id: 20, ...author })], bidirectional: pairs },
      { name: 'book', columns: [link('author', 'author', { column_id: 21, ...book })] },
    ]
    const pair = { columns: [{ column_id: 20 }, { column_id: 21 }] }
    const post = (list: object[]) => root.post('/schema/user/HEAD', { version: 1, tables: list })
    for (const [author, book] of [
      [{}, {}],
      [{ bidirectional_reverse: true }, { bidirectional_reverse: false }],
      [{}, { bidirectional_reverse: true }],
    ] as const) {
      const saved = await post(tables(author, book, [pair]))
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
      assert.deepEqual(
        saved.body.tables.map(({ columns }: Json) => columns[0].bidirectional_reverse),
        [false, true],
      )
    }
    const alone = await post(tables({}, { bidirectional_reverse: true }, []))
    assert.deepEqual([alone.status, alone.body.parameters.path], [400, 'tables[1].columns[0].bidirectional_reverse'])
  })
})
