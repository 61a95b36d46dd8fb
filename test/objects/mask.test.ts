import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

const row = { columns: { text: 'text_oneline' } }

/** Sheets, and a mask of theirs that shows some fields, leaves out others, and lets rows only be added or removed. */
const model = () => {
  const modes: Record<string, object | null> = {
    'sheet.shown': { mode: 'show' },
    'sheet.off': { mode: 'off' },
    'sheet.absent': null,
    sheet__shown: { mode: 'show' },
    sheet__added: { mode: 'edit', append_only: true },
    sheet__removed: { mode: 'edit', remove_only: true },
  }
  return defineModel(
    {
      sheet: {
        columns: { title: 'text_oneline', shown: 'text_oneline', off: 'text_oneline', absent: 'text_oneline' },
        nested: { shown: row, added: row, removed: row },
      },
    },
    {
      sheet__partial: {
        table: 'sheet',
        shape: (field, name) => {
          const edit = modes[name]
          return edit === null ? null : edit === undefined ? field : { ...field, edit }
        },
      },
    },
  )
}

let svc: TestService
before(async () => {
  svc = await startService()
  await commitModel(svc, model())
})
after(() => svc[Symbol.asyncDispose]())

const send = (mask: string, block: object, query: Record<string, string> = {}): Promise<Answer> =>
  svc.as('root').post('/db/sheet', [{ _objecttype: 'sheet', _mask: mask, sheet: block }], query)

async function save(mask: string, block: object): Promise<Json> {
  const { status, body } = await send(mask, block)
  assert.equal(status, 200, JSON.stringify(body))
  return body[0].sheet
}

async function read(mask: string, id: number): Promise<Json> {
  const { status, body } = await svc.as('root').get(`/db/sheet/${mask}/${id}`, { format: 'long' })
  assert.equal(status, 200, JSON.stringify(body))
  return body[0].sheet
}

const [shown, added, removed] = ['_nested:sheet__shown', '_nested:sheet__added', '_nested:sheet__removed'] as const

/** A sheet with a value everywhere. */
const whole = () =>
  save('sheet__standard', {
    title: 'T',
    shown: 'S',
    off: 'O',
    absent: 'A',
    [shown]: [{ text: 's' }],
    [added]: [{ text: 'a' }],
    [removed]: [{ text: 'r' }, { text: 'rr' }],
  })

test('SVC-008 a mask selects the fields of an object, and which of them can be written', async () => {
  const { _id } = await whole()
  const partial = await read('sheet__partial', _id)
  assert.deepEqual(
    Object.keys(partial).toSorted(),
    ['_id', '_version', 'title', 'shown', shown, added, removed].toSorted(),
  )
  assert.deepEqual([partial.title, partial.shown, partial[shown][0].text], ['T', 'S', 's'])

  const written = { ...partial, title: 'new', shown: 'new', off: 'new', absent: 'new', [shown]: [{ text: 'new' }] }
  const strict = await send('sheet__partial', written, { strict: '1' })
  assert.equal(strict.status, 400, 'what has no effect is refused for those who ask')
  await save('sheet__partial', written)
  const stored = await read('sheet__standard', _id)
  assert.deepEqual(
    [stored.title, stored.shown, stored.off, stored.absent, stored[shown].map(({ text }: Json) => text)],
    ['new', 'S', 'O', 'A', ['s']],
  )

  const made = await save('sheet__partial', {
    title: 'made',
    shown: 'x',
    off: 'x',
    absent: 'x',
    [shown]: [{ text: 'x' }],
  })
  const { title, ...rest } = await read('sheet__standard', made._id)
  assert.equal(title, 'made')
  for (const name of ['shown', 'off', 'absent', shown]) assert.equal(rest[name]?.length ?? 0, 0, name)
})

test('rows of an append-only table can only be added, those of a remove-only table only be removed', async () => {
  const { _id } = await whole()
  const rows = async () => {
    const stored = await read('sheet__partial', _id)
    return [added, removed].map((table) => (stored[table] ?? []).map(({ text }: Json) => text))
  }
  const refused = async (change: (block: Json) => object) => {
    const block = await read('sheet__partial', _id)
    const before = await rows()
    const { status, body } = await send('sheet__partial', { ...block, ...change(block) })
    assert.deepEqual([status, body.code], [400, 'FieldNotWritable'], JSON.stringify(body))
    assert.deepEqual(await rows(), before)
  }
  const accepted = async (change: (block: Json) => object) => {
    const block = await read('sheet__partial', _id)
    await save('sheet__partial', { ...block, ...change(block) })
  }
  const altered = (list: Json[]) => list.map((each, index) => (index === 0 ? { ...each, text: 'other' } : each))
  await refused((block) => ({ [added]: altered(block[added]) }))
  await refused(() => ({ [added]: [] }))
  await refused(() => ({ [added]: [{ text: 'in its place' }] }))
  await accepted((block) => ({ [added]: [...block[added], { text: 'more' }] }))
  assert.deepEqual(await rows(), [
    ['a', 'more'],
    ['r', 'rr'],
  ])
  await refused((block) => ({ [removed]: [...block[removed], { text: 'more' }] }))
  await refused((block) => ({ [removed]: altered(block[removed]) }))
  await accepted((block) => ({ [removed]: block[removed].slice(1) }))
  await accepted(() => ({ title: 'unchanged rows' }))
  assert.deepEqual(await rows(), [['a', 'more'], ['rr']])
  await accepted(() => ({ [removed]: [] }))
  assert.deepEqual(await rows(), [['a', 'more'], []])
})

test('operations on what is stored keep to these tables, too', async () => {
  const { _id } = await whole()
  const edit = (operation: object) =>
    svc
      .as('root')
      .patch('/db/sheet', [{ _objecttype: 'sheet', _mask: 'sheet__partial', _operations: [operation], sheet: { _id } }])
  for (const operation of [
    { op: 'remove', field: added, values: [{ text: 'a' }] },
    { op: 'replace', field: added, values: [{ text: 'a' }], with: { text: 'b' } },
    { op: 'replace_text', field: `${added}.text`, search: 'a', with: 'b' },
    { op: 'append', field: removed, values: [{ text: 'b' }] },
    { op: 'replace', field: removed, values: [{ text: 'r' }], with: { text: 'b' } },
  ]) {
    const { status, body } = await edit(operation)
    assert.deepEqual([status, body.code], [400, 'FieldNotWritable'], JSON.stringify([operation, body]))
  }
  for (const operation of [
    { op: 'append', field: shown, values: [{ text: 'b' }] },
    { op: 'replace_text', field: 'shown', search: 'S', with: 'T' },
    { op: 'replace_text', field: 'absent', search: 'A', with: 'B' },
  ]) {
    const { status, body } = await edit(operation)
    assert.deepEqual([status, body.parameters?.name], [400, '0._operations.0.field'], JSON.stringify([operation, body]))
  }
  assert.equal((await edit({ op: 'prepend', field: added, values: [{ text: 'b' }] })).status, 200)
  assert.equal((await edit({ op: 'remove', field: removed, values: [{ text: 'r' }] })).status, 200)
  const stored = await read('sheet__standard', _id)
  assert.deepEqual(
    [added, removed].map((table) => stored[table].map(({ text }: Json) => text)),
    [['b', 'a'], ['rr']],
  )
})
