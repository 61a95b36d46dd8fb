import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MaskField } from '../../src/datamodel/model.ts'
import { everyType, modelOf } from './support.ts'

test('columns of every type, with direct references to their tables and targets', () => {
  const model = modelOf(everyType)
  const thing = model.objecttypes.get('thing')!
  assert.deepEqual(
    thing.columns.map((column) => `${column.name} ${column.type}`),
    [
      'a_text text',
      'a_oneline text_oneline',
      'a_string string',
      'an_l10n text_l10n',
      'an_l10n_oneline text_l10n_oneline',
      'a_number number',
      'an_amount integer.2',
      'a_double double',
      'a_flag boolean',
      'a_date date',
      'a_datetime datetime',
      'a_range daterange',
      'a_place geo_json',
      'a_file eas',
      'some_files eas',
      'a_gnd custom',
      'where_it_is link',
    ],
  )
  const place = model.objecttypes.get('place')!
  assert.equal(thing.columnByName.get('where_it_is')?.target, place)
  assert.equal(thing.columnByName.get('a_gnd')?.typeName, 'custom:base.custom-data-type-gnd.gnd')
  assert.deepEqual(
    place.linkedFrom.map((column) => column.fullName),
    ['thing.where_it_is', 'thing._nested:thing__part.from_place'],
  )
  assert.equal(model.columnsById.get(1), place.columns[0])
})

test('nested tables stand at their owner and know the object type at the top', () => {
  const model = modelOf(everyType)
  const thing = model.objecttypes.get('thing')!
  const [part] = thing.nested
  assert.equal(part?.wireKey, '_nested:thing__part')
  assert.equal(part?.key, `n${part?.id}`)
  assert.equal(part?.nested[0]?.root, thing)
  assert.equal(part?.nested[0]?.columns[0]?.fullName, 'thing._nested:thing__part._nested:thing__part__note.text')
  assert.equal(model.objecttypes.has('thing__part'), false)
})

test('the mask _all_fields has every field, editable; nested and reverse ones too', () => {
  const thing = modelOf(everyType).objecttypes.get('thing')!
  const mask = thing.masks.get('_all_fields')!
  assert.equal(mask, thing.preferredMask)
  assert.ok(mask.fields.every((field) => field.mode === 'edit'))
  assert.deepEqual(
    mask.fields.filter((field) => field.kind !== 'column').map((field) => `${field.kind} ${field.table.name}`),
    ['nested thing__part', 'reverse loan'],
  )
  const reverse = mask.fields.find((field) => field.kind === 'reverse')
  assert.equal(reverse?.wireKey, '_reverse_nested:loan:thing')
  assert.deepEqual(columnNames(reverse?.mask.fields ?? []), ['number'])
})

test('without a mask an object is shown by its first text, file and place', () => {
  const mask = modelOf(everyType).objecttypes.get('thing')!.preferredMask
  const shown = [...mask.fieldByColumn.values()].flatMap((field) =>
    field.standard || field.standardEas || field.standardGeo ? [field.column.name] : [],
  )
  assert.deepEqual(shown, ['a_text', 'a_place', 'a_file'])
})

test('reverses of reverses end where they would lead back', () => {
  const model = modelOf([
    { name: 'a', columns: [{ name: 'name', type: 'string' }] },
    { name: 'b', columns: [{ name: 'a', type: 'link', other_table_name_hint: 'a', reverse_edit: true }] },
    { name: 'c', columns: [{ name: 'b', type: 'link', other_table_name_hint: 'b', reverse_edit: true }] },
  ])
  const path: string[] = []
  let fields: readonly MaskField[] = model.objecttypes.get('a')!.preferredMask.fields
  for (;;) {
    const reverse = fields.find((field) => field.kind === 'reverse')
    if (!reverse) break
    path.push(reverse.wireKey)
    fields = reverse.mask.fields
  }
  assert.deepEqual(path, ['_reverse_nested:b:a', '_reverse_nested:c:b'])
})

test('a mask selects and shapes fields; what only shapes a form is no field', () => {
  const model = modelOf(everyType, [
    {
      name: 'thing__short',
      table_name_hint: 'thing',
      is_preferred: true,
      require_comment: 'update',
      custom_settings: { reverse_pool_changed_mode: 'reverse_pool_changed_always' },
      system_fields: { owner: { edit: { mode: 'show' }, output: { mode: 'off' } } },
      fields: [
        { kind: 'splitter', type: 'panel' },
        {
          kind: 'field',
          column_name_hint: 'a_oneline',
          edit: { mode: 'show' },
          output: { detail: false, standard: { order: 2, format: 'dash', stop_if_set: true } },
          search: { expert: true, facet: true },
          custom_settings: { required: 'true', default: '"new"' },
        },
        {
          kind: 'linked-table',
          other_table_name_hint: 'thing__part',
          nested_sort: [{ field: 'role', order: 'desc' }],
          nested_standard_first_only: true,
          mask: { fields: [{ kind: 'field', column_name_hint: 'role' }] },
        },
        {
          kind: 'reverse-linked-table',
          other_table_name_hint: 'loan',
          other_column_name_hint: 'thing',
          mask: { fields: [{ kind: 'field', column_name_hint: 'number' }] },
        },
      ],
    },
  ])
  const thing = model.objecttypes.get('thing')!
  const mask = thing.preferredMask
  assert.equal(mask.name, 'thing__short')
  assert.deepEqual([...thing.masks.keys()], ['_all_fields', 'thing__short'])
  assert.deepEqual(
    mask.fields.map((field) => field.kind),
    ['column', 'nested', 'reverse'],
  )
  assert.equal(mask.requireComment, 'update')
  assert.equal(mask.reversePoolChanged, 'always')
  assert.deepEqual(mask.system.owner, { output: 'off', edit: 'show' })
  assert.deepEqual(mask.system.pool, { output: 'show', edit: 'edit' })
  const field = mask.fieldByColumn.get('a_oneline')!
  assert.equal(field.mode, 'show')
  assert.equal(field.required, true)
  assert.equal(field.defaultValue, 'new')
  assert.deepEqual(field.standard, { order: 2, format: 'dash', formatInner: 'comma', stopIfSet: true })
  assert.equal(field.inTable, true)
  assert.deepEqual(field.search, { fulltext: false, expert: true, facet: true, nested: false })
  const nested = mask.fields[1]!
  assert.ok(nested.kind === 'nested' && nested.standardFirstOnly && nested.sort[0]?.descending)
  const reverse = mask.fields[2]!
  assert.ok(reverse.kind === 'reverse' && reverse.mask.isInline && reverse.column?.name === 'thing')
  assert.equal(model.masksById.get(mask.id), mask)
})

test('link masks: by id, the same mask, or the preferred one of the target', () => {
  const model = modelOf(
    [
      {
        name: 'person',
        columns: ['father', 'mother', 'child'].map((name) => ({ name, type: 'link', other_table_name_hint: 'person' })),
      },
    ],
    [
      {
        mask_id: 7,
        name: 'full',
        table_name_hint: 'person',
        is_preferred: true,
        fields: [
          { kind: 'link', column_name_hint: 'father', mask_id: 'PREFERRED' },
          { kind: 'link', column_name_hint: 'mother', mask_id: 'SAME' },
          { kind: 'link', column_name_hint: 'child', mask_id: 8 },
        ],
      },
      { mask_id: 8, name: 'brief', table_name_hint: 'person', fields: [] },
    ],
  )
  const mask = model.masksById.get(7)!
  assert.equal(mask.fieldByColumn.get('father')?.linkMask, null)
  assert.equal(mask.fieldByColumn.get('mother')?.linkMask, mask)
  assert.equal(mask.fieldByColumn.get('child')?.linkMask, model.masksById.get(8))
})

test('children of a hierarchy are a reverse field without column', () => {
  const model = modelOf(
    [{ name: 'term', is_hierarchical: true, columns: [{ name: 'name', type: 'string' }] }],
    [
      {
        name: 'tree',
        table_name_hint: 'term',
        is_preferred: true,
        fields: [
          {
            kind: 'reverse-linked-table',
            is_hierarchical: true,
            mask: { fields: [{ kind: 'field', column_name_hint: 'name', inheritance: { inherit: true } }] },
          },
        ],
      },
    ],
  )
  const [children] = model.objecttypes.get('term')!.preferredMask.fields
  assert.ok(children?.kind === 'reverse' && children.column === null)
  assert.equal(children.wireKey, '_reverse_nested:term:_id_parent')
  assert.equal(children.mask.fieldByColumn.get('name')?.inherit, true)
})

test('unique keys: single, composite, group, below a parent, within the object', () => {
  const model = modelOf([
    {
      name: 'term',
      is_hierarchical: true,
      columns: ['code', 'name', 'kind'].map((name) => ({ name, type: 'string' })),
      unique_keys: [
        { columns: [{ column_name_hint: 'code' }] },
        { columns: [{ column_name_hint: 'name' }, { auto_column_parent: true }] },
        { group: 'g', columns: [{ column_name_hint: 'kind' }] },
        { group: 'g', columns: [{ column_name_hint: 'name' }] },
      ],
    },
    {
      name: 'term__alias',
      owned_by: { other_table_name_hint: 'term' },
      columns: [{ name: 'alias', type: 'string' }],
      unique_keys: [{ columns: [{ column_name_hint: 'alias' }, { auto_column_uplink: true }] }],
    },
  ])
  const keys = [...model.tablesById.values()].flatMap((table) => table.uniqueKeys)
  assert.deepEqual(
    keys.map((key) => [key.key, key.columns.map((column) => column.name), key.withParent, key.withUplink]),
    [
      ['1', ['code'], false, false],
      ['2p', ['name'], true, false],
      ['2.3', ['name', 'kind'], false, false],
      ['4u', ['alias'], false, true],
    ],
  )
})

test('bidirectional links: a type with itself, and two types with each other', () => {
  const model = modelOf([
    { name: 'artist', columns: [{ name: 'name', type: 'string' }] },
    {
      name: 'artist__influence',
      owned_by: { other_table_name_hint: 'artist' },
      columns: [{ name: 'other', type: 'link', other_table_name_hint: 'artist' }],
      bidirectional: [{ columns: [{ auto_column_uplink: true }, { column_name_hint: 'other' }] }],
    },
    {
      table_id: 10,
      name: 'book',
      columns: [{ column_id: 20, name: 'author', type: 'link', other_table_name_hint: 'writer' }],
      bidirectional: [{ columns: [{ column_id: 20 }, { column_id: 21 }] }],
    },
    {
      table_id: 11,
      name: 'writer',
      columns: [{ column_id: 21, name: 'main_book', type: 'link', other_table_name_hint: 'book' }],
    },
  ])
  const influence = [...model.tablesById.values()].find((table) => table.name === 'artist__influence')!
  assert.deepEqual(
    influence.bidirectional.map(({ column, opposite }) => [column.name, opposite.name]),
    [['other', 'other']],
  )
  const author = model.columnsById.get(20)!
  const book = model.columnsById.get(21)!
  assert.deepEqual(author.table.bidirectional, [{ table: author.table, column: author, opposite: book }])
  assert.deepEqual(book.table.bidirectional, [{ table: book.table, column: book, opposite: author }])
})

test('localised names come from the keys; a nested table is named by its owner when it has no key of its own', () => {
  const model = modelOf(
    everyType,
    [{ mask_id: 1, name: 'm', table_name_hint: 'thing', is_preferred: true, fields: [] }],
    {
      'schema.thing.name': { 'de-DE': 'Ding', 'en-US': '', _comment: 'x' },
      'schema.thing.column.a_text': { 'en-US': 'Text' },
      'schema.thing.column.thing__part': { 'en-US': 'Parts' },
      'mask.1.m.name': { 'de-DE': 'Maske' },
    },
  )
  const thing = model.objecttypes.get('thing')!
  assert.deepEqual(thing.nameLocalized, { 'de-DE': 'Ding' })
  assert.deepEqual(thing.columnByName.get('a_text')?.nameLocalized, { 'en-US': 'Text' })
  assert.deepEqual(thing.nested[0]?.nameLocalized, { 'en-US': 'Parts' })
  assert.deepEqual(thing.preferredMask.nameLocalized, { 'de-DE': 'Maske' })
})

function columnNames(fields: readonly MaskField[]): string[] {
  return fields.flatMap((field) => (field.kind === 'column' ? [field.column.name] : []))
}
