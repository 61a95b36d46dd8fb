import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SaveCallback } from '../../src/objects/service.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/** A record with pages: both lie in pools, the pages belong to the record. */
const model = () =>
  defineModel(
    {
      record: {
        columns: { title: { type: 'text_oneline' }, state: 'string' },
        flags: { pool_link: true, has_tags: true },
      },
      page: {
        columns: { text: 'text_oneline', record: { type: 'link:record', reverse_edit: true, on_delete: 'cascade' } },
        flags: { pool_link: true },
      },
    },
    {
      record__always: {
        table: 'record',
        shape: keep,
        settings: { custom_settings: { reverse_pool_changed_mode: 'reverse_pool_changed_always' } },
      },
      record__ask: {
        table: 'record',
        shape: keep,
        settings: { custom_settings: { reverse_pool_changed_mode: 'reverse_pool_changed_ask' } },
      },
      record__never: {
        table: 'record',
        shape: keep,
        settings: { custom_settings: { reverse_pool_changed_mode: 'reverse_pool_changed_never' } },
      },
      record__commented: { table: 'record', shape: keep, settings: { require_comment: 'update' } },
      record__strict: {
        table: 'record',
        shape: (field, name) =>
          name === 'record.title'
            ? { ...field, custom_settings: { required: 'true' } }
            : name === 'record.state'
              ? { ...field, custom_settings: { default: '"new"' } }
              : field,
      },
    },
  )

function keep<T>(field: T): T {
  return field
}

let svc: TestService
let callbacks: readonly SaveCallback[] = []
let here: number
let there: number
before(async () => {
  svc = await startService({ saveCallbacks: () => callbacks })
  await commitModel(svc, model())
  here = await standardPool(svc)
  const pools = (await root().get('/pool')).body
  const top = pools.find((entry: Json) => entry.pool.reference === 'system:root')
  const created = await root().post('/pool', [
    { _basetype: 'pool', pool: { name: { 'en-US': 'There' }, _id_parent: top.pool._id } },
  ])
  there = created.body[0].pool._id
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')
const record = (block: object, rest: object = {}) => payload('record', { ...inPool(here), ...block }, rest)

async function save(objects: object[], query = {}): Promise<Json[]> {
  const answer = await root().post('/db/record', objects, query)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** A record with one page here, and the payload that moves the record there. */
async function moving(mask: string): Promise<{ page: number; record: number; body: object[] }> {
  const [created] = await save([
    record({ title: 'R', '_reverse_nested:page:record': [payload('page', { text: 'one' })] }),
  ])
  const stored = (await root().get(`/db/record/_all_fields/${created.record._id}`)).body[0]
  const page = stored.record['_reverse_nested:page:record'][0].page
  assert.equal(page._pool.pool._id, here, 'a new reverse-nested object lies where its record does')
  const pages = [payload('page', { _id: page._id, _version: 1, text: 'one' })]
  const block = {
    _id: created.record._id,
    _version: 1,
    title: 'R',
    ...inPool(there),
    '_reverse_nested:page:record': pages,
  }
  return { page: page._id, record: created.record._id, body: [payload('record', block, { _mask: mask })] }
}

async function poolOf(page: number): Promise<number> {
  return (await root().get(`/db/page/_all_fields/${page}`)).body[0].page._pool.pool._id
}

test('DB-012 without reverse_pool_changed_mode the mode of the mask applies; it may ask first', async () => {
  const always = await moving('record__always')
  await save(always.body)
  assert.equal(await poolOf(always.page), there)
  const never = await moving('record__never')
  await save(never.body)
  assert.equal(await poolOf(never.page), here)
  for (const mask of ['record__ask', '_all_fields']) {
    for (const [value, pool] of [
      ['reverse_pool_changed_always', there],
      ['reverse_pool_changed_never', here],
    ] as const) {
      const { page, record, body } = await moving(mask)
      const asked = await root().post('/db/record', body)
      assert.equal(asked.status, 202, JSON.stringify(asked.body))
      assert.deepEqual(Object.keys(asked.body), ['tasks'], 'no code: it is no error')
      const [{ title, message, form, buttons }] = asked.body.tasks
      for (const text of [title, message]) assert.ok(typeof text === 'string' && text.length > 5, text)
      for (const { text } of buttons) assert.ok(text)
      assert.equal(form[0].name, 'reverse_pool_changed_mode')
      assert.ok(form[0].options.some((option: Json) => option.value === value))
      const { _version, _pool } = (await root().get(`/db/record/_all_fields/${record}`)).body[0].record
      assert.deepEqual([_version, _pool.pool._id, await poolOf(page)], [1, here, here], 'nothing is written')
      await save(body, { reverse_pool_changed_mode: value })
      assert.equal(await poolOf(page), pool)
    }
  }
})

test('DB-011 reverse_pool_changed_mode decides, whatever the mask says', async () => {
  for (const mask of ['record__never', 'record__always', 'record__ask']) {
    const always = await moving(mask)
    await save(always.body, { reverse_pool_changed_mode: 'reverse_pool_changed_always' })
    assert.equal(await poolOf(always.page), there)
    const never = await moving(mask)
    await save(never.body, { reverse_pool_changed_mode: 'reverse_pool_changed_never' })
    assert.equal(await poolOf(never.page), here)
  }
  for (const [mode, pool] of [
    ['reverse_pool_changed_always', there],
    ['reverse_pool_changed_never', here],
  ] as const) {
    const asking = await moving('record__ask')
    const changed = await root().patch('/db/record', asking.body, { reverse_pool_changed_mode: mode })
    assert.deepEqual([changed.status, await poolOf(asking.page)], [200, pool], JSON.stringify(changed.body))
  }
  const other = await root().post('/db/record', (await moving('record__ask')).body, { reverse_pool_changed_mode: 'x' })
  assert.equal(other.status, 400)
})

test('a transition that somebody runs asks nobody about dependent objects: a callback moves what has none', async () => {
  const { body } = await root().post('/transitions', [
    { type: 'process', trigger: 'manual', actions: [], displayname: { 'en-US': 'Move' } },
  ])
  const [alone, above] = await save([
    record({ title: 'alone' }),
    record({ title: 'above', '_reverse_nested:page:record': [payload('page', { text: 'one' })] }),
  ])
  const run = (...objects: Json[]) =>
    root().post(
      `/transitions/${body[0]._id}/run`,
      objects.map(({ _system_object_id }) => ({ _system_object_id })),
    )
  const lies = async ({ record: { _id } }: Json): Promise<number[]> => {
    const { record: stored } = (await root().get(`/db/record/_all_fields/${_id}`)).body[0]
    return [stored._pool.pool._id, stored._version]
  }
  callbacks = [
    {
      name: 'mover',
      kinds: ['transition'],
      call: async ({ objects }) =>
        objects.map(({ key, object }) => ({
          key,
          object: { ...object, record: { ...(object.record as object), ...inPool(there) } },
        })),
    },
  ]
  try {
    const refused = await run(alone as Json, above as Json)
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.name],
      [400, 'InvalidValue', '1.record._pool'],
    )
    assert.deepEqual(await Promise.all([alone, above].map((one) => lies(one as Json))), [
      [here, 1],
      [here, 1],
    ])
    const moved = await run(alone as Json)
    assert.equal(moved.status, 200, JSON.stringify(moved.body))
    assert.deepEqual(await lies(alone as Json), [there, 2])
  } finally {
    callbacks = []
    await root().post('/transitions', [])
  }
})

test('a mask requires comments', async () => {
  const [created] = await save([record({ title: 'C' }, { _mask: 'record__commented' })])
  const update = record({ _id: created.record._id, _version: 1, title: 'D' }, { _mask: 'record__commented' })
  const refused = await root().post('/db/record', [update])
  assert.deepEqual([refused.status, refused.body.code], [400, 'CommentRequired'])
  const [saved] = await save([{ ...update, _comment: 'why' }], { format: 'full' })
  assert.equal(saved._comment, 'why')
})

test('a mask requires fields and fills in defaults', async () => {
  const refused = await root().post('/db/record', [record({ title: '' }, { _mask: 'record__strict' })])
  assert.deepEqual([refused.body.code, refused.body.parameters.rule], ['ConstraintViolation', 'required'])
  const [filled, given, emptied] = await save([
    record({ title: 'a' }, { _mask: 'record__strict' }),
    record({ title: 'b', state: 'done' }, { _mask: 'record__strict' }),
    record({ title: 'c', state: null }, { _mask: 'record__strict' }),
  ])
  assert.deepEqual([filled.record.state, given.record.state, emptied.record.state ?? null], ['new', 'done', null])
})

test('DB-002 format shapes the answer, not what is stored; standard is the default', async () => {
  const block = { title: 'Formatted', state: 'x' }
  const stored = async (object: Json) => {
    const { record } = (await root().get(`/db/record/_all_fields/${object.record._id}`)).body[0]
    return [record._version, record.title, record.state]
  }
  const [short] = await save([record(block)], { format: 'short' })
  assert.deepEqual([short._format, short.record.title, short.record.state], [undefined, undefined, undefined])
  const [standard] = await save([record(block)])
  const [full] = await save([record(block)], { format: 'full' })
  assert.deepEqual([standard._format, standard.record.state, '_changelog' in standard], ['standard', 'x', false])
  assert.deepEqual([full._format, full.record.state, '_changelog' in full], ['full', 'x', true])
  for (const object of [short, standard, full]) assert.deepEqual(await stored(object), [1, 'Formatted', 'x'])
  const wrong = await root().post('/db/record', [record({ title: 'x' })], { format: 'fancy' })
  assert.equal(wrong.status, 400)
})

test('a transition that asks is confirmed by its token', async () => {
  const tags = await root().post('/tags', [
    {
      _basetype: 'taggroup',
      taggroup: { displayname: { 'en-US': 'State' }, type: 'choice' },
      _tags: [
        {
          displayname: { 'en-US': 'draft' },
          reference: 'draft',
          enabled: true,
          displaytype: 'facet',
          type: 'individual',
        },
        {
          displayname: { 'en-US': 'public' },
          reference: 'public',
          enabled: true,
          displaytype: 'facet',
          type: 'individual',
        },
      ],
    },
  ])
  assert.equal(tags.status, 200, JSON.stringify(tags.body))
  const list = (await root().get('/tags')).body
  const idOf = (reference: string) => list[0]._tags.find((tag: Json) => tag.reference === reference)._id
  const transition = {
    type: 'process',
    operations: ['INSERT', 'UPDATE', 'DELETE'],
    confirm: { 'en-US': 'Really public?' },
    'tagfilter:after': { any: [idOf('public')] },
    actions: [],
  }
  const saved = await root().post('/transitions', [transition])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const body = [record({ title: 'Tagged' }, { _tags: [{ _id: idOf('public') }] })]
  const asked = await root().post('/db/record', body)
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const button = asked.body.tasks[0].buttons[0]
  assert.equal(button.name, 'confirmTransition')
  assert.match(asked.body.tasks[0].message, /Really public/)
  const wrong = await root().post('/db/record', body, { confirmTransition: 'made-up' })
  assert.equal(wrong.status, 202)
  const combined = await root().post('/db/record', body, { revoke: `yes:${button.value}` })
  assert.equal(combined.status, 200, JSON.stringify(combined.body))
  assert.deepEqual(
    combined.body[0]._tags.map((tag: Json) => tag._id),
    [idOf('public')],
  )

  const id = combined.body[0].record._id
  const deleting = await root().delete('/db/record', [[id, 1, null]], { delete_policy: 'setnull' })
  assert.equal(deleting.status, 202, JSON.stringify(deleting.body))
  const buttons = deleting.body.tasks[0].buttons as Json[]
  const query = Object.fromEntries(buttons.filter((b) => b.name).map((b) => [b.name, b.value]))
  assert.deepEqual(Object.keys(query).sort(), ['confirmTransition', 'delete_policy'])
  const gone = await root().delete('/db/record', [[id, 1, null]], query)
  assert.equal(gone.status, 200, JSON.stringify(gone.body))
})

test('two tags of a choice group are refused, unless constraints are skipped', async () => {
  const list = (await root().get('/tags')).body
  const both = { _tags: list[0]._tags.map((tag: Json) => ({ _id: tag._id })) }
  await root().post('/transitions', [])
  const refused = await root().post('/db/record', [record({ title: 'both' }, both)])
  assert.deepEqual([refused.status, refused.body.code], [400, 'ConstraintViolation'])
  const [saved] = await save([record({ title: 'both' }, both)], { skip_constraints: 1 })
  assert.equal(saved._tags.length, 2)
})
