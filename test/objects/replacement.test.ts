import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Column, Model, Table } from '../../src/datamodel/model.ts'
import { valuesAt } from '../../src/objects/values/at.ts'
import { replacementText } from '../../src/objects/values/replacement.ts'
import { type ObjectTree, treeOf } from '../../src/objects/values/tree.ts'

const column = (id: number, name: string, type: Column['type']) =>
  ({ id, name, type, fullName: `work.${name}` }) as Column
const field = (own: Column) => ({ kind: 'column', mode: 'edit', column: own, linkMask: null }) as const

/** A type `work` with a value of each kind that names of files and captions can have, and rows. */
function scene() {
  const person = { id: 2, name: 'person', masks: new Map() } as unknown as Table
  const columns = [
    column(1, 'title', 'text_l10n'),
    column(2, 'inventory', 'string'),
    column(3, 'price', 'integer.2'),
    column(4, 'made', 'daterange'),
    { ...column(5, 'artist', 'link'), target: person },
    column(6, 'signed', 'boolean'),
  ]
  const material = { id: 3, name: 'work__material', wireKey: '_nested:work__material' } as Table
  const name = column(7, 'name', 'text')
  const rows = { kind: 'nested', mode: 'edit', table: material, fields: [field(name)] }
  const mask = { fields: [...columns.map(field), rows] }
  const work = { id: 1, name: 'work', masks: new Map([['all', mask]]) } as unknown as Table
  const model = {
    objecttypes: new Map([
      ['work', work],
      ['person', person],
    ]),
  } as Pick<Model, 'objecttypes'>
  const standard = (text: string) => ({ '1': { text: { 'en-US': text, 'de-DE': `${text} (de)` } } })
  const wire = {
    _objecttype: 'work',
    _mask: 'all',
    _format: 'long',
    _system_object_id: 7,
    _uuid: 'u-7',
    _created: '2026-01-02T03:04:05Z',
    _standard: standard('The lake'),
    _pool: { pool: { name: { 'de-DE': 'Bestand' }, shortname: 'B' } },
    work: {
      _version: 3,
      title: { 'en-US': 'Lake', 'de-DE': 'See' },
      inventory: 'A/1',
      price: -7,
      made: { from: '1851', to: '1852' },
      artist: { _objecttype: 'person', _mask: 'all', _standard: standard('Ada') },
      '_nested:work__material': [{ name: 'oil' }, {}, { name: 'wood' }],
    },
  }
  const tree = treeOf({ model }, wire) as ObjectTree
  return { tree, work, material, name, signed: columns[5] as Column }
}

test('a replacement is a value of the object or its file; what there is not says nothing', () => {
  const { tree } = scene()
  const cases: Readonly<Record<string, string>> = {
    'work.title': 'See',
    'work.title.en-US': 'Lake',
    'work.title.fr-FR': '',
    'work.inventory': 'A/1',
    'work.price': '-0.07',
    'work.made': '1851 – 1852',
    'work.artist._standard.1.text': 'Ada (de)',
    'work.artist._standard.1.text.en-US': 'Ada',
    'work.artist._standard.2.text': '',
    'work.signed': '',
    'work.nothing': '',
    'work._nested:work__material': '',
    // Of another type, although there is a column of that name here.
    'person.title': '',
    title: '',
    work: '',
    _uuid: 'u-7',
    _system_object_id: '7',
    _version: '3',
    _created: '2026-01-02',
    _last_modified: '',
    '_standard.1.text': 'The lake (de)',
    '_standard.1.text.en-US': 'The lake',
    '_pool.name': 'Bestand',
    '_pool.name.en-US': '',
    '_pool.shortname': 'B',
    '_asset.extension': 'jpg',
    '_asset.nothing': '',
    _pool: '',
    ['__proto__']: '',
    constructor: '',
  }
  const source = { tree, file: { extension: 'jpg' }, languages: ['de-DE', 'en-US'] }
  for (const [name, wanted] of Object.entries(cases)) assert.equal(replacementText(name, source), wanted, name)
})

test('values at a path are those of all rows, in their order; a boolean that is not there is none', () => {
  const { tree, work, material, name, signed } = scene()
  const at = (nested: readonly Table[], own: Column | null, root = work) =>
    valuesAt(tree, { root, nested, link: null, column: own }).map(({ value }) => value)
  assert.deepEqual(at([material], name), ['oil', 'wood'])
  assert.deepEqual(at([], signed), [])
  assert.deepEqual(at([], name), [])
  assert.deepEqual(at([], null), [])
  assert.deepEqual(at([material], name, { ...work, id: 9 }), [])
})
