import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fieldNames, nameKeys, namesInText, withoutExtension } from '../../src/ingest/names.ts'

test('a running number behind a separator or in parentheses makes a series', () => {
  const cases: [name: string, stem: string, series: string | null][] = [
    ['View-3.tif', 'view-3', 'view'],
    ['view 12.JPG', 'view 12', 'view'],
    ['view_0001.jpeg', 'view_0001', 'view'],
    ['view (2).png', 'view (2)', 'view'],
    ['view - 2.png', 'view - 2', 'view'],
    ['view.tif', 'view', null],
    ['view3.tif', 'view3', null],
    ['view-3b.tif', 'view-3b', null],
    ['-3.tif', '-3', null],
    ['(3).tif', '(3)', null],
    ['2024.tif', '2024', null],
    ['view-3)', 'view-3)', null],
    ['.profile', '.profile', null],
    ['archive.tar.gz', 'archive.tar', null],
    ['Cafe\u0301-1.jpg', 'caf\u00e9-1', 'caf\u00e9'],
  ]
  for (const [name, stem, series] of cases) assert.deepEqual(nameKeys(name), { stem, series }, name)
})

test('names that differ in their running numbers only are of one series, whatever they are', () => {
  const base = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => /[a-z]$/.test(text))
  const separator = fc.constantFrom('-', '_', ' ')
  fc.assert(
    fc.property(base, separator, fc.nat(99_999), fc.nat(99_999), (text, between, one, other) => {
      const keys = [one, other].map((number) => nameKeys(`${text}${between}${number}.jpg`).series)
      assert.equal(keys[0], keys[1])
      assert.notEqual(keys[0], null)
    }),
  )
})

test('a field that lists names has each of them between commas, semicolons and ends of lines', () => {
  assert.deepEqual(namesInText(' A.tif;b.TIF,\nc , '), ['a.tif', 'b.tif', 'c'])
  assert.equal(fieldNames('x.jpg; View-3.TIF', 'view-3.tif', false), true)
  assert.equal(fieldNames('view-3', 'view-3.tif', false), true)
  assert.equal(fieldNames('view', 'view-3.tif', false), false)
  assert.equal(fieldNames('view', 'view-3.tif', true), true)
  assert.equal(fieldNames('a view-3.tif', 'view-3.tif', true), false)
})

test('only letters and digits behind the last dot are an extension', () => {
  assert.equal(withoutExtension('No. 12'), 'No. 12')
  assert.equal(withoutExtension('a.b c'), 'a.b c')
  assert.equal(withoutExtension('.jpg'), '.jpg')
})
