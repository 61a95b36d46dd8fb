import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AnswerParts } from '../../src/objects/render/parts.ts'
import { createYielder } from '../../src/platform/process/cooperative-yield.ts'
import { parseExact } from '../../src/platform/values/exact-json.ts'

const limits = { bytes: 64 * 1024 * 1024, embedded: 50_000 }

/** Members whose values are JSON, some of them with the place of a part that was made before. */
const members = fc.array(
  fc.tuple(
    fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('__proto__', '1', '_id')),
    fc.oneof(
      { weight: 2, arbitrary: fc.nat(20).map((part) => ({ part })) },
      { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }).map((value) => ({ value })) },
      { weight: 1, arbitrary: fc.constant({ value: undefined }) },
    ),
  ),
  { maxLength: 5 },
)

/** Parts whose members name earlier ones only; the one at the end has the last word. */
function build(list: readonly (readonly (readonly [string, { part?: number; value?: unknown }])[])[]): AnswerParts {
  const parts = new AnswerParts(limits)
  for (const [index, entries] of list.entries()) {
    const number = parts.add(1, 10)
    assert.equal(number, index)
    parts.part(number).wire = Object.fromEntries(
      entries.map(([name, { part, value }]) => [
        name,
        part === undefined ? value : index === 0 ? null : { list: [parts.token(part % index)] },
      ]),
    )
  }
  return parts
}

test('objects as values are what their JSON says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(members, { minLength: 1, maxLength: 6 }), async (list) => {
      const tops = [...list.keys()]
      const written = build(list)
      await written.write(tops.slice(-1), createYielder())
      const values = await build(list).values(tops.slice(-1), createYielder())
      assert.deepEqual(values, JSON.parse(Buffer.concat([...written.end()]).toString()))
    }),
  )
})

test('what is JSON already stands in values with its numbers as they are written', async () => {
  const text = '{"n":123456789012345678901234567890,"t":"é"}'
  const parts = new AnswerParts(limits)
  const number = parts.add(1, 10)
  parts.part(number).wire = { standard: parts.text(['{"n":1234567890', '12345678901234567890,"t":"é"}']) }
  const [value] = await parts.values([number], createYielder())
  assert.equal(JSON.stringify(value), `{"standard":${text}}`)
  assert.deepEqual(value, { standard: parseExact(text) })
})
