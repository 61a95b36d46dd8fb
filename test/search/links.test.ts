import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { link, payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
  const { svc, ids } = scene
  const loan = payload('loan', {
    borrower: 'Tate Gallery',
    due: { value: '2024-05' },
    work: link('work', ids.bridge as number),
  })
  const saved = await svc.as('root').post('/db/loan', [loan], { await_index: 20 })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [own] = saved.body
  ;(ids as Record<string, number>).loan = own._system_object_id
})
after(() => scene[Symbol.asyncDispose]())

const material = 'work._nested:work__material'
const born = (range: object) => ({ type: 'range', field: 'work.creator.person.born', ...range })
const within = (field: string, ...list: unknown[]) => ({ type: 'in', fields: [field], in: list })

test('fields of linked objects are found by words, values and ranges', async () => {
  const { works } = scene
  assert.deepEqual(await works(text('turner', { fields: ['work.creator.person.name'] })), ['bridge', 'dawn'])
  assert.deepEqual(await works(within('work.creator.person.reference', 'blake-1')), ['tyger'])
  assert.deepEqual(await works(born({ from: '1770', to: '1800' })), ['bridge', 'dawn'])
  assert.deepEqual(await works(text('tur*', { fields: ['work.creator.person.name'], mode: 'wildcard' })), [
    'bridge',
    'dawn',
  ])
  assert.deepEqual(await works(text('mallord william', { fields: ['work.creator.person.name'], phrase: true })), [
    'bridge',
    'dawn',
  ])
  assert.deepEqual(await works(text('*Joseph*', { fields: ['work.creator.person.name'], mode: 'exact' })), [
    'bridge',
    'dawn',
  ])
  assert.deepEqual(await works(text('ägidius', { fields: ['work.creator.person._fulltext'] })), ['beast'])
})

test('words may stand in fields of different objects', async () => {
  const { works } = scene
  const fields = ['work.title', 'work.creator.person.name', 'work.place.place.name']
  assert.deepEqual(await works(text('turner bridge', { fields })), ['bridge'])
  assert.deepEqual(await works(text('turner london', { fields })), ['bridge'])
  assert.deepEqual(await works(text('turner', { fields })), ['bridge', 'dawn'])
  assert.deepEqual(await works(text('turner tyger', { fields })), [])
})

test('a denied condition finds what has no such linked object, and null what has no value there', async () => {
  const { works } = scene
  const named = text('turner', { fields: ['work.creator.person.name'] })
  assert.deepEqual(await works({ ...named, bool: 'must_not' }), ['beast', 'blank', 'tyger'])
  assert.deepEqual(await works(within('work.creator.person.name', null)), ['blank'])
  assert.deepEqual(await works(within('work.creator.person.name', null, 'Blake, William')), ['blank', 'tyger'])
  assert.deepEqual(await works({ ...within('work.creator.person.name', null), bool: 'must_not' }), [
    'beast',
    'bridge',
    'dawn',
    'tyger',
  ])
  assert.deepEqual(await works(born({})), ['beast', 'bridge', 'dawn', 'tyger'])
  const either = [
    { ...named, bool: 'should' },
    { ...within('work.inventory', 'X1'), bool: 'should' },
    { ...named, bool: 'must' },
  ]
  assert.deepEqual(await works(...either), ['bridge', 'dawn'])
  assert.deepEqual(await works({ type: 'complex', bool: 'must_not', search: either.slice(0, 2) }), ['beast', 'tyger'])
})

test('links of rows belong to their row', async () => {
  const { works } = scene
  const code = `${material}.origin.place.code`
  assert.deepEqual(await works(within(code, 'GB')), ['bridge', 'dawn'])
  const row = (name: string, place: string) => ({
    type: 'nested',
    path: material,
    search: [text(name, { fields: [`${material}.name`] }), within(code, place)],
  })
  assert.deepEqual(await works(row('oil', 'GB')), ['bridge'])
  assert.deepEqual(await works(row('oil', 'EU')), [])
  assert.deepEqual(await works(row('paper', 'GB')), ['dawn'])
  const not = { ...within(code, 'GB'), bool: 'must_not' }
  assert.deepEqual(
    await works({ type: 'nested', path: material, search: [text('oil', { fields: [`${material}.name`] }), not] }),
    [],
  )
})

test('links are followed over several objects, and back from the other side', async () => {
  const { found, works } = scene
  const loans = async (element: object) => found({ objecttypes: ['loan'], search: [element] })
  assert.deepEqual(await loans(text('turner', { fields: ['loan.work.work.creator.person.name'] })), [
    String(scene.ids.loan),
  ])
  assert.deepEqual(await loans(text('blake', { fields: ['loan.work.work.creator.person.name'] })), [])
  assert.deepEqual(await loans(within(`loan.work.work.${material.slice(5)}.origin.place.code`, 'EU')), [
    String(scene.ids.loan),
  ])
  const rows = {
    type: 'nested',
    path: `loan.work.${material}`,
    search: [within(`loan.work.${material}.name`, 'oil'), within(`loan.work.${material}.origin.place.code`, 'GB')],
  }
  assert.deepEqual(await loans(rows), [String(scene.ids.loan)])
  assert.deepEqual(await works(text('tate', { fields: ['work._reverse_nested:loan:work.loan.borrower'] })), ['bridge'])
  assert.deepEqual(await works(within('work._reverse_nested:loan:work.borrower', 'Tate Gallery')), ['bridge'])
  assert.deepEqual(await works({ type: 'range', field: 'work._reverse_nested:loan:work.loan.due', from: '2024' }), [
    'bridge',
  ])
})

test('names of the target, and searches within, stand behind links too', async () => {
  const { ids, works, found } = scene
  assert.deepEqual(await works(within('work.place.place._parents.place._id', null)), ['beast', 'blank', 'tyger'])
  const loans = await found({
    objecttypes: ['loan'],
    search: [within('loan.work.work.creator.person._system_object_id', ids.turner)],
  })
  assert.deepEqual(loans, [String(scene.ids.loan)])
  const inner = {
    type: 'in',
    fields: ['loan.work.work.creator'],
    subsearch: { objecttypes: ['person'], search: [text('turner')] },
  }
  assert.deepEqual(await found({ objecttypes: ['loan'], search: [inner] }), [String(scene.ids.loan)])
  const { body } = await scene.svc.as('root').get('/search/parse', {
    query: 'work.creator.person.name =@ "turner" && work.place.place.code == "LON"',
    search: true,
    objecttypes: 'work',
  })
  assert.equal(body.count, 1, JSON.stringify(body))
})

test('a name that leads nowhere is refused, with the one that was meant', async () => {
  const { search } = scene
  const refused = async (field: string) => (await search({ objecttypes: ['work'], search: [within(field, 'x')] })).body
  const wrong = await refused('work.creator.person.nam')
  assert.equal(wrong.code, 'SearchFieldUnknown')
  assert.equal(wrong.parameters.nearest, 'work.creator.person.name')
  assert.equal((await refused('work.creator.place.name')).code, 'SearchFieldUnknown')
  assert.equal((await refused('work._reverse_nested:loan:title.loan.borrower')).code, 'SearchFieldUnknown')
  const steps = `${'person._nested:person__influence.person.'.repeat(20)}person.name`
  assert.equal((await refused(steps)).code, 'SearchFieldUnknown')
  const many = text(Array.from({ length: 150 }, (_, i) => `word${i}`).join(' '), {
    fields: ['work.creator.person.name'],
  })
  const costly = (await search({ objecttypes: ['work'], search: [many] })).body
  assert.equal(costly.code, 'SearchTooCostly')
  assert.equal(costly.parameters.name, 'links')
})

test('values of linked objects are answered with hits', async () => {
  const { search, ids } = scene
  const fields = [
    { key: 'names', field: 'work.creator.person.name' },
    { key: 'codes', field: `${material}.origin.place.code` },
    { key: 'own', field: 'work.inventory' },
    { key: 'born', field: 'work.creator.person.born', mode: 'from' },
    { key: 'borrowers', field: 'work._reverse_nested:loan:work.loan.borrower' },
    { key: 'places', field: 'work._reverse_nested:loan:work.loan.work.work.place.place.code' },
  ]
  const { status, body } = await search({
    objecttypes: ['work'],
    search: [within('work.inventory', 'N10', 'X1')],
    fields,
    sort: [{ field: 'work.inventory' }],
  })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(
    body.objects.map((object: Json) => object._fields),
    [
      {
        names: ['Turner, Joseph Mallord William'],
        codes: ['GB', 'EU'],
        own: ['N10'],
        born: ['1775-04-23'],
        borrowers: ['Tate Gallery'],
        places: ['LON'],
      },
      { names: [], codes: [], own: ['X1'], born: [], borrowers: [], places: [] },
    ],
  )
  assert.ok(ids.bridge)
})

test('facets count the values of linked objects, each object once for a value', async () => {
  const { search, ids } = scene
  const aggregations = {
    references: { type: 'term', field: 'work.creator.person.reference', sort: 'term' },
    codes: { type: 'term', field: `${material}.origin.place.code`, sort: 'term' },
    born: {
      type: 'date_range',
      field: 'work.creator.person.born',
      ranges: [{ to: '1760' }, { from: '1770', to: '1780' }],
    },
  }
  const { status, body } = await search({ objecttypes: ['work'], limit: 0, aggregations })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(body.aggregations.references.terms, [
    { term: 'A$5667', count: 1 },
    { term: 'blake-1', count: 1 },
    { term: 'turner-1', count: 2 },
  ])
  assert.deepEqual(body.aggregations.codes.terms, [
    { term: 'EU', count: 2 },
    { term: 'GB', count: 2 },
  ])
  assert.deepEqual(body.aggregations.born.ranges, [
    { to: '1760', count: 1 },
    { from: '1770', to: '1780', count: 2 },
  ])
  const loans = await search({
    objecttypes: ['loan'],
    limit: 0,
    aggregations: {
      creators: { type: 'linked_object', field: 'loan.work.work.creator' },
      places: { type: 'linked_object', field: 'loan.work.work.place' },
      origins: { type: 'linked_object', field: `loan.work.${material}.origin` },
      titles: { type: 'term', field: 'loan.work.work.creator.person.name' },
    },
  })
  assert.equal(loans.status, 200, JSON.stringify(loans.body))
  const counts = (name: string) =>
    Object.fromEntries(
      loans.body.aggregations[name].linked_objects.map((each: Json) => [each._system_object_id, each.count]),
    )
  const id = (name: string) => ids[name] as number
  assert.deepEqual(counts('creators'), { [id('turner')]: 1 })
  assert.deepEqual(counts('places'), { [id('london')]: 1, [id('england')]: 1, [id('europe')]: 1 })
  assert.deepEqual(counts('origins'), { [id('england')]: 1, [id('europe')]: 1 })
  assert.deepEqual(loans.body.aggregations.titles.terms, [{ term: 'Turner, Joseph Mallord William', count: 1 }])
})

test('hits are sorted by fields of the first linked object', async () => {
  const { found } = scene
  const by = async (field: string, more: object = {}) =>
    found({ objecttypes: ['work'], sort: [{ field, ...more }, { field: 'work.inventory' }] })
  assert.deepEqual(await by('work.creator.person.name'), ['beast', 'tyger', 'dawn', 'bridge', 'blank'])
  assert.deepEqual(await by('work.creator.person.born', { order: 'desc' }), [
    'beast',
    'dawn',
    'bridge',
    'tyger',
    'blank',
  ])
  assert.deepEqual(await by('work.place.place.name'), ['dawn', 'bridge', 'beast', 'tyger', 'blank'])
  const { svc } = scene
  const sort = [{ field: 'work.creator.person.name' }, { field: 'work.inventory' }]
  const names: string[] = []
  let after: unknown
  for (;;) {
    const { body } = await svc
      .as('root')
      .post('/search', { objecttypes: ['work'], sort, limit: 2, search_after: after })
    names.push(...body.objects.map((object: Json) => object.work.inventory))
    if (body.objects.length < 2) break
    after = body.objects.at(-1)._sort
  }
  assert.deepEqual(names, ['N9', 'N100', 'N2', 'N10', 'X1'])
})

test('what links cannot do is refused', async () => {
  const { search } = scene
  const stats = { type: 'term_stats', field: 'work.creator.person.name', value_field: 'work.width' }
  assert.equal((await search({ aggregations: { x: stats } })).body.code, 'SearchFieldNotAllowed')
  const years = { type: 'term', field: 'work.creator.person.born.range_year' }
  assert.equal((await search({ aggregations: { x: years } })).body.code, 'SearchFieldNotAllowed')
})
