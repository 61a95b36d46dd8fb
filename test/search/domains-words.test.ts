import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Actor } from '../../src/platform/actor.ts'
import { elementsCondition } from '../../src/search/domains/elements.ts'
import { domains } from '../../src/search/domains/kinds.ts'
import { orderOf } from '../../src/search/domains/order.ts'
import { sourcesOf } from '../../src/search/domains/source.ts'
import { pageStatement } from '../../src/search/domains/statements.ts'
import { hasPhrase, hasWords } from '../../src/search/domains/words.ts'
import { Parameters } from '../../src/search/postgres/query/sql/sql.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService
before(async () => {
  svc = await startService({ readOnly: false })
})
after(() => svc[Symbol.asyncDispose]())

/** Texts in which words begin and end in all ways, in one script or several. */
const piece = fc.constantFrom(
  ...[
    'bear',
    'Bear',
    'BEAR',
    'bears',
    'be',
    'b',
    '7',
    '77',
    '$5',
    '$',
    '&',
    '100%',
    'a_b',
    '§',
    '€',
    'ß',
    'SS',
    'Bär',
    'bär',
  ],
  ...[
    ' ',
    '  ',
    '-',
    '_',
    '.',
    '\n',
    '\t',
    '"',
    "'",
    '\\',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '^',
    '|',
    '*',
    '+',
    '?',
    '\u0301',
    '東',
  ],
)
const text = fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join(''))

test('words and phrases are found in plain texts as in all others', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.array(text, { minLength: 40, maxLength: 40 }), async (sought, values) => {
      const parameters = new Parameters()
      const bind = (value: unknown) => parameters.add(value)
      const sent = { text: sought, parameter: bind(sought) }
      const { rows } = await svc.db.query<Json>(
        ...parameters.statement(`select value,
          ${hasWords('t.value', sent, bind)} as words, record_words(value) @> record_words(${sent.parameter}::text) as "expectedWords",
          ${hasPhrase('t.value', sent, bind)} as phrase,
          strpos(record_text(value), record_text(${sent.parameter}::text)) > 0 as "expectedPhrase"
          from unnest(${bind(values)}::text[]) as t (value)
          where record_words(${sent.parameter}::text) <> '{}'`),
      )
      for (const { value, words, phrase, expectedWords, expectedPhrase } of rows)
        assert.deepEqual({ value, words, phrase }, { value, words: expectedWords, phrase: expectedPhrase }, sought)
    }),
    { numRuns: 150 },
  )
})

/** The plan of a search for words in a field, by a caller who sees everything. */
async function planOf(type: 'event' | 'user', element: object): Promise<string> {
  const parameters = new Parameters()
  const bind = (value: unknown) => parameters.add(value)
  const [source] = await sourcesOf(
    domains[type],
    {} as Actor,
    {
      [type]: {
        access: () => ({ condition: 'true', shown: { managers: true, self: true } }),
        render: async () => new Map(),
      },
    },
    bind,
  )
  assert.ok(source)
  const context = { source, bind, zone: 'UTC', depth: 0, onTexts: () => {} } as never
  const condition = elementsCondition([element], 'search', context)
  const [sql, values] = parameters.statement(`explain select t.id from ${source.table} t where ${condition}`)
  const { rows } = await svc.db.transaction(async (tx) => {
    await tx.query(`select set_config('enable_seqscan', 'off', true)`)
    return tx.query<Json>(sql, values)
  })
  return rows.map((row) => row['QUERY PLAN']).join('\n')
}

test('texts that repeat are looked up by their values, and all texts of a record by their words alone', async () => {
  const word = (string: string, ...fields: string[]) => ({ type: 'text', string, fields })
  for (const name of ['type', 'basetype', 'objecttype']) {
    const plan = await planOf('event', word('insert', `event.${name}`))
    assert.match(plan, new RegExp(`event_${name}_idx`))
    assert.doesNotMatch(plan, /event_words_idx|Seq Scan/)
    assert.match(
      await planOf('event', { type: 'in', fields: [`event.${name}`], in: ['a'] }),
      new RegExp(`event_${name}_idx`),
    )
  }
  for (const type of ['event', 'user'] as const) {
    const plan = await planOf(type, word('insert'))
    assert.match(plan, new RegExp(`${type}_words_idx`))
    assert.doesNotMatch(plan, /Filter/)
  }
})

test('pages in the orders in which people list users, and of the latest events, are read by an index', async () => {
  const listed = `t.archived_at is null and t.type <> all('{anonymous,collection}'::text[])`
  for (const [type, condition, field, index] of [
    ['user', listed, 'user._id', 'user_listed_idx'],
    ['user', listed, 'user._generated_displayname', 'user_displayname_order_idx'],
    ['user', listed, 'user.login', 'user_login_order_idx'],
    ['user', listed, 'user.last_name', 'user_last_name_order_idx'],
    ['event', 'true', 'event._id', 'event_pkey'],
    ['event', 'true', 'event.timestamp', 'event_at_idx'],
  ] as const) {
    const parameters = new Parameters()
    const bind = (value: unknown) => parameters.add(value)
    const access = () => ({ condition, shown: { managers: true, self: true } })
    const keepers = { [type]: { access, render: async () => new Map() } }
    const [source] = await sourcesOf(domains[type], {} as Actor, keepers, bind)
    assert.ok(source)
    const order = orderOf([{ field }], { source, bind, together: false, languages: [] })
    const sql = `from ${source.table} t where ${source.readable}`
    const matching = { ...source, condition: source.readable, sql, order, facets: [] }
    const [text, values] = pageStatement({ kinds: [matching], parameters, offset: 0, limit: 10 })
    const { rows } = await svc.db.transaction(async (tx) => {
      await tx.query(`select set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)`)
      return tx.query<Json>(`explain ${text}`, values)
    })
    assert.match(JSON.stringify(rows), new RegExp(index), field)
  }
})
