import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Reverse-nested rows in the shapes in which importers and editors send them (decisions.md, 28). */

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const reverse = '_reverse_nested:loan:work'
const work = (block: object) => payload('work', { ...inPool(museum.pool), ...block })

async function save(block: object): Promise<Json> {
  const answer = await museum.svc.as('root').post('/db/work', [work(block)])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return read(answer.body[0].work._id)
}

async function read(id: number): Promise<Json> {
  return (await museum.svc.as('root').get(`/db/work/_all_fields/${id}`)).body[0].work
}

const loansOf = (stored: Json) =>
  stored[reverse].map((row: Json) => [row.loan.borrower, row.loan.due?.value, row.loan._version])

async function refused(block: object, place: string): Promise<void> {
  const counts = 'select (select count(*) from object)::int as objects, (select count(*) from event)::int as events'
  const before = await museum.svc.db.query(counts)
  const answer = await museum.svc.as('root').post('/db/work', [work(block)])
  assert.equal(answer.status, 400, JSON.stringify(answer.body))
  assert.equal(answer.body.parameters.name, place)
  assert.deepEqual((await museum.svc.db.query(counts)).rows, before.rows)
}

test('a flat row becomes an object with its values, as the JSON importer sends it', async () => {
  const stored = await save({
    _version: 1,
    inventory: 'A1',
    [reverse]: [
      {
        _pool: { pool: { 'lookup:_id': { reference: 'system:standard' } } },
        _version: 1,
        borrower: 'Prado',
        due: { value: '2027-04-01' },
      },
      { _id: null, _version: 1, borrower: 'Louvre', due: null },
    ],
  })
  assert.deepEqual(loansOf(stored), [
    ['Prado', '2027-04-01', 1],
    ['Louvre', undefined, 1],
  ])
})

test('flat rows are kept and changed by their _id and _version beside the fields, others are added', async () => {
  const created = await save({ [reverse]: [{ borrower: 'Prado' }, { borrower: 'Louvre' }, { borrower: 'Tate' }] })
  const [prado, louvre] = created[reverse].map((row: Json) => row.loan)
  const stored = await save({
    _id: created._id,
    _version: 1,
    [reverse]: [
      { _id: prado._id, _version: 1, borrower: 'Museo del Prado' },
      { _id: louvre._id, _version: 1, borrower: 'Louvre' },
      { _objecttype: 'loan', _mask: '_all_fields', borrower: 'Albertina' },
    ],
  })
  assert.deepEqual(loansOf(stored), [
    ['Museo del Prado', undefined, 2],
    ['Louvre', undefined, 1],
    ['Albertina', undefined, 1],
  ])
})

test('wrapped rows are taken with and without the names of type and mask', async () => {
  const stored = await save({
    [reverse]: [
      { _objecttype: 'loan', _mask: '_all_fields', loan: { _version: 1, borrower: 'Prado' } },
      { loan: { borrower: 'Louvre' } },
    ],
  })
  assert.deepEqual(
    loansOf(stored).map(([name]: string[]) => name),
    ['Prado', 'Louvre'],
  )
})

test('a row that is sent back as it was answered changes nothing', async () => {
  const created = await save({ [reverse]: [{ borrower: 'Prado' }] })
  const stored = await save({ _id: created._id, _version: 1, [reverse]: created[reverse] })
  assert.deepEqual(loansOf(stored), [['Prado', undefined, 1]])
})

test('a row may repeat the link to the object that it stands under, and no other', async () => {
  const other = await save({ inventory: 'B1' })
  const created = await save({ inventory: 'B2', [reverse]: [{ borrower: 'Prado' }] })
  const [row] = created[reverse]
  const linkTo = (id: number) => ({ _objecttype: 'work', _mask: '_all_fields', work: { _id: id } })
  const update = (link: object) => ({
    _id: created._id,
    _version: 1,
    inventory: 'B2',
    [reverse]: [{ _id: row.loan._id, _version: 1, borrower: 'Prado', work: link }],
  })
  await refused(update(linkTo(other._id)), `0.work.${reverse}.0.work`)
  await refused(update({ borrower: 'Prado' }), `0.work.${reverse}.0.work`)
  assert.deepEqual(loansOf(await save(update(linkTo(created._id)))), [['Prado', undefined, 1]])
})

test('rows that would become empty objects are refused', async () => {
  const at = `0.work.${reverse}.0`
  const rows: [object, string][] = [
    [{}, at],
    [{ _objecttype: 'loan', _mask: '_all_fields' }, at],
    [{ something: { borrower: 'Prado' } }, at],
    [{ work: { borrower: 'Prado' } }, `${at}.work`],
    [{ _version: 1, borower: 'Prado' }, at],
    [{ loan: { borower: 'Prado' } }, `${at}.loan`],
    [{ loan: { due: { value: '2027' } }, borrower: 'Prado' }, `${at}.borrower`],
    [{ _id: 5, _version: 1, loan: { borrower: 'Prado' } }, `${at}._id`],
    [{ loan: 'Prado' }, at],
    [{ _objecttype: 'work', loan: { borrower: 'Prado' } }, `${at}._objecttype`],
  ]
  for (const [row, place] of rows) await refused({ [reverse]: [row] }, place)
})

test('a new row with values of which the mask lets none be written is refused', async () => {
  const row = (fields: object) => ({ ...work({ [reverse]: [fields] }), _mask: 'work__loan_dates' })
  const root = museum.svc.as('root')
  const flat = await root.post('/db/work', [row({ borrower: 'Prado' })])
  assert.deepEqual([flat.status, flat.body.parameters.name], [400, `0.work.${reverse}.0.borrower`])
  const wrapped = await root.post('/db/work', [row({ loan: { borrower: 'Prado' } })])
  assert.deepEqual([wrapped.status, wrapped.body.parameters.name], [400, `0.work.${reverse}.0.loan.borrower`])
})

test('rows under the name of their type, of their link or of nothing are refused', async () => {
  const rows = [{ borrower: 'Prado' }]
  for (const key of ['loan', 'work', '_reverse_nested:loan', '_reverse_nested:loan:wrok', '_nested:loan']) {
    await refused({ [key]: rows }, `0.work.${key}`)
  }
  for (const key of ['material', 'work__material', '_nested:material', '_nested:work_material']) {
    await refused({ [key]: [{ name: 'oil' }] }, `0.work.${key}`)
  }
  const inner = { name: 'oil', supplier: [{ since: { value: '1900' } }] }
  await refused({ '_nested:work__material': [inner] }, '0.work._nested:work__material.0.supplier')
  // Unlisted properties that cannot be rows of this type stay allowed (OBJ-019), as do empty lists of former tables.
  await save({ something: [{ borrower: 'Prado' }], '_nested:work__former': [], loan: null })
})

test('an object with its fields beside the system fields is refused instead of stored empty', async () => {
  const flat = { _objecttype: 'person', _mask: '_all_fields', _version: 1, name: 'Ada' }
  const answer = await museum.svc.as('root').post('/db/person', [flat])
  assert.equal(answer.status, 400)
  assert.match(answer.body.parameters.name, /^0\._version$/)
})
