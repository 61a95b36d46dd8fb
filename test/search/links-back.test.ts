import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedPeople, seedTag, toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/** Orders and facets through links that are edited from the other side: works, the loans of them, and who holds these. */
let svc: TestService
/** May read loans with a tag. */
let reader: Client
/** Uses a mask of loans that has no link to the work. */
let stranger: Client
const ids: Record<string, number> = {}

const loans = {
  ann: { work: 'a', block: { borrower: 'Ann', fee: 3, due: { value: '2020' } }, holder: 'museum' },
  zoe: { work: 'a', block: { borrower: 'Zoe', fee: 9, due: { value: '2024' } }, holder: 'museum' },
  max: { work: 'b', block: { borrower: 'Max', fee: 5, due: { value: '2022' } }, holder: 'archive' },
  bob: { work: 'd', block: { borrower: 'Bob', fee: 1, due: { value: '2021' } }, holder: 'archive' },
} as const

before(async () => {
  svc = await startService()
  const model = defineModel(
    {
      holder: { columns: { name: 'text_oneline' }, flags: { is_hierarchical: true } },
      work: { columns: { title: 'text_oneline' } },
      loan: {
        columns: {
          borrower: 'text_oneline',
          fee: 'number',
          due: 'date',
          holder: 'link:holder',
          work: { type: 'link:work', reverse_edit: true, on_delete: 'cascade' },
        },
        flags: { has_tags: true },
      },
    },
    { loan__blind: { table: 'loan', shape: (field, name) => (name === 'loan.work' ? null : field) } },
  )
  await commitModel(svc, model)
  const people = await seedPeople(svc)
  const { root } = people
  ;({ reader, stranger } = people)
  const tag = await seedTag(root)
  const { masks } = (await root.get('/mask/CURRENT')).body
  const blind = masks.find(({ name }: Json) => name === 'loan__blind').mask_id
  const types = (await root.get('/objecttype')).body
  const grants = ({ objecttype: { _id, name } }: Json) => {
    const isLoan = name === 'loan'
    return [
      { who: toUser(people.ids.reader), rights: { read: {} }, ...(isLoan ? { tagfilter: { any: [tag] } } : {}) },
      { who: toUser(people.ids.stranger), rights: { read: isLoan ? { mask_ids: { [_id]: [blind] } } : {} } },
    ]
  }
  const settings = types.map((entry: Json) => ({
    _basetype: 'objecttype',
    objecttype: { _id: entry.objecttype._id, _version: entry.objecttype._version + 1 },
    _acl: grants(entry),
  }))
  const set = await root.post('/objecttype', settings)
  assert.equal(set.status, 200, JSON.stringify(set.body))
  const save = async (type: string, named: Record<string, object>) => {
    const { status, body } = await root.post(`/db/${type}`, Object.values(named))
    assert.equal(status, 200, JSON.stringify(body))
    for (const [index, name] of Object.keys(named).entries()) ids[name] = body[index]._system_object_id
  }
  await save('holder', {
    museum: payload('holder', { name: 'Museum' }),
    archive: payload('holder', { name: 'Archive' }),
  })
  const titled = ['a', 'b', 'c', 'd'].map((title) => [title, payload('work', { title })])
  await save('work', Object.fromEntries(titled))
  const tagged = (name: string) => (name === 'bob' ? {} : { _tags: [{ _id: tag }] })
  const made = Object.entries(loans).map(([name, { work, block, holder }]) => {
    const links = { work: link('work', ids[work] as number), holder: link('holder', ids[holder] as number) }
    return [name, payload('loan', { ...block, ...links }, tagged(name))]
  })
  await save('loan', Object.fromEntries(made))
  await svc.drain()
})
after(() => svc[Symbol.asyncDispose]())

const back = (field: string) => `work._reverse_nested:loan:work.${field}`

async function search(who: Client, request: object): Promise<Json> {
  const { status, body } = await who.post('/search', { objecttypes: ['work'], ...request })
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Titles in the order of a key, equal ones by their titles. */
async function order(who: Client, key: object): Promise<string> {
  const { objects } = await search(who, { sort: [key, { field: 'work.title' }] })
  return objects.map((object: Json) => object.work.title).join('')
}

test('an order through a link back goes by the least value, a descending one by the greatest, or as mode says', async () => {
  const root = svc.as('root')
  const field = back('loan.borrower')
  assert.equal(await order(root, { field }), 'adbc')
  assert.equal(await order(root, { field: back('borrower') }), 'adbc')
  assert.equal(await order(root, { field, order: 'desc' }), 'abdc')
  assert.equal(await order(root, { field, mode: 'max' }), 'dbac')
  assert.equal(await order(root, { field, mode: 'min', order: 'desc' }), 'bdac')
  assert.equal(await order(root, { field: back('loan.fee') }), 'dabc')
  assert.equal(await order(root, { field: back('loan.due'), mode: 'to', order: 'desc' }), 'abdc')
  assert.equal(await order(root, { field: back('loan.due'), width: 'year' }), 'adbc')
  assert.equal(await order(root, { field: back('loan.holder') }), 'bdac')
  assert.equal(await order(root, { field: back('loan.holder.holder.name'), order: 'desc' }), 'abdc')
})

test('pages of such an order follow each other', async () => {
  const sort = [{ field: back('loan.borrower'), mode: 'max' }]
  const titles: string[] = []
  let after: unknown
  for (;;) {
    const { objects } = await search(svc.as('root'), { sort, limit: 1, search_after: after })
    if (objects.length === 0) break
    titles.push(objects[0].work.title)
    after = objects[0]._sort
  }
  assert.equal(titles.join(''), 'dbac')
})

const aggregations = {
  borrowers: { type: 'term', field: back('loan.borrower'), sort: 'term' },
  names: { type: 'term', field: back('loan.holder.holder.name'), sort: 'term' },
  holders: { type: 'linked_object', field: back('loan.holder'), sort: 'term' },
  fees: { type: 'range', field: back('loan.fee'), ranges: [{ to: 3 }, { from: 4 }] },
}

async function counts(who: Client): Promise<object> {
  const { aggregations: found } = await search(who, { aggregations, limit: 0 })
  const terms = (name: string) => Object.fromEntries(found[name].terms.map(({ term, count }: Json) => [term, count]))
  return {
    borrowers: terms('borrowers'),
    names: terms('names'),
    holders: Object.fromEntries(
      found.holders.linked_objects.map(({ _system_object_id: id, count }: Json) => [id, count]),
    ),
    fees: found.fees.ranges.map(({ count }: Json) => count),
  }
}

test('a facet through a link back counts an object once for a value', async () => {
  assert.deepEqual(await counts(svc.as('root')), {
    borrowers: { Ann: 1, Bob: 1, Max: 1, Zoe: 1 },
    names: { Archive: 2, Museum: 1 },
    holders: { [ids.archive as number]: 2, [ids.museum as number]: 1 },
    fees: [2, 2],
  })
  const fromLoans = { objecttypes: ['loan'], limit: 0 }
  const names = { type: 'term', field: `loan.work.${back('loan.holder.holder.name')}`, sort: 'term' }
  const { aggregations: found } = await search(svc.as('root'), { ...fromLoans, aggregations: { names } })
  assert.deepEqual(found.names.terms, [
    { term: 'Archive', count: 2 },
    { term: 'Museum', count: 2 },
  ])
})

test('what the caller may not see of the other side has no place in an order and is not counted', async () => {
  assert.equal(await order(reader, { field: back('loan.borrower') }), 'abcd')
  assert.deepEqual(await counts(reader), {
    borrowers: { Ann: 1, Max: 1, Zoe: 1 },
    names: { Archive: 1, Museum: 1 },
    holders: { [ids.archive as number]: 1, [ids.museum as number]: 1 },
    fees: [1, 2],
  })
  const { objects } = await search(reader, { sort: [{ field: back('loan.borrower') }] })
  assert.deepEqual(
    objects.map((object: Json) => object._sort[0] !== null),
    [true, true, false, false],
  )
})

test('a link that no mask of the caller shows leads nowhere back, though its objects may be read', async () => {
  const { count } = await search(stranger, { objecttypes: ['loan'], limit: 0 })
  assert.equal(count, 4)
  assert.equal(await order(stranger, { field: back('loan.borrower') }), 'abcd')
  assert.equal(await order(stranger, { field: back('loan.fee'), order: 'desc' }), 'abcd')
  assert.deepEqual(await counts(stranger), { borrowers: {}, names: {}, holders: {}, fees: [0, 0] })
})

test('min and max are for what leads back; periods, numbers by term and grids go through no link', async () => {
  const refused = async (request: object) => {
    const { status, body } = await svc.as('root').post('/search', { objecttypes: ['work', 'loan'], ...request })
    assert.equal(status, 400, JSON.stringify(body))
    return [body.code, body.parameters?.name ?? body.parameters?.field]
  }
  for (const field of ['work.title', 'loan.work.work.title', '_standard', 'loan.due'])
    assert.deepEqual(await refused({ sort: [{ field, mode: 'min' }] }), ['ServerGeneric', 'sort[0].mode'])
  assert.deepEqual(await refused({ sort: [{ field: back('loan.fee'), mode: 'avg' }] }), [
    'ServerGeneric',
    'sort[0].mode',
  ])
  assert.deepEqual(await refused({ sort: [{ field: back('loan.fee'), mode: 'to' }] }), [
    'ServerGeneric',
    'sort[0].mode',
  ])
  const refusedFacet = (facet: object) => refused({ aggregations: { x: facet } })
  const years = back('loan.due.range_year')
  assert.deepEqual(await refusedFacet({ type: 'term', field: years }), ['SearchFieldNotAllowed', years])
  const stats = { type: 'term_stats', field: back('loan.borrower'), value_field: back('loan.fee') }
  assert.deepEqual(await refusedFacet(stats), ['SearchFieldNotAllowed', stats.field])
  const tags = back('loan._tags')
  assert.deepEqual(await refusedFacet({ type: 'term', field: tags }), ['SearchFieldNotAllowed', tags])
  assert.deepEqual(await refused({ sort: [{ field: back('loan._created') }] }), [
    'SearchFieldNotAllowed',
    back('loan._created'),
  ])
})

test('loans in the trash, and such as lead elsewhere now, are neither sorted by nor counted', async () => {
  const root = svc.as('root')
  const [zoe] = (await root.get(`/db/loan/_all_fields/system_object_id/${ids.zoe}`)).body
  const gone = await root.delete('/db/loan', [[zoe.loan._id, zoe.loan._version]], {
    await_index: 20,
    delete_policy: 'remove',
  })
  assert.equal(gone.status, 200, JSON.stringify(gone.body))
  assert.equal(await order(root, { field: back('loan.borrower'), order: 'desc' }), 'bdac')
  const [max] = (await root.get(`/db/loan/_all_fields/system_object_id/${ids.max}`)).body
  const { _id, _version } = max.loan
  const moved = { ...max, loan: { ...max.loan, _id, _version, work: link('work', ids.c as number) } }
  const saved = await root.post('/db/loan', [moved], { await_index: 20 })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.equal(await order(root, { field: back('loan.borrower'), order: 'desc' }), 'cdab')
  const facet = { type: 'term', field: back('loan.borrower'), sort: 'term' }
  const { aggregations: found } = await search(root, { aggregations: { facet }, limit: 0 })
  assert.deepEqual(
    found.facet.terms.map(({ term }: Json) => term),
    ['Ann', 'Bob', 'Max'],
  )
})
