import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../support/client.ts'
import { queries } from './queries.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const parse = (query: string, more: object = {}) =>
  scene.svc.as('root').post('/search/parse', { query, objecttypes: ['work'], ...more })

/** Names of the works that a query finds, sorted. */
async function works(query: string, more: object = {}): Promise<string[]> {
  const answer = await parse(query, { search: true, ...more })
  assert.equal(answer.status, 200, `${query}: ${JSON.stringify(answer.body)}`)
  const names = Object.entries(scene.ids)
  return answer.body.objects.map(({ _system_object_id: id }: Json) => names.find(([, each]) => each === id)?.[0]).sort()
}

test('SEARCH-007 SEARCH-008 GET /search/parse answers the search request of what the parameter `query` holds', async () => {
  const answer = await scene.svc.as('root').get('/search/parse', { query: 'work.inventory == "N10"' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body, { search: [{ type: 'in', fields: ['work.inventory'], in: ['N10'] }] })
  const found = await scene.search(answer.body)
  assert.deepEqual(
    found.body.objects.map((object: Json) => object._system_object_id),
    [scene.ids.bridge],
  )
})

test('SEARCH-009 with search=true GET /search/parse answers what the search finds in place of the request', async () => {
  const root = scene.svc.as('root')
  const query = 'work.inventory == "N10"'
  const run = await root.get('/search/parse', { query, search: 'true' })
  assert.deepEqual(run.body, (await root.post('/search', (await root.get('/search/parse', { query })).body)).body)
  assert.equal(run.body.count, 1)
  assert.equal(run.body.objects[0]._system_object_id, scene.ids.bridge)
  assert.ok('search' in (await root.get('/search/parse', { query, search: 'false' })).body)
})

test('SEARCH-010 objecttypes can be repeated, and limit, offset, format and timezone count', async () => {
  const root = scene.svc.as('root')
  const get = async (more: string) => {
    const answer = await root.get(`/search/parse?query=&search=1&${more}`)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  const count = async (more: string): Promise<number> => (await get(more)).count
  assert.equal(await count('objecttypes=person&objecttypes=topic'), 6)
  assert.equal(await count('objecttypes=person'), 3)
  const page = await get('objecttypes=person&limit=1&offset=2&format=short')
  assert.deepEqual([page.count, page.offset, page.limit, page.objects.length, page.format], [3, 2, 1, 1, 'short'])
  assert.equal(page.objects[0]._system_object_id, scene.ids.baer)
  assert.deepEqual((await root.get('/search/parse?query=&limit=7&offset=3&format=long&timezone=Asia/Tokyo')).body, {
    search: [],
    limit: 7,
    offset: 3,
    format: 'long',
    timezone: 'Asia/Tokyo',
  })
  // Seen at 09:00 in London.
  assert.deepEqual(await works('work.seen == "2020-03-01T18:00"', { timezone: 'Asia/Tokyo' }), ['bridge'])
  assert.deepEqual(await works('work.seen == "2020-03-01T18:00"'), [])
  for (const [more, code] of [
    ['objecttypes=nothing', 'UnknownObjecttype'],
    ['timezone=Nowhere', 'UnknownTimezone'],
    ['limit=-1', 'ServerGeneric'],
    ['offset=-1', 'ServerGeneric'],
    ['format=nothing', 'ServerGeneric'],
    ['syntax=nothing', 'ServerGeneric'],
    ['search=perhaps', 'ServerGeneric'],
  ] as const) {
    const answer = await root.get(`/search/parse?query=&${more}`)
    assert.deepEqual([answer.status, answer.body.code], [400, code], more)
  }
})

test('SEARCH-011 POST /search/parse takes the same options in its body', async () => {
  const root = scene.svc.as('root')
  const query = 'work.note =@ "paper" || work.width > 50'
  for (const options of [
    { query, objecttypes: ['work', 'person'], limit: 3, offset: 1, format: 'short', timezone: 'Europe/Berlin' },
    { query: `'paper' (oil OR wool)`, objecttypes: ['work'], syntax: 'words' },
  ]) {
    for (const search of [true, false]) {
      const { objecttypes, ...rest } = options
      const address = objecttypes.map((name) => `objecttypes=${name}`).join('&')
      const said = new URLSearchParams(
        Object.entries({ ...rest, search }).map(([name, value]) => [name, String(value)]),
      )
      const got = await root.get(`/search/parse?${address}&${said}`)
      const posted = await root.post('/search/parse', { ...options, search })
      assert.equal(posted.status, 200, JSON.stringify(posted.body))
      assert.deepEqual(posted.body, got.body)
    }
  }
  assert.equal((await root.post('/search/parse', {})).status, 400)
  assert.equal((await root.post('/search/parse', { query: 5 })).status, 400)
  const other = await root.post('/search/parse', { query, sorted: 'no' })
  assert.equal(other.headers['x-svc-ignored'], 'sorted')
  assert.equal((await root.post('/search/parse?strict=1', { query, sorted: 'no' })).status, 400)
})

describe('the query language', () => {
  test('equal and not equal, by the kind of the field', async () => {
    assert.deepEqual(await works('work.inventory == "N10"'), ['bridge'])
    assert.deepEqual(await works('work.inventory == "n10"'), [])
    assert.deepEqual(await works('work.inventory != "N10"'), ['beast', 'blank', 'dawn', 'tyger'])
    assert.deepEqual(await works('work.width == 20'), ['dawn'])
    assert.deepEqual(await works('work.weight == -2.25'), ['dawn'])
    assert.deepEqual(await works('work.signed == true'), ['bridge', 'tyger'])
    assert.deepEqual(await works('work.signed == false'), ['beast', 'blank', 'dawn'])
    assert.deepEqual(await works('work.creator == null'), ['blank'])
    assert.deepEqual(await works('work.creator != null'), ['beast', 'bridge', 'dawn', 'tyger'])
    assert.deepEqual(await works(`work.creator == ${scene.ids.blake}`), ['tyger'])
    assert.deepEqual(await works('work.creator == "Blake, William"'), ['tyger'])
    assert.deepEqual(await works('work.title.de-DE == "Die Brücke von Westminster"'), ['bridge'])
    assert.deepEqual(await works('_objecttype == "person"', { objecttypes: [] }), ['baer', 'blake', 'turner'])
  })

  test('a date without time is the interval that it spans', async () => {
    assert.deepEqual(await works('work.made == "1801"'), ['dawn'])
    assert.deepEqual(await works('work.made == 1900'), ['beast'])
    assert.deepEqual(await works('work.made == "1900-12-30"'), [])
    assert.deepEqual(await works('work.made > "1801" && work.made <= 1900'), ['beast', 'bridge'])
    assert.deepEqual(await works('work.made != "1801" && work.made != null'), ['beast', 'bridge', 'tyger'])
    assert.deepEqual(await works('work.made < "$startOfYear-100y"'), ['beast', 'bridge', 'dawn', 'tyger'])
    assert.deepEqual(await works('work.made >= "$year"'), [])
    assert.deepEqual(await works('_last_modified >= "$now-1d" && _created <= "$today"'), [
      'beast',
      'blank',
      'bridge',
      'dawn',
      'tyger',
    ])
    assert.deepEqual(await works('_last_modified < "$now-1h"'), [])
  })

  test('ranges exclude what they say, and two bounds of a field are one range', async () => {
    assert.deepEqual(await works('work.width >= 20'), ['bridge', 'dawn'])
    assert.deepEqual(await works('work.width > 20'), ['bridge'])
    assert.deepEqual(await works('work.width <= 20'), ['dawn', 'tyger'])
    assert.deepEqual(await works('work.width < 20'), ['tyger'])
    assert.deepEqual((await parse('work.width > 10 && work.width <= 20')).body.search, [
      { type: 'range', field: 'work.width', from: 10, from_equals: false, to: 20 },
    ])
    const amount = 'work._nested:work__material.amount'
    assert.deepEqual(await works(`${amount} >= 2 && ${amount} <= 2`), [], 'one value must be within both')
    assert.deepEqual(await works(`(${amount} >= 2) && (${amount} <= 2)`), ['bridge', 'dawn'])
  })

  test('words are matched whatever their case; contains and starts with compare case', async () => {
    assert.deepEqual(await works('work.note =@ "PAPER"'), ['dawn'])
    assert.deepEqual(await works('work.note =@ "pap*"'), ['dawn'])
    assert.deepEqual(await works('work.note !@ "p?per" && work.note != null'), ['beast', 'bridge', 'tyger'])
    assert.deepEqual(await works('work.note =* "on canvas"'), ['bridge'])
    assert.deepEqual(await works('work.note =* "On canvas"'), [])
    assert.deepEqual(await works('work.note =* "n canvas, sho"'), ['bridge'])
    assert.deepEqual(await works('work.note =* "anva"'), ['bridge'])
    assert.deepEqual(await works('work.note !* "anva"'), ['beast', 'blank', 'dawn', 'tyger'])
    assert.deepEqual(await works('work.note =^ "Oil"'), ['bridge'])
    assert.deepEqual(await works('work.note =^ "oil"'), [])
    assert.deepEqual(await works('work.note =^ "paint"'), [])
    assert.deepEqual(await works('work.note =* "100%"'), ['beast'])
    assert.deepEqual(await works('work.note =* "1_0%"'), [])
    assert.deepEqual(await works('work.note =^ "100% wool, §5, \\"Car"'), ['beast'])
    assert.deepEqual(await works('work.inventory =^ "N1"'), ['bridge', 'tyger'])
    assert.deepEqual(await works('work.inventory =^ "n1"'), [])
    assert.deepEqual(await works('work.inventory !^ "N1"'), ['beast', 'blank', 'dawn'])
    assert.deepEqual(await works('work.title =^ "Die"'), ['bridge'])
    assert.deepEqual(await works('work.title.en-US =^ "Die"'), [])
    assert.deepEqual(await works('work._nested:work__material.name =^ "water"'), ['dawn'])
    for (const [query, code] of [
      ['work.note =* "*"', 'WildcardOnlyNotAllowed'],
      ['work.width =^ "1"', 'SearchFieldNotAllowed'],
      ['work.creator =* "Blake"', 'SearchFieldNotAllowed'],
    ] as const) {
      const answer = await parse(query)
      assert.deepEqual([answer.status, answer.body.code], [400, code], query)
    }
  })

  test('a text without a field is looked for everywhere', async () => {
    assert.deepEqual(await works('"dawn"'), ['bridge', 'dawn'])
    assert.deepEqual(await works('"bri*"'), ['bridge', 'tyger'])
    assert.deepEqual(await works('!"dawn" && !(work.inventory == "X1")'), ['beast', 'tyger'])
  })

  test('searches within: what is linked fulfils all of it at once, and so does a row', async () => {
    assert.deepEqual(await works('work.creator == ?( person.reference == "blake-1" )'), ['tyger'])
    assert.deepEqual(await works('work.creator != ?( person.name =@ "william" )'), ['beast', 'blank'])
    assert.deepEqual(await works('work.place == ?( place.code == "GB" || place.code == "LON" )'), ['bridge', 'dawn'])
    const row = 'work._nested:work__material'
    assert.deepEqual(await works(`${row}.name == "paper" && ${row}.amount == 1`), ['dawn', 'tyger'])
    assert.deepEqual(await works(`${row} == ?( ${row}.name == "paper" && ${row}.amount == 1 )`), ['tyger'])
    const within = `${row}.origin == ?( place.code == "EU" )`
    assert.deepEqual(await works(within), ['bridge', 'dawn'])
    const answer = await parse('work.note == ?( person.reference == "blake-1" )')
    assert.deepEqual([answer.status, answer.body.code], [400, 'SearchFieldNotAllowed'])
  })

  test('a number without a field is a text, and white space does not count', async () => {
    for (const [query, string] of [
      ['2024', '2024'],
      ['-5', '-5'],
      ['1.5', '1.5'],
    ] as const) {
      const { body } = await parse(query, { objecttypes: undefined })
      assert.deepEqual(body, { search: [{ type: 'text', string, mode: 'fulltext' }] })
    }
    assert.deepEqual(await works('11'), ['beast'])
    assert.deepEqual(await works('11 && !work.width == 7'), ['beast'])
    for (const query of ['==?(', '==? (', '== ?(', '==\t?\n(']) {
      assert.deepEqual(await works(`work.creator ${query} person.reference == "blake-1" )`), ['tyger'], query)
    }
  })

  test('when objects were made and changed, by the names that clients know from the history', async () => {
    const all = ['beast', 'blank', 'bridge', 'dawn', 'tyger']
    assert.deepEqual(await works('_changelog.date_created >= "$startOfYear-1y"'), all)
    assert.deepEqual(await works('_changelog.date_created < "$startOfYear-1y"'), [])
    assert.deepEqual(await works('_changelog.date_last_updated >= "$now-1d"'), all)
    const sort = [{ field: '_changelog.date_created', order: 'desc' }]
    assert.equal((await scene.search({ objecttypes: ['work'], sort })).status, 200)
  })

  test('&& binds before ||, and ! before both', async () => {
    const [a, b, c] = ['work.width == 20', 'work.signed == true', 'work.width == 7']
    assert.deepEqual(await works(`${a} || ${b} && ${c}`), ['dawn', 'tyger'])
    assert.deepEqual(await works(`(${a} || ${b}) && ${c}`), ['tyger'])
    assert.deepEqual(await works(`${b} && !${c}`), ['bridge'])
    assert.deepEqual(await works(`!(${a} || ${b})`), ['beast', 'blank'])
    assert.deepEqual(await works(`!!${a}`), ['dawn'])
    assert.deepEqual(await works(`${a} || !${b}`), ['beast', 'blank', 'dawn'])
  })

  test('what is wrong is told with its place and with what was expected', async () => {
    const wrong = async (query: string) => {
      const { status, body } = await parse(query)
      assert.deepEqual([status, body.code], [400, 'QueryParse'], query)
      return body.parameters
    }
    assert.deepEqual(await wrong('work.title = "x"'), {
      position: 11,
      line: 1,
      column: 12,
      expected: ['!*', '!=', '!@', '!^', '<', '<=', '=*', '==', '=@', '=^', '>', '>='],
      found: '= "x"',
    })
    assert.deepEqual(
      [await wrong('work.width == 5 &&\n work.width =^ 5')].map(({ position, line, column, expected }) => [
        position,
        line,
        column,
        expected,
      ]),
      [[34, 2, 16, ['a text in double quotes']]],
    )
    assert.deepEqual((await wrong('(work.width == 5')).expected, ['&&', ')', '||'])
    assert.equal((await wrong('work.width == 5 work.width == 6')).position, 16)
    assert.ok((await wrong('work.title == "open')).expected.includes('a text in double quotes'))
    assert.ok((await wrong('work.made > "$tomorrow"')).expected.includes('"$today"'))
    assert.equal((await wrong('work.made > "$now-1x"')).position, 12)
    assert.equal((await wrong(`${'('.repeat(100_000)}`)).position, 20)
    assert.equal((await wrong(`${'!('.repeat(21)}"a"${')'.repeat(21)}`)).position, 41)
    assert.deepEqual((await wrong(Array(501).fill('"a"').join('||'))).expected, ['at most 500 conditions'])
    assert.deepEqual((await wrong(`"${'a'.repeat(100_000)}"`)).expected, ['at most 100000 characters'])
    for (const [query, code] of [
      ['work.titel == "x"', 'SearchFieldUnknown'],
      ['work.made == "soon"', 'DateWrongSyntax'],
    ] as const) {
      const answer = await parse(query)
      assert.deepEqual([answer.status, answer.body.code], [400, code], query)
    }
  })

  test('what may be long is taken: 500 conditions, 20 deep', async () => {
    const many = Array.from({ length: 500 }, (_, n) => `work.width == ${n}`).join(' || ')
    assert.deepEqual(await works(many), ['bridge', 'dawn', 'tyger'])
    assert.deepEqual(await works(`${'('.repeat(20)}work.width == 7${')'.repeat(20)}`), ['tyger'])
  })
})

describe('what people type', () => {
  const typed = (query: string) => works(query, { syntax: 'words' })

  test('words, signs and operators', async () => {
    assert.deepEqual(await typed('dawn'), ['bridge', 'dawn'])
    assert.deepEqual(await typed('dawn bridge'), ['bridge'])
    assert.deepEqual(await typed('dawn AND bridge'), ['bridge'])
    assert.deepEqual(await typed('dawn +bridge'), ['bridge'])
    assert.deepEqual(await typed('dawn -bridge'), ['dawn'])
    assert.deepEqual(await typed('dawn !bridge'), ['dawn'])
    assert.deepEqual(await typed('dawn NOT bridge'), ['dawn'])
    assert.deepEqual(await typed('tyger, beast'), ['beast', 'tyger'])
    assert.deepEqual(await typed('tyger OR beast'), ['beast', 'tyger'])
    assert.deepEqual(await typed('(tyger OR dawn) -(oil canvas)'), ['dawn', 'tyger'])
    assert.deepEqual(await typed('bri*'), ['bridge', 'tyger'])
    assert.deepEqual(await typed(''), ['beast', 'blank', 'bridge', 'dawn', 'tyger'])
  })

  test('phrases, whole words and exact values', async () => {
    assert.deepEqual(await typed('"the river"'), ['dawn'])
    assert.deepEqual(await typed('"river the"'), [])
    assert.deepEqual(await typed(`'RIVER'`), ['dawn'])
    assert.deepEqual(await typed(`'riv*'`), [])
    assert.deepEqual(await typed('`Dawn over the river`'), ['dawn'])
    assert.deepEqual(await typed('`dawn over the river`'), [])
    assert.deepEqual(await typed('`Dawn`'), [])
    assert.deepEqual(await typed('`Dawn*`'), ['dawn'])
    assert.deepEqual(await typed('`D*ver`'), ['dawn'])
    assert.deepEqual(await typed('`Daw? over*`'), ['dawn'])
    assert.deepEqual(await typed('`N10`'), ['bridge'])
  })

  test('nothing is an error: what makes no sense is left out, and a note says so', async () => {
    const notes = async (query: string): Promise<number[]> => {
      const answer = await parse(query, { syntax: 'words', search: true })
      assert.equal(answer.status, 200, `${query.slice(0, 100)}: ${JSON.stringify(answer.body)}`)
      const header = answer.headers['x-svc-query-notes']
      return header === undefined ? [] : JSON.parse(String(header)).map(({ position }: Json) => position)
    }
    assert.deepEqual(await notes('dawn'), [])
    assert.deepEqual(await notes('dawn ) bridge'), [5])
    assert.deepEqual(await notes('OR dawn'), [0])
    assert.deepEqual(await notes('dawn OR'), [5])
    assert.deepEqual(await notes('dawn ... ()'), [5, 9])
    assert.deepEqual(await notes('Brücke "offen'), [7])
    assert.deepEqual(await notes('* dawn'), [0])
    assert.equal((await notes('('.repeat(100_000))).length, 10)
    assert.ok((await notes('a* -b OR '.repeat(11_000))).length > 0)
    assert.deepEqual(await typed('dawn ) bridge ('), ['bridge'])
    assert.deepEqual(await typed('dawn OR'), ['bridge', 'dawn'])
  })
})

describe('the way back', () => {
  const query = async (search: unknown) => scene.svc.as('root').post('/search/query', { search })

  test('the elements of a request become a query', async () => {
    const written = async (...search: object[]): Promise<string> => {
      const answer = await query(search)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body.query
    }
    assert.equal(await written(), '')
    assert.equal(
      await written(
        { type: 'in', fields: ['work.inventory'], in: ['N10', 'N2'] },
        { type: 'range', field: 'work.made', from: '1800', to: '1900', to_equals: false },
        { type: 'match', string: 'say "x"', bool: 'must_not' },
      ),
      '(work.inventory == "N10" || work.inventory == "N2") && work.made >= "1800" && work.made < "1900" && !"say \\"x\\""',
    )
    assert.equal(
      await written({ type: 'in', fields: ['work.creator'], subsearch: { search: [{ type: 'text', string: 'x' }] } }),
      'work.creator == ?("x")',
    )
  })

  test('a query, its request, and the query that is written of it say the same', async () => {
    const root = scene.svc.as('root')
    await fc.assert(
      fc.asyncProperty(queries, async (text) => {
        const first = await root.post('/search/parse', { query: text })
        assert.equal(first.status, 200, `${text} ${JSON.stringify(first.body)}`)
        const written = await query(first.body.search)
        assert.equal(written.status, 200, `${text} ${JSON.stringify(written.body)}`)
        const again = await root.post('/search/parse', { query: written.body.query })
        assert.deepEqual(again.body, first.body, `${text} → ${written.body.query}`)
      }),
      { numRuns: 150 },
    )
  })

  test('what no query can say is refused with its place', async () => {
    for (const [element, name] of [
      [{ type: 'changelog_range', operation: 'INSERT' }, 'search[0].type'],
      [{ type: 'text', string: 'a', boost: 2 }, 'search[0].boost'],
      [{ type: 'text', string: 'a', phrase: true }, 'search[0].phrase'],
      [{ type: 'in', fields: ['work.place'], in: [1], include_path: true }, 'search[0].include_path'],
      [{ type: 'in', fields: ['work.made'], in: ['1801'] }, 'search[0].in[0]'],
      [{ type: 'in', fields: ['work.width || 1'], in: [1] }, 'search[0].fields[0]'],
    ] as const) {
      const answer = await query([element])
      assert.deepEqual([answer.status, answer.body.parameters.name], [400, name], JSON.stringify(element))
    }
    assert.equal((await query([{ type: 'in', fields: ['work.nothing'], in: [1] }])).body.code, 'SearchFieldUnknown')
  })
})
