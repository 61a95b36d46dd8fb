import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beginsWithDay, parseMoment } from '../../../src/platform/values/moments.ts'

test('a moment is a day of the calendar, with or without a time and a zone', () => {
  const moments: Record<string, string> = {
    '2026-02-28': '2026-02-28T00:00:00.000Z',
    '2024-02-29T23:59': '2024-02-29T23:59:00.000Z',
    '2026-05-17T10:00:00': '2026-05-17T10:00:00.000Z',
    '2026-05-17T10:00:00.123456789Z': '2026-05-17T10:00:00.123Z',
    '2026-05-17T10:00:00+02:00': '2026-05-17T08:00:00.000Z',
    '2026-05-17T10:00-0230': '2026-05-17T12:30:00.000Z',
    '0001-01-01': '0001-01-01T00:00:00.000Z',
    '0096-02-29': '0096-02-29T00:00:00.000Z',
    '9999-12-31T23:59:59Z': '9999-12-31T23:59:59.000Z',
  }
  for (const [text, at] of Object.entries(moments)) assert.equal(parseMoment(text)?.toISOString(), at, text)
})

test('what JavaScript would read as another moment is none', () => {
  for (const text of [
    '',
    '5',
    '2026',
    '2026-05',
    'tomorrow',
    '17 May 2026',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-04-31',
    '1900-02-29',
    '2026-13-01',
    '2026-00-01',
    '2026-01-00',
    '2026-05-17T25:00:00Z',
    '2026-05-17T10:60:00Z',
    '2026-05-17T10:00:00+99:00',
    '2026-05-17 10:00:00',
    '0000-01-01',
    '10000-01-01',
    '+010000-01-01',
    '-000001-01-01',
    '2026-05-17T10:00:00Z\n',
  ]) {
    assert.equal(parseMoment(text), null, text)
  }
  assert.deepEqual(['2026-02-28T', '2026-02-29', 'x2026-02-28'].map(beginsWithDay), [true, false, false])
})

test('each moment is read as it was written', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }), (at) => {
      const text = at.toISOString()
      assert.equal(parseMoment(text)?.getTime(), at.getTime())
      assert.equal(parseMoment(text.slice(0, 10))?.toISOString().slice(0, 10), text.slice(0, 10))
    }),
  )
})
