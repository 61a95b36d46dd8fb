import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const title = { fields: ['work.title'] }
const note = { fields: ['work.note'] }
const inventory = { fields: ['work.inventory'] }

describe('text elements', () => {
  test('SR-025 fields, string, phrase, mode and languages each decide what is found', async () => {
    assert.deepEqual(await scene.works(text('dawn')), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works(text('tyger')), ['tyger'])
    assert.deepEqual(await scene.works(text('dawn', { fields: ['work.title'] })), ['dawn'])
    assert.deepEqual(await scene.works(text('river the', { phrase: false })), ['dawn'])
    assert.deepEqual(await scene.works(text('river the', { phrase: true })), [])
    assert.deepEqual(await scene.works(text('the river', { phrase: true })), ['dawn'])
    assert.deepEqual(await scene.works(text('brid*', { mode: 'fulltext' })), [])
    assert.deepEqual(await scene.works(text('brid*', { mode: 'wildcard' })), ['bridge'])
    assert.deepEqual(await scene.works(text('beast', { languages: ['en-US'] })), ['beast'])
    assert.deepEqual(await scene.works(text('beast', { languages: ['de-DE'] })), [])
  })

  test('words are found whatever their case and accents, all of them must be there', async () => {
    assert.deepEqual(await scene.works(text('bridge')), ['bridge'])
    assert.deepEqual(await scene.works(text('BRÜCKE')), ['bridge'])
    assert.deepEqual(await scene.works(text('brucke')), ['bridge'])
    assert.deepEqual(await scene.works(text('bear beast')), ['beast'])
    assert.deepEqual(await scene.works(text('bear tyger')), [])
    assert.deepEqual(await scene.works(text('bridge dawn')), ['bridge'])
    assert.deepEqual(await scene.works(text('')), [])
    assert.deepEqual(await scene.works(text('-, .')), [])
    assert.deepEqual(await scene.works(text('100%')), ['beast'])
    assert.deepEqual(await scene.works(text('§5')), ['beast'])
  })

  test('SR-023 match is another name of text', async () => {
    assert.deepEqual(await scene.works({ type: 'match', string: 'dawn' }), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works({ type: 'match', string: 'dawn', fields: ['work.title'] }), ['dawn'])
    for (const request of [
      {},
      { mode: 'token' },
      { mode: 'wildcard', string: 'bri*' },
      { phrase: true, string: 'the river' },
    ]) {
      const element = { string: 'bridge', ...request }
      assert.deepEqual(
        await scene.works({ type: 'match', ...element }),
        await scene.works({ type: 'text', ...element }),
      )
    }
  })

  test('fields restrict where words may stand', async () => {
    assert.deepEqual(await scene.works(text('dawn')), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works(text('dawn', title)), ['dawn'])
    assert.deepEqual(await scene.works(text('dawn', note)), ['bridge'])
    assert.deepEqual(await scene.works(text('dawn', { fields: ['work.note', 'work.title'] })), ['bridge', 'dawn'])
    // A word in one field, the other word in the other.
    assert.deepEqual(await scene.works(text('dawn watercolour', { fields: ['work.note', 'work.title'] })), ['dawn'])
  })

  test('languages restrict localized texts', async () => {
    const german = { languages: ['de-DE'] }
    assert.deepEqual(await scene.works(text('bridge', { ...title, ...german })), [])
    assert.deepEqual(await scene.works(text('brücke', { ...title, ...german })), ['bridge'])
    assert.deepEqual(await scene.works(text('brücke', { fields: ['work.title.de-DE'] })), ['bridge'])
    assert.deepEqual(await scene.works(text('tier', { ...german })), ['beast'])
    assert.deepEqual(await scene.works(text('beast', { ...german })), [])
    assert.deepEqual(await scene.works(text('etching', { ...german })), ['tyger'])
  })

  test('a phrase is words side by side in this order, in one text', async () => {
    assert.deepEqual(await scene.works(text('the river', { phrase: true })), ['dawn'])
    assert.deepEqual(await scene.works(text('river the', { phrase: true })), [])
    assert.deepEqual(await scene.works(text('on canvas shows', { phrase: true, ...note })), ['bridge'])
    assert.deepEqual(await scene.works(text('westminster die', { phrase: true })), [])
    assert.deepEqual(await scene.works(text('hand coloured burning', { query: 'match_phrase' })), ['tyger'])
  })

  test('a token is a whole word, of a string the whole value', async () => {
    assert.deepEqual(await scene.works(text('n10', { mode: 'token', ...inventory })), ['bridge'])
    assert.deepEqual(await scene.works(text('N1', { mode: 'token', ...inventory })), [])
    assert.deepEqual(await scene.works(text('burning bright', { mode: 'token' })), ['tyger'])
    assert.deepEqual(await scene.works(text('bright burning', { mode: 'token' })), [])
    assert.deepEqual(await scene.found({ search: [text('a$5667', { fields: ['person.reference'] })] }), ['baer'])
    assert.deepEqual(await scene.found({ search: [text('5667', { fields: ['person.reference'] })] }), [])
  })

  test('wildcards stand for any characters or exactly one', async () => {
    const wildcard = (string: string, more: object = {}) => scene.works(text(string, { mode: 'wildcard', ...more }))
    assert.deepEqual(await wildcard('brid*'), ['bridge'])
    assert.deepEqual(await wildcard('*ridg*'), ['bridge'])
    assert.deepEqual(await wildcard('*GER', title), ['tyger'])
    assert.deepEqual(await wildcard('b?a*', title), ['beast'])
    assert.deepEqual(await wildcard('be?r', title), ['beast'])
    assert.deepEqual(await wildcard('be?'), [])
    assert.deepEqual(await wildcard('N?0*', inventory), ['bridge', 'tyger'])
    assert.deepEqual(await wildcard('n10*', inventory), ['bridge', 'tyger'])
    assert.deepEqual(await wildcard('*0', inventory), ['bridge', 'tyger'])
    assert.deepEqual(await wildcard('n1?', inventory), ['bridge'])
    assert.deepEqual(await wildcard('*arning * bri*'), [])
    assert.deepEqual(await wildcard('*urning * bri*'), ['tyger'])
    assert.deepEqual(await wildcard('zzz*'), [])
    assert.deepEqual(await wildcard('*zzz*'), [])
  })

  test('wildcards alone, or for too many words, are refused', async () => {
    for (const [string, fields] of [['**'], ['?'], ['* ?'], ['*', ['topic.name']]] as const) {
      const answer = await scene.search({ search: [text(string, { mode: 'wildcard', ...(fields && { fields }) })] })
      assert.equal(answer.status, 400)
      assert.equal(answer.body.code, 'WildcardOnlyNotAllowed')
    }
    const root = scene.svc.as('root')
    const saved = await root.post(
      '/db/topic',
      Array.from({ length: 11 }, (_, tens) =>
        payload('topic', {
          name: Array.from({ length: 100 }, (_, n) => `any${(100 * tens + n).toString(36)}`).join(' '),
        }),
      ),
      { await_index: 30 },
    )
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const answer = await scene.search({ search: [text('*any*', { mode: 'wildcard', fields: ['topic.name'] })] })
    const triples = saved.body.map(({ topic }: Json) => [topic._id, topic._version, null])
    const gone = await root.delete('/db/topic', triples, { await_index: 30, delete_policy: 'remove' })
    assert.equal(gone.status, 200, JSON.stringify(gone.body))
    assert.equal(answer.status, 400)
    assert.equal(answer.body.code, 'WildcardExpandedToTooManyTerms')
  })

  test('texts of linked objects are found, by the link and in _fulltext', async () => {
    assert.deepEqual(await scene.works(text('turner')), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works(text('mallord', { fields: ['work.creator'] })), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works(text('mallord', { fields: ['work.creator._standard.1.text'] })), [
      'bridge',
      'dawn',
    ])
    assert.deepEqual(await scene.works(text('swimmer')), ['bridge'])
  })

  test('nested columns are searched like others, numbers and dates by value', async () => {
    assert.deepEqual(await scene.works(text('paper', { fields: ['work._nested:work__material.name'] })), [
      'dawn',
      'tyger',
    ])
    assert.deepEqual(await scene.works(text('100', { fields: ['work.width'] })), ['bridge'])
    assert.deepEqual(await scene.works(text('1801', { fields: ['work.made'] })), ['dawn'])
  })
})

describe('in elements', () => {
  const among = (field: string, values: unknown[], more: object = {}) =>
    scene.works({ type: 'in', fields: [field], in: values, ...more })

  test('SR-026 query, in, objecttype, include_path and subsearch each decide what is found', async () => {
    const words = { fields: ['work.note'], string: 'burning hand' }
    assert.deepEqual(await scene.works({ type: 'text', ...words, query: 'match' }), ['tyger'])
    assert.deepEqual(await scene.works({ type: 'text', ...words, query: 'match_phrase' }), [])
    assert.deepEqual(await among('work.inventory', ['N2', 'N9']), ['beast', 'dawn'])
    assert.deepEqual(await among('work.place', [scene.ids.europe]), [])
    assert.deepEqual(await among('work.place', [scene.ids.europe], { include_path: true }), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works({ type: 'in', objecttype: 'person', in: [scene.ids.blake] }), ['tyger'])
    assert.deepEqual(await scene.works({ type: 'in', objecttype: 'place', in: [scene.ids.blake] }), [])
    const subsearch = { objecttypes: ['person'], search: [text('blake')] }
    assert.deepEqual(await scene.works({ type: 'in', fields: ['work.creator'], subsearch }), ['tyger'])
  })

  test('exact values of every kind', async () => {
    assert.deepEqual(await among('work.title', ['The Tyger']), ['tyger'])
    assert.deepEqual(await among('work.title', ['the tyger']), [])
    assert.deepEqual(await among('work.title', ['Die Brücke von Westminster', 'The Tyger']), ['bridge', 'tyger'])
    assert.deepEqual(await among('work.title.en-US', ['Die Brücke von Westminster']), [])
    assert.deepEqual(await among('work.inventory', ['N2', 'N9', 'N']), ['beast', 'dawn'])
    assert.deepEqual(await among('work.note', ['Watercolour on paper']), ['dawn'])
    assert.deepEqual(await among('work.width', [7, 20]), ['dawn', 'tyger'])
    assert.deepEqual(await among('work.price', [1250]), ['bridge'])
    assert.deepEqual(await among('work.weight', [-2.25, 3]), ['dawn'])
    assert.deepEqual(await among('work.signed', [true]), ['bridge', 'tyger'])
    assert.deepEqual(await among('work.signed', [false]), ['beast', 'blank', 'dawn'])
    assert.deepEqual(await among('work.made', ['1801-05']), ['dawn'])
    assert.deepEqual(await among('work.made', ['1801']), [])
    assert.deepEqual(await among('work._nested:work__material.name', ['paper']), ['dawn', 'tyger'])
    assert.deepEqual(await among('work.width', []), [])
  })

  test('numbers and booleans may come as texts, as facets answer them; _pool stands for the pool', async () => {
    for (const field of ['work.width', 'work.weight', 'work.signed', '_owner']) {
      const it = { type: 'term', field }
      const { terms } = (await scene.search({ objecttypes: ['work'], aggregations: { it } })).body.aggregations.it
      assert.ok(terms.length > (field === '_owner' ? 0 : 1), field)
      for (const { term, count } of terms) assert.equal((await among(field, [term])).length, count, `${field} ${term}`)
    }
    for (const [field, value] of [
      ['work.width', 'wide'],
      ['work.width', ''],
      ['work.signed', 'yes'],
      ['_owner', 'x1'],
      ['_owner', 'u'],
    ] as const) {
      const { status } = await scene.search({ search: [{ type: 'in', fields: [field], in: [value] }] })
      assert.equal(status, 400, value)
    }
    const inPool = (id: number, more: object = {}) =>
      scene.works({ type: 'in', objecttype: '_pool', in: [id], ...more })
    assert.equal((await inPool(scene.pool)).length, 5)
    assert.deepEqual(await inPool(1), [])
    assert.equal((await inPool(1, { include_path: true })).length, 5)
  })

  test('null stands for no value', async () => {
    assert.deepEqual(await among('work.title', [null]), ['blank'])
    assert.deepEqual(await among('work.width', [null, 7]), ['beast', 'blank', 'tyger'])
    assert.deepEqual(await among('work.creator', [null]), ['blank'])
    assert.deepEqual(await among('work.location', [null]), ['beast', 'blank', 'dawn', 'tyger'])
    assert.deepEqual(await among('work.place', [null], { bool: 'must_not' }), ['bridge', 'dawn'])
    assert.deepEqual(await among('work._nested:work__material.name', [null]), ['beast', 'blank'])
    // Dates of rows are found row by row, the want of them is not.
    const since = 'work._nested:work__material._nested:work__material__supplier.since'
    const all = ['beast', 'blank', 'bridge', 'dawn', 'tyger']
    assert.deepEqual(await among(since, [null]), all)
    assert.deepEqual(await among(since, [null, '1999']), all)
  })

  test('links by system object id, with include_path also those below', async () => {
    assert.deepEqual(await among('work.place', [scene.ids.england]), ['dawn'])
    assert.deepEqual(await among('work.place', [scene.ids.england], { include_path: true }), ['bridge', 'dawn'])
    assert.deepEqual(await among('work.place._system_object_id', [scene.ids.europe], { include_path: true }), [
      'bridge',
      'dawn',
    ])
    assert.deepEqual(await among('work._nested:work__topic.topic', [scene.ids.people]), ['dawn'])
    assert.deepEqual(await among('work._nested:work__topic.topic', [scene.ids.nature], { include_path: true }), [
      'bridge',
      'dawn',
    ])
    assert.deepEqual(await scene.works({ type: 'in', objecttype: 'person', in: [scene.ids.blake] }), ['tyger'])
  })

  test('with include_path also objects below those of these ids, or below those with these parents', async () => {
    const names = (field: string, ids: unknown[], more: object = {}, objecttypes = ['place', 'topic']) =>
      scene
        .found({ objecttypes, search: [{ type: 'in', fields: [field], in: ids, ...more }] })
        .then((all) => all.sort())
    const stored = async (name: string): Promise<Json> =>
      (await scene.search({ search: [{ type: 'in', fields: ['_system_object_id'], in: [scene.ids[name]] }] })).body
        .objects[0]
    const path = { include_path: true }
    const { europe, england, nature, people } = scene.ids
    assert.deepEqual(await names('_system_object_id', [europe]), ['europe'])
    assert.deepEqual(await names('_system_object_id', [europe], { include_path: false }), ['europe'])
    assert.deepEqual(await names('_system_object_id', [europe], path), ['england', 'europe', 'london'])
    assert.deepEqual(await names('_system_object_id', [england, nature], path), [
      'england',
      'london',
      'nature',
      'swimmer',
    ])
    const globally = [(await stored('england'))._global_object_id]
    assert.deepEqual(await names('_global_object_id', globally, path), ['england', 'london'])
    const { place } = await stored('europe')
    const { topic } = await stored('people')
    assert.deepEqual(await names('place._id_parent', [place._id]), ['england'])
    assert.deepEqual(await names('place._id_parent', [place._id], path), ['england', 'london'])
    assert.deepEqual(await names('place._id_parent', [place._id, null], path), ['england', 'europe', 'london'])
    assert.deepEqual(await names('place._id_parent', [], path), [])
    assert.deepEqual(await names('topic._parents.topic._id', [topic._id], path), ['swimmer'])
    const without = await scene.found({
      objecttypes: ['topic'],
      search: [{ type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [people], ...path }],
    })
    assert.deepEqual(without, ['nature'])
  })

  test('system fields', async () => {
    assert.deepEqual(await among('_system_object_id', [scene.ids.dawn, scene.ids.blake, 4]), ['dawn'])
    const answer = await scene.search({ search: [{ type: 'in', fields: ['_system_object_id'], in: [scene.ids.dawn] }] })
    const [object] = answer.body.objects
    assert.deepEqual(await among('_uuid', [object._uuid]), ['dawn'])
    assert.deepEqual(await among('work._id', [object.work._id]), ['dawn'])
    assert.equal((await among('_pool', [scene.pool])).length, 5)
    assert.equal((await among('_pool', [1])).length, 0)
    assert.equal((await among('_pool', [1], { include_path: true })).length, 5)
    assert.equal((await among('_pool.pool._id', [scene.pool, null])).length, 5)
    assert.equal((await among('_pool.pool.reference', ['system:standard', 'nobody has this'])).length, 5)
    assert.equal((await among('work._pool.pool.reference', ['system:standard'])).length, 5)
    assert.equal((await among('_pool.pool.reference', ['system:root'])).length, 0)
    assert.equal((await among('_pool.pool.reference', ['system:root'], { include_path: true })).length, 5)
    assert.equal((await among('_pool.pool.reference', ['nobody has this'], { include_path: true })).length, 0)
    assert.equal((await among('_owner.user._id', [1])).length, 5)
    assert.equal((await among('_tags', [1])).length, 0)
    assert.equal(
      (await scene.found({ search: [{ type: 'in', fields: ['_objecttype'], in: ['person', 'topic'] }] })).length,
      6,
    )
  })

  test('a subsearch gives the objects that a link may point to', async () => {
    const born = (from: string) => ({
      objecttypes: ['person'],
      field: '_system_object_id',
      search: [{ type: 'range', field: 'person.born', from }],
    })
    const element = (from: string) => ({ type: 'in', fields: ['work.creator'], subsearch: born(from) })
    assert.deepEqual(await scene.works(element('1760')), ['beast', 'bridge', 'dawn'])
    assert.deepEqual(await scene.works(element('1800'), text('bear')), ['beast'])
    assert.deepEqual(await scene.works({ ...element('1800'), bool: 'must_not' }), ['blank', 'bridge', 'dawn', 'tyger'])
  })
})

describe('range elements', () => {
  const range = (field: string, bounds: object) => scene.works({ type: 'range', field, ...bounds })

  test('SR-027 numbers, bounds included unless from_equals or to_equals say no', async () => {
    assert.deepEqual(await range('work.width', { from: 7, to: 20 }), ['dawn', 'tyger'])
    assert.deepEqual(await range('work.width', { from: 7, to: 20, from_equals: false }), ['dawn'])
    assert.deepEqual(await range('work.width', { from: 7, to: 20, to_equals: false }), ['tyger'])
    assert.deepEqual(await range('work.width', { from: 20 }), ['bridge', 'dawn'])
    assert.deepEqual(await range('work.width', { to: 19.5 }), ['tyger'])
    assert.deepEqual(await range('work.width', {}), ['bridge', 'dawn', 'tyger'])
    assert.deepEqual(await range('work.weight', { from: -3, to: 0 }), ['dawn'])
    assert.deepEqual(await range('work.price', { from: 1250, to: 1250 }), ['bridge'])
    assert.deepEqual(await range('work._nested:work__material.amount', { from: 2 }), ['bridge', 'dawn'])
  })

  test('dates may be relative to the moment of the request, wherever a search has dates', async () => {
    const all = ['beast', 'blank', 'bridge', 'dawn', 'tyger']
    for (const field of ['_created', '_last_modified']) {
      assert.deepEqual(await range(field, { from: '$now-1d', to: '$startOfYear+1y' }), all)
      assert.deepEqual(await range(field, { to: '$now-1h' }), [])
      assert.deepEqual(await range(field, { from: '$now+1h' }), [])
    }
    assert.deepEqual(await range('work.made', { to: '$startOfYear-100y' }), ['beast', 'bridge', 'dawn', 'tyger'])
    const years = (year: number) => `$year-${new Date().getUTCFullYear() - year}y`
    assert.deepEqual(await range('work.made', { from: years(1801), to: years(1803) }), ['bridge', 'dawn'])
    assert.deepEqual(await scene.works({ type: 'in', fields: ['work.made'], in: [years(1803)] }), ['bridge'])
    assert.deepEqual(await scene.works({ type: 'changelog_range', from: '$now-1h' }), all)
    assert.deepEqual(await scene.works({ type: 'changelog_range', to: '$now-1h' }), [])
    const ranges = [{ from: '$now-1h' }, { to: '$now-1h' }]
    const aggregations = { when: { type: 'date_range', field: '_created', ranges } }
    const counted = (await scene.search({ objecttypes: ['work'], aggregations })).body.aggregations.when.ranges
    assert.deepEqual(
      counted.map(({ count }: Json) => count),
      [5, 0],
    )
    for (const wrong of ['$now-1x', '$', '$then', 'now', `$now${'-1d'.repeat(21)}`]) {
      const { status, body } = await scene.search({ search: [{ type: 'range', field: 'work.made', from: wrong }] })
      assert.deepEqual([status, body.code, body.parameters.name], [400, 'DateWrongSyntax', 'search[0].from'], wrong)
    }
  })

  test('dates match when they share a moment with the range', async () => {
    assert.deepEqual(await range('work.made', { from: '1801', to: '1803' }), ['bridge', 'dawn'])
    assert.deepEqual(await range('work.made', { from: '1803-06', to: '1803-07' }), ['bridge'])
    assert.deepEqual(await range('work.made', { from: '1801-05-31', to: '1802' }), ['dawn'])
    assert.deepEqual(await range('work.made', { from: '1801-06', to: '1802' }), [])
    assert.deepEqual(await range('work.made', { from: '1794', to: '1801-05', from_equals: false }), ['dawn'])
    assert.deepEqual(await range('work.made', { from: '1794', to: '1801-05', to_equals: false }), ['tyger'])
    assert.deepEqual(await range('work.made', { to: '1800' }), ['tyger'])
    assert.deepEqual(await range('work.period', { from: '1804', to: '1804' }), ['bridge', 'dawn'])
    assert.deepEqual(await range('work.period', { from: '2000' }), ['dawn'])
    assert.deepEqual(await range('work.period', { to: '1789' }), [])
  })

  test('SR-007 a time zone shifts what has none of its own; languages choose the texts of the answer', async () => {
    const at = (from: string, to: string, timezone?: string) =>
      scene.found({ timezone, objecttypes: ['work'], search: [{ type: 'range', field: 'work.seen', from, to }] })
    assert.deepEqual(await at('2020-03-01T09:00', '2020-03-01T09:00'), ['bridge'])
    assert.deepEqual(await at('2020-03-01T10:00', '2020-03-01T10:00', 'Europe/Berlin'), ['bridge'])
    assert.deepEqual(await at('2020-03-01T11:30', '2020-03-01T11:30', 'Europe/Berlin'), ['beast'])
    assert.deepEqual(await at('2020-03-01T10:00:00+01:00', '2020-03-01T10:00:00+01:00', 'Asia/Tokyo'), ['bridge'])
    const wrong = await scene.search({ timezone: 'Europe/Nowhere' })
    assert.equal(wrong.body.code, 'UnknownTimezone')
    const request = { objecttypes: ['work'], search: [text('westminster')] }
    const titles = async (languages?: string[]) =>
      (await scene.search({ ...request, languages })).body.objects.map((object: Json) => object.work.title)
    const [english, german] = ['Westminster Bridge', 'Die Brücke von Westminster']
    assert.deepEqual(await titles(), [{ 'en-US': english, 'de-DE': german }])
    assert.deepEqual(await titles(['de-DE']), [{ 'de-DE': german }])
  })

  test('when objects were created and changed', async () => {
    assert.equal((await range('_created', { from: '2020' })).length, 5)
    assert.deepEqual(await range('_created', { to: '2020' }), [])
    assert.equal((await range('_last_modified', { from: '2020', to: '2999-01-01' })).length, 5)
  })

  test('wrong bounds are refused', async () => {
    const code = async (field: string, bounds: object) =>
      (await scene.search({ search: [{ type: 'range', field, ...bounds }] })).body.code
    assert.equal(await code('work.made', { from: '1801-13' }), 'DateWrongSyntax')
    assert.equal(await code('work.made', { to: 'yesterday' }), 'DateWrongSyntax')
    assert.equal(await code('work.width', { from: 'wide' }), 'ServerGeneric')
    assert.equal(await code('work.title', { from: 'A' }), 'SearchFieldNotAllowed')
    assert.equal(await code('work.nothing', { from: 1 }), 'SearchFieldUnknown')
  })
})

describe('groups', () => {
  test('SR-003 SR-024 must, should and must_not', async () => {
    assert.deepEqual(await scene.works(text('dawn'), text('bridge')), ['bridge'])
    assert.deepEqual(await scene.works(text('dawn'), text('bridge', { bool: 'must_not' })), ['dawn'])
    assert.deepEqual(await scene.works(text('tyger', { bool: 'should' }), text('beast', { bool: 'should' })), [
      'beast',
      'tyger',
    ])
    assert.deepEqual(
      await scene.works(text('turner'), text('river', { bool: 'should' }), text('beast', { bool: 'should' })),
      ['dawn'],
    )
    assert.deepEqual(await scene.works(text('turner', { bool: 'must_not' })), ['beast', 'blank', 'tyger'])
    assert.deepEqual(await scene.works(text('tyger', { bool: 'must' })), ['tyger'])
    assert.equal((await scene.search({ search: [text('dawn', { bool: 'may' })] })).status, 400)
    const either = (beast: number, tyger: number) =>
      scene.found({
        search: [text('beast', { bool: 'should', boost: beast }), text('tyger', { bool: 'should', boost: tyger })],
      })
    assert.deepEqual(await either(5, 1), ['beast', 'tyger'])
    assert.deepEqual(await either(1, 5), ['tyger', 'beast'])
  })

  test('SR-029 complex and nested elements have others in search, nested ones about a row of path', async () => {
    const path = 'work._nested:work__material'
    const paper = text('paper', { fields: [`${path}.name`] })
    const one = { type: 'range', field: `${path}.amount`, from: 1, to: 1 }
    const either = [text('tyger', { bool: 'should' }), text('beast', { bool: 'should' })]
    assert.deepEqual(await scene.works(text('turner'), { type: 'complex', search: either }), [])
    assert.deepEqual(await scene.works(text('blake'), { type: 'complex', search: either }), ['tyger'])
    assert.deepEqual(await scene.works(paper, one), ['dawn', 'tyger'])
    assert.deepEqual(await scene.works({ type: 'nested', path, search: [paper, one] }), ['tyger'])
    const elsewhere = { type: 'nested', path: 'work._nested:work__topic', search: [paper, one] }
    assert.equal((await scene.search({ search: [elsewhere] })).body.code, 'NestedQueryIn')
  })

  test('complex elements group', async () => {
    const either = (...search: object[]) => ({
      type: 'complex',
      search: search.map((each) => ({ ...each, bool: 'should' })),
    })
    assert.deepEqual(await scene.works(either(text('tyger'), text('beast'))), ['beast', 'tyger'])
    assert.deepEqual(await scene.works(either(text('tyger'), text('river')), text('turner')), ['dawn'])
    assert.deepEqual(await scene.works({ ...either(text('tyger'), text('river')), bool: 'must_not' }), [
      'beast',
      'blank',
      'bridge',
    ])
    assert.deepEqual(await scene.works({ type: 'complex', search: [] }).then((all) => all.length), 5)
  })

  test('nested elements ask one row', async () => {
    const material = 'work._nested:work__material'
    const row = (...search: object[]) => ({ type: 'nested', path: material, search })
    const name = (string: string) => text(string, { fields: [`${material}.name`] })
    const amount = (from: number) => ({ type: 'range', field: `${material}.amount`, from, to: from })
    assert.deepEqual(await scene.works(name('paper'), amount(1)), ['dawn', 'tyger'])
    assert.deepEqual(await scene.works(row(name('paper'), amount(1))), ['tyger'])
    assert.deepEqual(await scene.works(row(name('paper'), amount(3))), ['dawn'])
    assert.deepEqual(await scene.works(row(amount(3), { ...name('paper'), bool: 'must_not' })), ['bridge'])
    assert.deepEqual(await scene.works({ ...row(name('paper'), amount(1)), bool: 'must_not' }), [
      'beast',
      'blank',
      'bridge',
      'dawn',
    ])
    assert.deepEqual(
      await scene.works(row({ type: 'in', fields: [`${material}.origin`], in: [scene.ids.europe] }, amount(1))),
      ['bridge', 'dawn'],
    )
    assert.deepEqual(
      await scene.works(
        row({ type: 'in', fields: [`${material}.origin`], in: [scene.ids.europe], include_path: true }, amount(3)),
      ),
      ['bridge', 'dawn'],
    )
    assert.deepEqual(await scene.works(row({ type: 'in', fields: [`${material}.origin`], in: [null] })), ['tyger'])
    const outside = await scene.search({ search: [row(text('x', { fields: ['work.title'] }))] })
    assert.equal(outside.body.code, 'NestedQueryIn')
  })
})

test('SR-028 changes of objects by operation, time, user and comment', async () => {
  const changed = (more: object) => scene.works({ type: 'changelog_range', field: '_changelog', ...more })
  const root = scene.svc.as('root')
  const users = [{ user: { login: 'framer' }, _password: 'framer', _system_rights: { 'system.root': {} } }]
  const [{ user }] = (await root.post('/user', users)).body
  assert.equal((await changed({ operation: 'INSERT', user: 1, from: '2020' })).length, 5)
  assert.deepEqual(await changed({ operation: 'update' }), [])
  assert.deepEqual(await changed({ user: user._id }), [])
  assert.deepEqual(await changed({ comment: 'new frame' }), [])

  const { body } = await scene.search({ search: [text('x1', { fields: ['work.inventory'] })], format: 'long' })
  const [{ _sort, _score, ...blank }] = body.objects
  const framed = { ...blank, _comment: 'with a new frame' }
  const saved = await scene.svc.as('framer').post('/db/work', [framed], { await_index: 20 })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.deepEqual(await changed({ operation: 'update' }), ['blank'])
  assert.deepEqual(await changed({ user: user._id }), ['blank'])
  assert.deepEqual(await changed({ comment: 'new frame' }), ['blank'])
  assert.deepEqual(await changed({ comment: 'new frame', user: 1 }), [], 'one change must fit all of it')
  assert.deepEqual(await changed({ comment: 'new frame', to: '2020' }), [])
})

describe('similar pictures', () => {
  const names = new Map<number, string>()
  const files: Record<string, number> = {}
  const root = () => scene.svc.as('root')

  /** Pictures of which only hashes are known: bits that they differ in from the first. */
  before(async () => {
    const bits = { first: 0n, same: 0n, near: 0b11n, far: 0b1111111n, other: (1n << 20n) - 1n }
    const content = (name: string) => Buffer.from(name === 'same' ? 'first' : name)
    const sent = Object.keys(bits).map((name) => ({ name: `${name}.jpg`, content: content(name) }))
    const { status, body } = await upload(scene.svc, 'root', sent)
    assert.equal(status, 200, JSON.stringify(body))
    for (const [index, name] of Object.keys(bits).entries()) files[name] = body[index]._id
    await scene.svc.db.query(
      `insert into file_likeness (file_id, made_of, hash)
       select v.file_id, v.sha256, x.h from unnest($1::bigint[], $2::bigint[]) as x(f, h)
       join file_version v on v.file_id = x.f and v.name = 'original'`,
      [Object.values(files), Object.values(bits).map((each) => String(0x1234_5678_9abc_def0n ^ each))],
    )
    const image = (...some: string[]) => some.map((name, index) => ({ _id: files[name], preferred: index === 0 }))
    const works = {
      first: image('first'),
      same: image('same'),
      near: image('near', 'other'),
      far: image('far'),
      other: image('other', 'first'),
    }
    const saved = await root().post(
      '/db/work',
      Object.values(works).map((each) => payload('work', { ...inPool(scene.pool), image: each })),
      { await_index: 20 },
    )
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    for (const [index, name] of Object.keys(works).entries()) names.set(saved.body[index]._system_object_id, name)
  })

  const ask = async (element: object, more: object = {}, login = 'root') =>
    scene.svc.as(login).post('/search', { search: [{ type: 'similar', ...element }], ...more })
  const found = async (element: object, more: object = {}, login = 'root') => {
    const { status, body } = await ask(element, more, login)
    assert.equal(status, 200, JSON.stringify(body))
    return body.objects.map((object: Json) => names.get(object._system_object_id))
  }
  const byScore = { sort: [{ field: '_score', order: 'desc' }] }

  test('objects whose preferred file looks like a picture, the most similar with the highest score', async () => {
    assert.deepEqual(await found({ _id: files.first }, byScore), ['first', 'same', 'near', 'far'])
    assert.deepEqual(await found({ _id: files.first, bits: 2 }, byScore), ['first', 'same', 'near'])
    assert.deepEqual(await found({ _id: files.first, fields: ['work.image'], bits: 0 }), ['first', 'same'])
    assert.deepEqual(await found({ _id: files.other }), ['other'], 'itself, and no picture that is not preferred')
    assert.deepEqual(
      (await found({ _id: files.first, bool: 'must_not' }, { objecttypes: ['work'], limit: 1000 })).filter(Boolean),
      ['other'],
    )
    const both = [
      { type: 'similar', _id: files.far, bits: 0, bool: 'should' },
      { type: 'complex', bool: 'should', search: [{ type: 'similar', _id: files.near, bits: 0 }] },
    ]
    const { body } = await scene.search({ search: both, sort: [{ field: '_system_object_id' }] })
    assert.deepEqual(
      body.objects.map((object: Json) => names.get(object._system_object_id)),
      ['near', 'far'],
    )
    const id = { field: 'work.image.preferred._id' }
    assert.deepEqual(
      (await scene.search({ search: [{ type: 'in', ...id, in: [files.other] }] })).body.objects.map((object: Json) =>
        names.get(object._system_object_id),
      ),
      ['other'],
    )
  })

  test('what a caller may not see is neither asked for nor found', async () => {
    const { body } = await root().post('/user', [{ user: { login: 'onlooker' }, _password: 'onlooker' }], {
      confirm: 'ignore_password_requirements',
    })
    const share = async (name: string, rights: object) => {
      const id = [...names].find(([, each]) => each === name)?.[0]
      const [object] = (await root().get(`/db/work/_all_fields/system_object_id/${id}`, { format: 'long' })).body
      const _acl = [{ who: { _basetype: 'user', user: { _id: body[0].user._id } }, rights }]
      const saved = await root().post('/db/work', [{ ...object, _acl }], { await_index: 20 })
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
    }
    assert.equal((await ask({ _id: files.first }, {}, 'onlooker')).body.code, 'InsufficientRights')
    await share('first', { read: {}, asset_show: {} })
    await share('near', { read: {} })
    await share('far', { read: {}, asset_show: {} })
    assert.deepEqual(await found({ _id: files.first }, byScore, 'onlooker'), ['first', 'far'])
  })

  test('what is no picture, no number of bits or too much is refused', async () => {
    for (const wrong of [{}, { _id: 0 }, { _id: 'x' }, { _id: files.first, bits: 8 }, { _id: files.first, bits: -1 }]) {
      assert.equal((await ask(wrong)).body.code, 'ServerGeneric', JSON.stringify(wrong))
    }
    assert.equal((await ask({ _id: 999_999 })).body.code, 'InsufficientRights')
    assert.equal((await ask({ _id: files.first, fields: ['work.title'] })).body.code, 'SearchFieldUnknown')
    assert.equal((await ask({ _id: files.first, string: 'x' })).body.code, 'ServerGeneric')
    const many = Array.from({ length: 11 }, () => ({ type: 'similar', _id: files.first }))
    const refused = await scene.search({ search: many })
    assert.deepEqual([refused.body.code, refused.body.parameters.name], ['SearchTooCostly', 'pictures'])
  })
})

test('long localized values that differ at their end are told apart, and no value has a zero byte', async () => {
  const beginning = `Of long titles ${'x'.repeat(400)}`
  const works = ['one', 'other'].map((end) =>
    payload('work', { ...inPool(scene.pool), title: { 'de-DE': beginning + end } }),
  )
  const saved = await scene.svc.as('root').post('/db/work', works, { await_index: 20 })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const [one, other] = saved.body.map((object: Json) => object._system_object_id)
  const found = async (values: readonly string[], field = 'work.title') => {
    const { status, body } = await scene.search({ search: [{ type: 'in', fields: [field], in: values }] })
    assert.equal(status, 200, JSON.stringify(body))
    return body.objects.map((object: Json) => object._system_object_id).sort((a: number, b: number) => a - b)
  }
  assert.deepEqual(await found([`${beginning}one`]), [one])
  assert.deepEqual(await found([`${beginning}other`, `${beginning}one`]), [one, other])
  assert.deepEqual(await found([beginning]), [])
  assert.deepEqual(await found([beginning.slice(0, 300)]), [])
  assert.deepEqual(await found([`${beginning}one`], 'work.title.en-US'), [])
  assert.deepEqual(await found([`${beginning}one\0`, 'a\0b']), [])
})
