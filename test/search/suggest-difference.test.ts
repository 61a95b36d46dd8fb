import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Client, Json } from '../support/client.ts'
import { draws, maskedScene } from '../support/hidden/others.ts'
import { callers } from '../support/hidden/scene.ts'
import { startWorld, type World } from '../support/hidden/twins.ts'

/**
 * Suggestions against a naive model: every term of the dictionary that fits what was typed is searched for by itself, as the
 * same caller, and those that are found are ranked.
 */

const requests = Number(process.env.ENGINE_REQUESTS ?? 40)

const texts = ['work.title', 'work.note', 'work.plain', 'person.name', 'place.name', 'work.creator', 'loan.borrower']
const strings = ['work.code', 'place.code']
/** Of objects that links lead to, forth and back. */
const linked = ['work.creator.person.name', 'work._reverse_nested:loan:work.loan.borrower']
const parts = ['work._nested:work__part.name', 'person._nested:person__influence.note']

const typed = fc.constantFrom(
  'a',
  'bir',
  'birch',
  'birches',
  'mber',
  'am',
  'lta',
  'e',
  'c',
  'jord',
  '1',
  'zz',
  'BIRCH',
  'rch',
)

const someRequest = (world: World) =>
  fc
    .record({
      query: fc.oneof(
        { weight: 3, arbitrary: typed },
        {
          weight: 1,
          arbitrary: fc.tuple(fc.constantFrom('amber', 'birch', 'cedar'), typed).map((two) => two.join(' ')),
        },
      ),
      fields: fc.oneof(
        fc.constant(undefined),
        fc.uniqueArray(fc.constantFrom('_fulltext', ...texts, ...strings, ...parts, ...linked), {
          minLength: 1,
          maxLength: 3,
        }),
      ),
      tokens_mode: fc.constantFrom(undefined, '', 'ngram', 'edgengram', 'exact'),
      objecttypes: fc.constantFrom(undefined, undefined, ['work'], ['person', 'place']),
      pool_ids: fc.oneof(
        fc.constant(undefined),
        fc.constantFrom(...world.pools).map((pool) => [pool]),
      ),
      languages: fc.constantFrom(undefined, undefined, ['de-DE']),
      limit: fc.constantFrom(undefined, 3, 100),
    })
    .map((request) => JSON.parse(JSON.stringify(request)) as Json)

interface Suggested {
  readonly suggest: string
  readonly tokens: readonly string[]
  readonly count: number
}

const byPoint = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

test('suggested words are those that searches of the same caller find, with their counts', async () => {
  await using world = await startWorld(maskedScene())
  const { rows } = await world.svc.db.query<{ field: number; term: string }>('select field, term from search_term')
  const words = rows.flatMap(({ field, term }) => (field === 0 ? term : []))
  const tally = { shown: 0, hidden: 0 }
  for (const [index, login] of ['root', ...callers].entries()) {
    const client = world.svc.as(login)
    for (const request of draws(someRequest(world), requests, 900 + index)) {
      const sent = `${login}: ${JSON.stringify(request)}`
      const { status, body } = await client.post('/suggest', { ...request, timeout: 60_000 })
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.equal(body.timed_out, false, sent)
      const pieces = request.query.split(' ')
      const partial = pieces.at(-1).toLowerCase()
      const earlier = pieces.slice(0, -1)
      const fields: string[] = request.fields ?? ['_fulltext']
      const own = fields.filter((name) => strings.includes(name))
      const values = own.length === 0 ? [] : rows.flatMap(({ field, term }) => (field === 0 ? [] : term))
      const expected = new Map<string, number>()
      for (const term of new Set(words.filter((each) => fits(each, partial, request)))) {
        const count = await countOf(client, request, [...earlier, term], [...earlier.map(() => fields), fields])
        if (count > 0) expected.set(term, count)
        else tally.hidden++
      }
      for (const term of new Set(
        values.filter((each) => fits(each, partial, { ...request, tokens_mode: beginning(request) })),
      )) {
        if (expected.has(term)) continue
        const count = await countOf(client, request, [...earlier, term], [...earlier.map(() => fields), own])
        if (count > 0) expected.set(term, count)
      }
      const rank = (term: string): number => (term === partial ? 0 : term.startsWith(partial) ? 1 : 2)
      const ranked = [...expected].sort(
        ([one, many], [other, more]) =>
          rank(one) - rank(other) || more - many || one.length - other.length || byPoint(one, other),
      )
      const shown = body.suggestions.tokens as Suggested[]
      assert.deepEqual(
        shown.map(({ tokens, count }) => ({ tokens, count })),
        ranked.slice(0, request.limit ?? 10).map(([term, count]) => ({ tokens: [...earlier, term], count })),
        sent,
      )
      tally.shown += shown.length
      for (const { suggest, tokens } of shown) assert.equal(suggest.replaceAll(/<\/?b>/g, ''), tokens.join(' '), sent)
    }
  }
  assert.ok(tally.shown > requests && tally.hidden > requests, JSON.stringify(tally))
})

test('suggested values are those that hits show to the same caller, with the number of hits', async () => {
  await using world = await startWorld(maskedScene())
  const tally = { shown: 0 }
  for (const [index, login] of ['root', ...callers].entries()) {
    const client = world.svc.as(login)
    for (const request of draws(someValueRequest, requests, 1900 + index)) {
      const sent = `${login}: ${JSON.stringify(request)}`
      const { status, body } = await client.post('/suggest', { ...request, timeout: 60_000, fields_suggest: true })
      assert.equal(status, 200, `${sent} ${JSON.stringify(body)}`)
      assert.equal(body.timed_out, false, sent)
      assert.equal(body.suggestions.tokens, undefined, sent)
      const holders = new Map<string, Set<number>>()
      const fitting = new Set<string>()
      for (const { id, field, value } of await valuesOf(client, request)) {
        holders.set(value, (holders.get(value) ?? new Set()).add(id))
        if (hasTyped(value, request, strings.includes(field))) fitting.add(value)
      }
      const shown = body.suggestions.fields as Json[]
      assert.deepEqual(
        shown.map(({ field, count }) => `${field}: ${count}`).sort(),
        [...fitting].map((value) => `${value}: ${holders.get(value)?.size}`).sort(),
        sent,
      )
      for (const { field, _system_object_id: ids } of shown) {
        assert.ok(ids.length > 0, sent)
        for (const id of ids) assert.ok(holders.get(field)?.has(id), sent)
      }
      tally.shown += shown.length
    }
  }
  assert.ok(tally.shown > requests, JSON.stringify(tally))
})

const someValueRequest: fc.Arbitrary<Json> = fc
  .record({
    query: typed,
    tokens: fc.constant(false),
    fields: fc.uniqueArray(fc.constantFrom(...texts.filter((name) => name !== 'work.creator'), ...strings, ...parts), {
      minLength: 1,
      maxLength: 3,
    }),
    tokens_mode: fc.constantFrom('', 'ngram', 'edgengram', 'exact'),
    languages: fc.constantFrom(undefined, undefined, ['de-DE']),
    limit: fc.constant(100),
  })
  .map((request) => JSON.parse(JSON.stringify(request)) as Json)

/** What each object shows to the caller in the fields. */
async function valuesOf(client: Client, { fields, languages = ['en-US', 'de-DE'] }: Json) {
  const asked = fields.flatMap((field: string) =>
    languages.map((language: string, n: number) => ({ key: `${n} ${field}`, field, language })),
  )
  const answer = await client.post('/search', { fields: asked, sort: [{ field: '_system_object_id' }], limit: 1000 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return (answer.body.objects as Json[]).flatMap(({ _system_object_id: id, _fields: found }) =>
    Object.entries<string[]>(found).flatMap(([key, values]) =>
      values.map((value) => ({ id: id as number, field: key.slice(2), value })),
    ),
  )
}

/** A word of the value is what was typed, begins so or, from three letters on, has it in it; a `string` begins so. */
function hasTyped(value: string, { query, tokens_mode: mode }: Json, isString: boolean): boolean {
  const typedText = query.toLowerCase()
  if (isString) return fits(value.toLowerCase(), typedText, { tokens_mode: beginning({ tokens_mode: mode }) })
  const words = value.toLowerCase().split(/[^a-z0-9]+/)
  return words.some((word) => word !== '' && fits(word, typedText, { tokens_mode: mode }))
}

const beginning = ({ tokens_mode: mode }: Json): string => (mode === 'exact' ? 'exact' : 'edgengram')

function fits(term: string, partial: string, { tokens_mode: mode = '' }: Json): boolean {
  if (mode === 'exact') return term === partial
  return mode === 'edgengram' || partial.length < 3 ? term.startsWith(partial) : term.includes(partial)
}

async function countOf(
  client: Client,
  { objecttypes, pool_ids: pools, languages }: Json,
  tokens: readonly string[],
  fields: readonly (readonly string[])[],
): Promise<number> {
  const search = tokens.map((string, index) => ({
    type: 'text',
    mode: 'token',
    string,
    fields: fields[index],
    languages,
  }))
  const inPools = pools ? [{ type: 'in', fields: ['_pool'], in: pools }] : []
  const { status, body } = await client.post('/search', { objecttypes, search: [...search, ...inPools], limit: 0 })
  assert.equal(status, 200, JSON.stringify(body))
  return body.count
}
