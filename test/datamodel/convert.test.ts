import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnTypes } from '../../src/datamodel/column-types.ts'
import { conversionOf } from '../../src/datamodel/commit/convert.ts'

test('which type changes lose nothing', () => {
  const types = [...columnTypes, 'custom:a.b']
  const possible = types.flatMap((from) =>
    types.filter((to) => to !== from && conversionOf(from, to, 'en-US')).map((to) => `${from} to ${to}`),
  )
  assert.deepEqual(possible, [
    'text to text_oneline',
    'text to string',
    'text to text_l10n',
    'text to text_l10n_oneline',
    'text_oneline to text',
    'text_oneline to string',
    'text_oneline to text_l10n',
    'text_oneline to text_l10n_oneline',
    'string to text',
    'string to text_oneline',
    'string to text_l10n',
    'string to text_l10n_oneline',
    'text_l10n to text_l10n_oneline',
    'text_l10n_oneline to text_l10n',
    'number to text',
    'number to text_oneline',
    'number to string',
    'number to integer.2',
    'number to double',
    'integer.2 to text',
    'integer.2 to text_oneline',
    'integer.2 to string',
    'integer.2 to double',
    'double to text',
    'double to text_oneline',
    'double to string',
    'boolean to text',
    'boolean to text_oneline',
    'boolean to string',
    'date to text',
    'date to text_oneline',
    'date to string',
    'date to datetime',
    'date to daterange',
    'datetime to text',
    'datetime to text_oneline',
    'datetime to string',
  ])
  assert.ok(conversionOf('files', 'eas', 'en-US'))
  assert.equal(conversionOf('custom:a.b', 'custom:a.c', 'en-US'), null)
})

const values: [from: string, to: string, value: unknown, expected: unknown][] = [
  ['text', 'string', 'a', 'a'],
  ['text', 'text_oneline', 'a\nb', undefined],
  ['text', 'text_l10n', 'a\nb', { 'en-US': 'a\nb' }],
  ['text', 'text_l10n_oneline', 'a\nb', undefined],
  ['text_l10n', 'text_l10n_oneline', { 'de-DE': 'a', 'en-US': 'b' }, { 'de-DE': 'a', 'en-US': 'b' }],
  ['text_l10n', 'text_l10n_oneline', { 'de-DE': 'a', 'en-US': 'b\nc' }, undefined],
  ['number', 'text', -5, '-5'],
  ['number', 'integer.2', 12, 1200],
  ['number', 'integer.2', Number.MAX_SAFE_INTEGER, undefined],
  ['number', 'double', 12, 12],
  ['integer.2', 'string', 1205, '12.05'],
  ['integer.2', 'string', -5, '-0.05'],
  ['integer.2', 'double', 1250, 12.5],
  ['double', 'text', 1e21, '1e+21'],
  ['boolean', 'text', false, 'false'],
  ['date', 'text', { value: '1850-03' }, '1850-03'],
  ['date', 'datetime', { value: '1850' }, { value: '1850' }],
  ['date', 'daterange', { value: '1850' }, { from: '1850', to: '1850' }],
]
for (const [from, to, value, expected] of values) {
  test(`${from} to ${to}: ${JSON.stringify(value)} becomes ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(conversionOf(from, to, 'en-US')?.(value), expected)
  })
}
