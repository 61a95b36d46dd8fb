import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../../../src/platform/errors.ts'
import { JsonReader } from '../../../src/platform/http/body/json-reader.ts'

const wide = { values: 1e6, depth: 100, keyBytes: 1e6, stringBytes: 1e6 }

/** Reads a text that arrives in chunks of these sizes, the last of which repeats. */
function read(text: string | Buffer, { chunks = [7], pieceBytes = 1, limits = wide } = {}): unknown {
  const bytes = Buffer.from(text)
  const reader = new JsonReader(limits, { pieceBytes })
  for (let from = 0, n = 0; from < bytes.length; n++) {
    const size = chunks[Math.min(n, chunks.length - 1)] ?? 7
    reader.write(bytes.subarray(from, from + size))
    from += size
  }
  return reader.end()
}

/** What JSON.parse says, or null where it throws. */
function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return null
  }
}

function outcome(text: string, options: { chunks: number[]; pieceBytes: number }): { value: unknown } | null {
  try {
    return { value: read(text, options) }
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'ServerGeneric', String(error))
    return null
  }
}

const arrival = fc.record({
  chunks: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 }),
  pieceBytes: fc.integer({ min: 0, max: 60 }),
})

const spaced = fc
  .tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'))
  .map(([value, space]) => JSON.stringify(value, null, space))
  .filter((text) => !text.includes('__proto__'))

test('any JSON in any chunks is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(spaced, arrival, (text, options) => {
      assert.deepEqual(outcome(text, options), parsed(text))
    }),
    { numRuns: 1500 },
  )
})

test('any text that is nearly JSON is accepted exactly when JSON.parse accepts it', () => {
  const bytes = [...'[]{},:"\\ 01-.eEtrufalsn\u0001ü'] as const
  const edit = fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom('', ...bytes))
  const damaged = fc.tuple(spaced, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([text, edits]) =>
    edits.reduce((done, [at, removed, added]) => {
      const place = at % (done.length + 1)
      return done.slice(0, place) + added + done.slice(place + removed)
    }, text),
  )
  const drawn = fc.oneof(
    damaged,
    fc.array(fc.constantFrom(...bytes), { maxLength: 12 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(drawn, arrival, (text, options) => {
      assert.deepEqual(outcome(text, options), parsed(text))
    }),
    { numRuns: 5000 },
  )
})

test('duplicate keys: the last one counts, wherever the text is cut', () => {
  const text = '{"a":{"x":[1,2,3],"y":1},"b":1,"a":[{"deep":1},{"deep":2}],"7":0,"b":{"z":[[],{}]}}'
  for (let pieceBytes = 0; pieceBytes < text.length; pieceBytes++) {
    for (const size of [1, 3, 1000]) assert.deepEqual(read(text, { chunks: [size], pieceBytes }), JSON.parse(text))
  }
})

test('keys that lead to a prototype are refused, however they are written and cut', () => {
  const refused = [
    '{"__proto__":{"x":1}}',
    '{"a":[1,2,{"b":1,"__proto__":1}]}',
    '{"\\u005f_proto__":1}',
    '{"constructor":{"prototype":{}}}',
    '{"constructor":{"other":[1,2],"proto\\u0074ype":1}}',
  ]
  const harmless = [
    '{"constructor":1,"prototype":2}',
    '{"constructor":[{"prototype":1}]}',
    '["__proto__"]',
    '{"a":"__proto__"}',
  ]
  for (const chunks of [[1], [4], [1000]]) {
    for (const pieceBytes of [0, 10, 1000]) {
      for (const text of refused) assert.throws(() => read(text, { chunks, pieceBytes }), /is not allowed/, text)
      for (const text of harmless) assert.deepEqual(read(text, { chunks, pieceBytes }), JSON.parse(text))
    }
  }
  assert.equal(({} as Record<string, unknown>).x, undefined)
})

test('half of a surrogate pair is refused by its byte, however the text is cut; a whole pair is a character', () => {
  const refused: [string, number][] = [
    ['"\\ud800"', 1],
    ['"\\uDFFF"', 1],
    ['{"a\\ud800":1}', 3],
    ['["ä\\\\\\udc00\\ud800"]', 6],
    ['["\\ud83d\\ude00","\\ud83d","\\ude00"]', 17],
    ['"\\ud83d\\ud83d\\ude00"', 1],
    ['"\\ud83dx\\ude00"', 1],
  ]
  const whole = ['"\\ud83d\\ude00"', '["\\uD83D\\uDE00",{"\\ud83d\\ude00":1}]', '"\\\\ud800"', '"\\ud7ff\\ue000"']
  for (const chunks of [[1], [4], [1000]]) {
    for (const pieceBytes of [0, 10, 1000]) {
      for (const [text, byte] of refused) {
        assert.throws(
          () => read(text, { chunks, pieceBytes }),
          (error) => error instanceof AppError && error.code === 'ServerGeneric' && error.parameters.byte === byte,
          text,
        )
      }
      for (const text of whole) assert.deepEqual(read(text, { chunks, pieceBytes }), JSON.parse(text))
    }
  }
})

test('each limit is exact', () => {
  const cases: [keyof typeof wide, number, string, string][] = [
    ['values', 5, '[1,{"a":2,"b":3}]', 'PayloadTooLarge'],
    ['depth', 3, '[{"a":[1]},[]]', 'ServerGeneric'],
    ['keyBytes', 5, '{"abcde":"longer than that"}', 'ServerGeneric'],
    ['stringBytes', 6, '{"longer than that":"abcdef"}', 'ServerGeneric'],
  ]
  for (const [name, most, text, code] of cases) {
    const limits = { ...wide, [name]: most }
    assert.deepEqual(read(text, { limits }), JSON.parse(text), name)
    const less = { ...wide, [name]: most - 1 }
    for (const chunks of [[1], [1000]]) {
      assert.throws(
        () => read(text, { chunks, limits: less }),
        (error) => error instanceof AppError && error.code === code,
        name,
      )
    }
  }
})

test('what is too much or no JSON is refused at that byte, not at the end', () => {
  const endless = (start: string, more: string, limits = wide): number => {
    const reader = new JsonReader(limits)
    let bytes = start.length
    assert.throws(() => {
      for (reader.write(Buffer.from(start)); bytes < 1e6; bytes += more.length) reader.write(Buffer.from(more))
    }, AppError)
    return bytes
  }
  const narrow = { values: 100, depth: 20, keyBytes: 100, stringBytes: 100 }
  assert.ok(endless('[{}', ',{}', narrow) < 400)
  assert.ok(endless('[', '[', narrow) <= 20)
  assert.ok(endless('["', 'x', narrow) <= 102)
  assert.ok(endless('{"', 'x', narrow) <= 102)
  assert.ok(endless('[1', '1') <= 1002)
  assert.ok(endless('[1,2', ']]') <= 6)
})

test('bytes that are not UTF-8 are refused by their place, wherever the text is cut', () => {
  const texts = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant('\ufffd')), {
    minLength: 1,
    maxLength: 6,
  })
  fc.assert(
    fc.property(texts, fc.nat(), fc.integer({ min: 0x80, max: 0xff }), arrival, (values, place, byte, options) => {
      const text = JSON.stringify({ a: values, b: [values] })
      assert.deepEqual(outcome(text, options), parsed(text))
      const bytes = Buffer.from(text)
      const quotes = [...bytes.keys()].filter((at) => bytes[at] === 0x22 && bytes[at - 1] !== 0x5c)
      // Behind a quote, where a character begins: no byte from 0x80 on is one by itself.
      const at = (quotes[place % quotes.length] as number) + 1
      const damaged = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte, 0x41]), bytes.subarray(at)])
      assert.throws(
        () => read(damaged, options),
        (error) => error instanceof AppError && error.status === 400,
      )
    }),
    { numRuns: 1000 },
  )
  assert.throws(
    () => read(Buffer.from([...Buffer.from('{"a":[1,"x'), 0xe9, ...Buffer.from('"],"b":2}')]), { chunks: [3] }),
    (error) => error instanceof AppError && error.parameters.byte === 10 && /UTF-8 at byte 10/.test(error.message),
  )
})
