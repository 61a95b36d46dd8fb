import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/datamodel/limits.ts'
import type { FieldApi, MaskApi, SchemaTableApi } from '../../src/datamodel/schema.ts'
import { validateMasks } from '../../src/datamodel/validate/masks.ts'
import { checkSchemaSize, validateSchema } from '../../src/datamodel/validate/schema.ts'
import { everyType, normal, normalMasks, refusal } from './support.ts'

const text = (name: string, more: object = {}) => ({ name, type: 'text', ...more })
const link = (name: string, target: string, more: object = {}) => ({
  name,
  type: 'link',
  other_table_name_hint: target,
  ...more,
})
const one = (column: object): SchemaTableApi[] => [{ name: 'a', columns: [{ name: 'x', type: 'text', ...column }] }]
const a: SchemaTableApi = { name: 'a', columns: [text('x')] }

/** What is wrong, the tables, the code and the place. */
const wrongTables: [string, SchemaTableApi[], string, string][] = [
  ['two tables of one name', [a, { name: 'a' }], 'SchemaDuplicateObjecttypeName', 'tables[1].name'],
  [
    'two tables of one id',
    [
      { ...a, table_id: 3 },
      { name: 'b', table_id: 3 },
    ],
    'SchemaInconsistent',
    'tables[1].table_id',
  ],
  ['a name with capitals', [{ name: 'Artist' }], 'InvalidIdentifier', 'tables[0].name'],
  ['a name that begins with an underscore', [{ name: '_all' }], 'InvalidIdentifier', 'tables[0].name'],
  ['an empty name', [{ name: '' }], 'InvalidIdentifier', 'tables[0].name'],
  ['a name that is too long', [{ name: 'x'.repeat(64) }], 'InvalidIdentifier', 'tables[0].name'],
  ['a column with a bad name', one({ name: 'a-b' }), 'InvalidIdentifier', 'tables[0].columns[0].name'],
  [
    'two columns of one name',
    [{ name: 'a', columns: [text('x'), text('x')] }],
    'SchemaInconsistent',
    'tables[0].columns[0].name',
  ],
  [
    'two columns of one id',
    [{ name: 'a', columns: [text('x', { column_id: 4 }), text('y', { column_id: 4 })] }],
    'SchemaInconsistent',
    'tables[0].columns[1].column_id',
  ],
  [
    'a column id of another table',
    [
      { name: 'a', columns: [text('x', { column_id: 4 })] },
      { name: 'b', columns: [text('y', { column_id: 4 })] },
    ],
    'SchemaInconsistent',
    'tables[1].columns[0].column_id',
  ],
  ['an unknown type', one({ type: 'blob' }), 'UnknownColumnType', 'tables[0].columns[0].type'],
  ['no type', one({ type: undefined }), 'UnknownColumnType', 'tables[0].columns[0].type'],
  ['a custom type without name', one({ type: 'custom:' }), 'UnknownColumnType', 'tables[0].columns[0].type'],
  ['an unknown kind', one({ kind: 'row' }), 'SchemaInconsistent', 'tables[0].columns[0].kind'],
  [
    'both hierarchies',
    [{ name: 'a', is_hierarchical: true, polyhierarchical: true }],
    'SchemaInconsistent',
    'tables[0].polyhierarchical',
  ],
  [
    'a polyhierarchy with permissions',
    [{ name: 'a', acl_table: true, polyhierarchical: true }],
    'SchemaInconsistent',
    'tables[0].acl_table',
  ],
  [
    'an owner that is not there',
    [{ name: 'a__b', owned_by: { other_table_id: 9 } }],
    'SchemaInconsistent',
    'tables[0].owned_by.other_table_id',
  ],
  [
    'a table that owns itself',
    [{ name: 'a', table_id: 1, owned_by: { other_table_id: 1 } }],
    'SchemaInconsistent',
    'tables[0].owned_by',
  ],
  [
    'owners in a circle',
    [
      { name: 'a', owned_by: { other_table_name_hint: 'b' } },
      { name: 'b', owned_by: { other_table_name_hint: 'a' } },
    ],
    'SchemaInconsistent',
    'tables[0].owned_by',
  ],
  [
    'a nested table with pools',
    [a, { name: 'b', pool_link: true, owned_by: { other_table_name_hint: 'a' } }],
    'SchemaInconsistent',
    'tables[1].pool_link',
  ],
  [
    'a nested table with tags',
    [a, { name: 'b', has_tags: true, owned_by: { other_table_name_hint: 'a' } }],
    'SchemaInconsistent',
    'tables[1].has_tags',
  ],
  [
    'an entry of a table of somebody else',
    [{ name: 'a', columns: [{ kind: 'link', other_table_name_hint: 'b' }] }, { name: 'b' }],
    'SchemaInconsistent',
    'tables[0].columns[0].other_table_id',
  ],
  [
    'an entry of no table',
    [{ name: 'a', columns: [{ kind: 'link', other_table_id: 77 }] }],
    'SchemaInconsistent',
    'tables[0].columns[0].other_table_id',
  ],
  [
    'the same nested table twice',
    [
      {
        name: 'a',
        columns: [
          { kind: 'link', other_table_name_hint: 'b' },
          { kind: 'link', other_table_name_hint: 'b' },
        ],
      },
      { name: 'b', owned_by: { other_table_name_hint: 'a' } },
    ],
    'SchemaInconsistent',
    'tables[1].owned_by',
  ],
  ['a link to nothing', one({ type: 'link' }), 'SchemaInconsistent', 'tables[0].columns[0]'],
  [
    'a link to a table that is not there',
    [
      {
        name: 'a',
        columns: [{ name: 'x', type: 'link' }],
        foreign_keys: [{ columns: [{ column_name_hint: 'x' }], referenced_table: { table_id: 5 } }],
      },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0]',
  ],
  [
    'a link to a nested table',
    [
      { name: 'a', columns: [link('x', 'a__b')] },
      { name: 'a__b', owned_by: { other_table_name_hint: 'a' } },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0]',
  ],
  [
    'a link that says two targets',
    [
      {
        name: 'a',
        columns: [{ name: 'x', type: 'link', other_table_id: 2 }],
        foreign_keys: [{ columns: [{ column_name_hint: 'x' }], referenced_table: { name_hint: 'a' } }],
      },
      { name: 'b', table_id: 2 },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0].other_table_id',
  ],
  [
    'two foreign keys of a column',
    [
      {
        name: 'a',
        columns: [{ name: 'x', type: 'link' }],
        foreign_keys: [1, 2].map(() => ({
          columns: [{ column_name_hint: 'x' }],
          referenced_table: { name_hint: 'a' },
        })),
      },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0]',
  ],
  [
    'a foreign key of a text',
    [
      {
        name: 'a',
        columns: [text('x')],
        foreign_keys: [{ columns: [{ column_name_hint: 'x' }], referenced_table: { name_hint: 'a' } }],
      },
    ],
    'SchemaInconsistent',
    'tables[0].foreign_keys[0].columns[0]',
  ],
  [
    'an unknown on_delete',
    [
      {
        name: 'a',
        columns: [{ name: 'x', type: 'link' }],
        foreign_keys: [
          { on_delete: 'explode', columns: [{ column_name_hint: 'x' }], referenced_table: { name_hint: 'a' } },
        ],
      },
    ],
    'SchemaInconsistent',
    'tables[0].foreign_keys[0].on_delete',
  ],
  [
    'setnull of what cannot be empty',
    [
      {
        name: 'a',
        columns: [{ name: 'x', type: 'link', not_null: true }],
        foreign_keys: [
          { on_delete: 'set null', columns: [{ column_name_hint: 'x' }], referenced_table: { name_hint: 'a' } },
        ],
      },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0].not_null',
  ],
  ['reverse edit of a text', one({ reverse_edit: true }), 'SchemaInconsistent', 'tables[0].columns[0].reverse_edit'],
  [
    'reverse edit in a nested table',
    [a, { name: 'a__b', owned_by: { other_table_name_hint: 'a' }, columns: [link('y', 'a', { reverse_edit: true })] }],
    'SchemaInconsistent',
    'tables[1].columns[0].reverse_edit',
  ],
  [
    'a reverse entry without reverse_edit',
    [
      { name: 'a', columns: [{ kind: 'reverse_link', other_table_name_hint: 'b', other_column_name_hint: 'y' }] },
      { name: 'b', columns: [link('y', 'a')] },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0].other_column_id',
  ],
  [
    'a reverse entry of another target',
    [
      a,
      { name: 'b', columns: [{ kind: 'reverse_link', other_table_name_hint: 'c', other_column_name_hint: 'y' }] },
      { name: 'c', columns: [link('y', 'a', { reverse_edit: true })] },
    ],
    'SchemaInconsistent',
    'tables[1].columns[0].other_column_id',
  ],
  [
    'a reverse entry of an unknown column',
    [
      { name: 'a', columns: [{ kind: 'reverse_link', other_table_name_hint: 'b', other_column_id: 99 }] },
      { name: 'b' },
    ],
    'SchemaInconsistent',
    'tables[0].columns[0].other_column_id',
  ],
  [
    'children of what is no hierarchy',
    [{ name: 'a', columns: [{ kind: 'reverse_link', is_hierarchical: true }] }],
    'SchemaInconsistent',
    'tables[0].columns[0].is_hierarchical',
  ],
  [
    'masters in a circle',
    [
      { name: 'a', columns: [link('x', 'b', { reverse_edit: true })] },
      { name: 'b', columns: [link('y', 'a', { reverse_edit: true })] },
    ],
    'SchemaLoopingReverse',
    'tables[1].columns[1]',
  ],
  [
    'a master of its own kind',
    [{ name: 'a', columns: [link('x', 'a', { reverse_edit: true })] }],
    'SchemaLoopingReverse',
    'tables[0].columns[1]',
  ],
  [
    'a pattern that cannot be read',
    one({ check_regexp: '(' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_regexp',
  ],
  [
    'a pattern with look-ahead',
    one({ check_regexp: '^(?=a)' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_regexp',
  ],
  [
    'a pattern that explodes in size',
    one({ check_regexp: '((a{100}){100}){100}' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_regexp',
  ],
  [
    'an unknown pattern flag',
    one({ check_regexp: 'a', check_regexp_flags: 'q' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_regexp',
  ],
  [
    'a pattern for numbers',
    one({ type: 'number', check_regexp: 'a' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_regexp',
  ],
  ['a negative length', one({ length_min: -1 }), 'SchemaInconsistent', 'tables[0].columns[0].length_min'],
  [
    'a least length above the largest',
    one({ length_min: 5, length_max: 4 }),
    'SchemaInconsistent',
    'tables[0].columns[0].length_min',
  ],
  [
    'a length of numbers',
    one({ type: 'number', length_max: 4 }),
    'SchemaInconsistent',
    'tables[0].columns[0].length_max',
  ],
  [
    'a lower bound above the upper',
    one({ type: 'number', check_range_lower: 5, check_range_upper: 4 }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_lower',
  ],
  [
    'an open range without values',
    one({ type: 'number', check_range_lower: 5, check_range_upper: 5, check_range_upper_open: true }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_lower',
  ],
  [
    'dates the wrong way round',
    one({ type: 'date', check_range_lower: '2000', check_range_upper: '1999' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_lower',
  ],
  [
    'a bound that is no date',
    one({ type: 'date', check_range_lower: 'soon' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_lower',
  ],
  ['a bound of text', one({ check_range_upper: 4 }), 'SchemaInconsistent', 'tables[0].columns[0].check_range_upper'],
  [
    'a flag that is none',
    one({ type: 'number', check_range_lower_open: 'yes' }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_lower_open',
  ],
  [
    'a range that is none',
    one({ check_range_not_empty: true }),
    'SchemaInconsistent',
    'tables[0].columns[0].check_range_not_empty',
  ],
  ['a check that cannot be read', one({ check: 'value >' }), 'SchemaInconsistent', 'tables[0].columns[0].check'],
  [
    'a unique key of an unknown column',
    [{ ...a, unique_keys: [{ columns: [{ column_id: 99 }] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[0].columns[0]',
  ],
  [
    'a unique key of files',
    [{ name: 'a', columns: [{ name: 'x', type: 'eas' }], unique_keys: [{ columns: [{ column_name_hint: 'x' }] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[0].columns[0]',
  ],
  [
    'a unique key of no column',
    [{ ...a, unique_keys: [{ columns: [] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[0].columns',
  ],
  [
    'the same unique key twice',
    [{ ...a, unique_keys: [{ columns: [{ column_name_hint: 'x' }] }, { columns: [{ column_name_hint: 'x' }] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[1]',
  ],
  [
    'a parent where there is none',
    [{ ...a, unique_keys: [{ columns: [{ column_name_hint: 'x' }, { auto_column_parent: true }] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[0].columns[1]',
  ],
  [
    'an uplink where there is none',
    [{ ...a, unique_keys: [{ columns: [{ column_name_hint: 'x' }, { auto_column_uplink: true }] }] }],
    'SchemaInconsistent',
    'tables[0].unique_keys[0].columns[1]',
  ],
  [
    'a bidirectional text',
    [{ ...a, bidirectional: [{ columns: [{ column_name_hint: 'x' }] }] }],
    'SchemaInconsistent',
    'tables[0].bidirectional[0].columns',
  ],
  [
    'a bidirectional link to another type',
    [a, { name: 'b', columns: [link('y', 'a')], bidirectional: [{ columns: [{ column_name_hint: 'y' }] }] }],
    'SchemaInconsistent',
    'tables[1].bidirectional[0].columns',
  ],
  [
    'no bidirectional column',
    [{ ...a, bidirectional: [{ columns: [] }] }],
    'SchemaInconsistent',
    'tables[0].bidirectional[0].columns',
  ],
  [
    'a column in two pairs',
    [
      {
        name: 'a',
        columns: [link('y', 'a')],
        bidirectional: [1, 2].map(() => ({ columns: [{ column_name_hint: 'y' }] })),
      },
    ],
    'SchemaInconsistent',
    'tables[0].bidirectional[1]',
  ],
]

for (const [what, tables, code, path] of wrongTables) {
  test(`a snapshot is refused: ${what}`, () => {
    const error = refusal(() => validateSchema(normal(tables)))
    assert.deepEqual([error.code, error.parameters.path], [code, path], error.message)
    assert.match(error.message, new RegExp(path.split('.').at(-1)!.replaceAll(/[[\]]/g, '\\$&')))
  })
}

test('a snapshot with everything in it is accepted', () => validateSchema(normal(everyType)))

test('sizes are limited before anything else is looked at', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `t${index}` }))
  const columns = Array.from({ length: limits.columnsPerTable + 1 }, (_, index) => text(`c${index}`))
  assert.equal(
    refusal(() => checkSchemaSize({ version: 1, tables: many(limits.tables + 1) })).parameters.path,
    'tables',
  )
  assert.equal(
    refusal(() => checkSchemaSize({ version: 1, tables: [{ name: 'a', columns }] })).parameters.path,
    'tables[0]',
  )
  const wide = many(25).map((table) => ({ ...table, columns: columns.slice(0, 900) }))
  assert.equal(refusal(() => checkSchemaSize({ version: 1, tables: wide })).parameters.path, 'tables')
})

test('nesting is limited', () => {
  const names = Array.from({ length: limits.ownershipDepth + 1 }, (_, index) => `t${index}`)
  const tables = names.map((name, index) =>
    index === 0 ? { name } : { name, owned_by: { other_table_name_hint: names[index - 1] as string } },
  )
  const error = refusal(() => validateSchema(normal(tables)))
  assert.equal(error.parameters.path, `tables[${limits.ownershipDepth}].owned_by`)
  validateSchema(normal(tables.slice(0, -1)))
})

const tables = everyType
const mask = (fields: FieldApi[], more: Partial<MaskApi> = {}): MaskApi[] => [
  { name: 'm', table_name_hint: 'thing', is_preferred: true, fields, ...more },
]
const field = (name: string, more: FieldApi = {}): FieldApi => ({ kind: 'field', column_name_hint: name, ...more })
const part = (fields: FieldApi[], more: FieldApi = {}): FieldApi => ({
  kind: 'linked-table',
  other_table_name_hint: 'thing__part',
  mask: { fields },
  ...more,
})
const loans = (more: FieldApi = {}): FieldApi => ({
  kind: 'reverse-linked-table',
  other_table_name_hint: 'loan',
  other_column_name_hint: 'thing',
  mask: { fields: [] },
  ...more,
})

const wrongMasks: [string, MaskApi[], string, string][] = [
  [
    'two masks of one name',
    [...mask([]), { name: 'm', table_name_hint: 'place', is_preferred: true }],
    'SchemaDuplicateMaskName',
    'masks[1].name',
  ],
  [
    'two masks of one id',
    [
      { ...mask([])[0], mask_id: 2 },
      { name: 'n', mask_id: 2, table_name_hint: 'place', is_preferred: true },
    ],
    'SchemaInconsistent',
    'masks[1].mask_id',
  ],
  ['the name of the system mask', mask([], { name: '_all_fields' }), 'InvalidIdentifier', 'masks[0].name'],
  ['a mask of nothing', mask([], { table_name_hint: 'nothing' }), 'SchemaInconsistent', 'masks[0].table_id'],
  ['a mask of a nested table', mask([], { table_name_hint: 'thing__part' }), 'SchemaInconsistent', 'masks[0].table_id'],
  [
    'no preferred mask',
    mask([], { is_preferred: false }),
    'ObjecttypeMustHaveExtactlyOnePreferredMask',
    'masks[0].is_preferred',
  ],
  [
    'two preferred masks',
    [...mask([]), { name: 'n', table_name_hint: 'thing', is_preferred: true }],
    'ObjecttypeMustHaveExtactlyOnePreferredMask',
    'masks[0].is_preferred',
  ],
  [
    'an unknown require_comment',
    mask([], { require_comment: 'sometimes' }),
    'SchemaInconsistent',
    'masks[0].require_comment',
  ],
  [
    'an unknown pool mode',
    mask([], { custom_settings: { reverse_pool_changed_mode: 'maybe' } }),
    'SchemaInconsistent',
    'masks[0].custom_settings.reverse_pool_changed_mode',
  ],
  [
    'an unknown system field mode',
    mask([], { system_fields: { tags: { edit: { mode: 'on' } } } }),
    'InvalidMaskMode',
    'masks[0].system_fields.tags.edit.mode',
  ],
  ['an unknown column', mask([field('nothing')]), 'SchemaInconsistent', 'masks[0].fields[0].column_id'],
  [
    'a column of another table',
    mask([field('', { column_id: 1 })]),
    'SchemaInconsistent',
    'masks[0].fields[0].column_id',
  ],
  ['the same column twice', mask([field('a_text'), field('a_text')]), 'SchemaInconsistent', 'masks[0].fields[1]'],
  [
    'an unknown mode',
    mask([field('a_text', { edit: { mode: 'write' } })]),
    'InvalidMaskMode',
    'masks[0].fields[0].edit.mode',
  ],
  [
    'an unknown format',
    mask([field('a_text', { output: { standard: { order: 1, format: 'slash' } } })]),
    'SchemaInconsistent',
    'masks[0].fields[0].output.standard.format',
  ],
  [
    'a fourth standard',
    mask([field('a_text', { output: { standard: { order: 4 } } })]),
    'SchemaInconsistent',
    'masks[0].fields[0].output.standard.order',
  ],
  [
    'a default that is no JSON',
    mask([field('a_text', { custom_settings: { default: 'new' } })]),
    'SchemaInconsistent',
    'masks[0].fields[0].custom_settings.default',
  ],
  [
    'inheritance without hierarchy',
    mask([field('a_text', { inheritance: { inherit: true } })]),
    'InheritanceNotSupported',
    'masks[0].fields[0].inheritance.inherit',
  ],
  ['a field without kind', mask([{ column_name_hint: 'a_text' }]), 'SchemaInconsistent', 'masks[0].fields[0].kind'],
  [
    'a link mask that is not there',
    mask([{ kind: 'link', column_name_hint: 'where_it_is', mask_id: 9 }]),
    'LinkMaskNotFound',
    'masks[0].fields[0].mask_id',
  ],
  [
    'a link mask of another type',
    mask([{ kind: 'link', column_name_hint: 'where_it_is', mask_id: 1 }]),
    'LinkMaskNotFound',
    'masks[0].fields[0].mask_id',
  ],
  [
    'a link mask that is a word',
    mask([{ kind: 'link', column_name_hint: 'where_it_is', mask_id: 'BEST' }]),
    'LinkMaskNotFound',
    'masks[0].fields[0].mask_id',
  ],
  [
    'a nested table of another type',
    mask([{ kind: 'linked-table', other_table_name_hint: 'thing__part__note' }]),
    'SchemaInconsistent',
    'masks[0].fields[0].other_table_id',
  ],
  [
    'an unknown column in a nested table',
    mask([part([field('nothing')])]),
    'SchemaInconsistent',
    'masks[0].fields[0].mask.fields[0].column_id',
  ],
  [
    'a sort key that is not there',
    mask([part([], { nested_sort: [{ field: 'nothing' }] })]),
    'SchemaInconsistent',
    'masks[0].fields[0].nested_sort[0].field',
  ],
  [
    'an unknown sort order',
    mask([part([], { nested_sort: [{ field: 'role', order: 'up' }] })]),
    'SchemaInconsistent',
    'masks[0].fields[0].nested_sort[0].order',
  ],
  [
    'a reverse link that is not there',
    mask([loans({ other_column_name_hint: 'number' })]),
    'SchemaInconsistent',
    'masks[0].fields[0].other_column_id',
  ],
  [
    'a reverse link without a mask of its own',
    mask([loans({ mask: undefined, mask_id: 'PREFERRED' })]),
    'LinkMaskNotFound',
    'masks[0].fields[0].mask_id',
  ],
  [
    'children of what is no hierarchy',
    mask([{ kind: 'reverse-linked-table', is_hierarchical: true }]),
    'SchemaInconsistent',
    'masks[0].fields[0].is_hierarchical',
  ],
]

for (const [what, masks, code, path] of wrongMasks) {
  test(`masks are refused: ${what}`, () => {
    const schema = normal(tables)
    const error = refusal(() => validateMasks(normalMasks(masks, schema), schema))
    assert.deepEqual([error.code, error.parameters.path], [code, path], error.message)
  })
}

test('masks are refused: children masks that lead back to themselves', () => {
  const schema = normal([{ name: 'term', is_hierarchical: true, columns: [text('x')] }])
  const masks: MaskApi[] = [
    {
      mask_id: 3,
      name: 'm',
      table_name_hint: 'term',
      is_preferred: true,
      fields: [{ kind: 'reverse-linked-table', is_hierarchical: true, mask_id: 3 }],
    },
  ]
  const error = refusal(() => validateMasks(normalMasks(masks, schema), schema))
  assert.deepEqual([error.code, error.parameters.path], ['SchemaLoopingReverse', 'masks[0]'])
})
