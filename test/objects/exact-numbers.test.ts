import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { asDoubles, keepExact, parseExact, readExact } from '../../src/platform/values/exact-json.ts'
import { commitModel } from '../datamodel/support.ts'
import { startService, type TestService } from '../support/service.ts'

const digits = (most: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: most })
    .map((all) => all.join('').replace(/^0+(?=\d)/, ''))
/** Numbers of JSON as somebody may write them. */
const numberText = fc
  .tuple(fc.constantFrom('', '-'), digits(40), fc.option(digits(40)), fc.option(fc.integer({ min: -200, max: 200 })))
  .map(
    ([sign, whole, fraction, power]) =>
      `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${power === null ? '' : `e${power}`}`,
  )

/** A number as an integer and a power of ten. */
function exactly(text: string): [bigint, number] {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  let [value, exponent] = [BigInt(whole + fraction), Number(power) - fraction.length]
  if (value === 0n) return [0n, 0]
  for (; value % 10n === 0n; exponent++) value /= 10n
  return [value, exponent]
}

test('any number comes back as the number that was written, through text and through storage', () => {
  fc.assert(
    fc.property(numberText, (text) => {
      const parsed = parseExact(`{"a":[${text}],"b":"${text}"}`) as Record<string, unknown>
      const stored = JSON.parse(JSON.stringify(keepExact(parsed)))
      const answered = JSON.stringify(readExact(stored))
      const [, number = ''] = /^\{"a":\[(.*)\],"b"/.exec(answered) ?? []
      assert.equal(JSON.parse(answered).b, text)
      assert.deepEqual(exactly(number), exactly(text))
      assert.deepEqual(asDoubles(parsed), JSON.parse(`{"a":[${text}],"b":"${text}"}`))
    }),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(parseExact(JSON.stringify(value)), JSON.parse(JSON.stringify(value)))
    }),
  )
})

const types = [
  {
    name: 'place',
    columns: [
      { name: 'title', type: 'text' },
      { name: 'amount', type: 'double' },
      { name: 'count', type: 'number' },
      { name: 'where', type: 'geo_json' },
      { name: 'gnd', type: 'custom:base.custom-data-type-gnd.gnd' },
    ],
  },
]
const long = '1234567890123456789012345678.123456789012345678901234567890'

async function send(svc: TestService, method: 'POST' | 'GET', url: string, payload?: string) {
  const authorization = `Bearer ${await svc.as('root').token()}`
  const headers = { authorization, ...(payload ? { 'content-type': 'application/json' } : {}) }
  const answer = await svc.inject({ method, url: `/api/v1${url}`, headers, ...(payload ? { payload } : {}) })
  return { status: answer.statusCode, text: answer.body }
}

const body = (fields: string): string => `[{"_objecttype":"place","_mask":"_all_fields","place":{${fields}}}]`

test('a custom value has its numbers as they were sent: in answers, versions, searches, after another save', async () => {
  await using svc = await startService()
  await commitModel(svc.as('root'), types)
  const custom = `{"conceptName":"Ada","weight":${long},"list":[-0.1,${long},1e-300],"$json":"mine","small":0.1}`
  const saved = await send(svc, 'POST', '/db/place', body(`"title":"a","gnd":${custom}`))
  assert.equal(saved.status, 200, saved.text)
  assert.ok(saved.text.includes(`"gnd":${custom}`), saved.text)
  await svc.drain()
  const search = '{"search":[{"type":"match","mode":"fulltext","string":"Ada"}],"format":"full"}'
  const ask = [await send(svc, 'GET', '/db/place/_all_fields/1'), await send(svc, 'POST', '/search', search)]
  const again = await send(
    svc,
    'POST',
    '/db/place?pretty=1',
    `[{"_objecttype":"place","_mask":"_all_fields","place":{"_id":1,"_version":1,"title":"b","gnd":${custom}}}]`,
  )
  assert.equal(again.status, 200, again.text)
  ask.push({ ...again, text: again.text.replaceAll(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, '') })
  ask.push(
    await send(svc, 'GET', '/db/place/_all_fields/1?version=1'),
    await send(svc, 'GET', '/db/place/_all_fields/1'),
  )
  for (const { text } of ask)
    assert.ok(
      text.includes(`"weight":${long}`) && text.includes(`[-0.1,${long},1e-300]`) && text.includes('"$json":"mine"'),
      text,
    )
  // Its digits are no words.
  const digits = await send(
    svc,
    'POST',
    '/search',
    `{"search":[{"type":"match","mode":"fulltext","string":"${long.split('.')[0]}"}]}`,
  )
  assert.equal(JSON.parse(digits.text).count, 0)
})

test('numbers of other types are doubles and integers, and what is none of them is refused', async () => {
  await using svc = await startService()
  await commitModel(svc.as('root'), types)
  const saved = await send(
    svc,
    'POST',
    '/db/place',
    body(`"amount":${long},"where":{"type":"Point","coordinates":[1.23456789012345678901,2]}`),
  )
  assert.equal(saved.status, 200, saved.text)
  const { place } = JSON.parse(saved.text)[0]
  assert.deepEqual([place.amount, place.where.coordinates], [Number(long), [Number('1.23456789012345678901'), 2]])
  for (const fields of [
    '"count":9007199254740993',
    '"gnd":{"a":1e400}',
    '"gnd":{"a":1e-400}',
    `"gnd":{"a":[-${'9'.repeat(400)}]}`,
    `"gnd":${long}`,
  ]) {
    const refused = await send(svc, 'POST', '/db/place', body(fields))
    assert.equal(refused.status, 400, `${fields}: ${refused.text}`)
  }
  for (const more of [`"_id":${long}`, `"_version":1${long}`]) {
    assert.equal((await send(svc, 'POST', '/db/place', body(more))).status, 400, more)
  }
  for (const more of [
    `"_pool":${long}`,
    `"_owner":${long}`,
    `"_tags":[${long}]`,
    `"_acl":${long}`,
    `"_comment":${long}`,
  ]) {
    const { status, text } = await send(
      svc,
      'POST',
      '/db/place',
      `[{"_objecttype":"place","_mask":"_all_fields","place":{},${more}}]`,
    )
    assert.ok(status < 500, `${more}: ${text}`)
  }
})
