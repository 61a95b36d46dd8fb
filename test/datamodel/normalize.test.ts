import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileModel } from '../../src/datamodel/compile/model.ts'
import { normalizeMasks, pruneMasks } from '../../src/datamodel/normalize/masks.ts'
import { normalizeSchema } from '../../src/datamodel/normalize/schema.ts'
import type { SchemaTableApi } from '../../src/datamodel/schema.ts'
import { emptySnapshot } from '../../src/datamodel/store.ts'
import { validateMasks } from '../../src/datamodel/validate/masks.ts'
import { validateSchema } from '../../src/datamodel/validate/schema.ts'
import { AppError } from '../../src/platform/errors.ts'
import { everyType, normal, normalMasks } from './support.ts'

test('tables and columns without id get ids above the highest ever used', () => {
  const head = { ...emptySnapshot().schema, max_table_id: 40, max_column_id: 90 }
  const schema = normal([{ name: 'a', columns: [{ name: 'x', type: 'text' }] }], head)
  assert.equal(schema.tables[0]?.table_id, 41)
  assert.equal(schema.tables[0]?.columns?.[0]?.column_id, 91)
  assert.deepEqual([schema.max_table_id, schema.max_column_id], [41, 91])
  const higher = normal(
    [
      {
        name: 'a',
        table_id: 50,
        columns: [
          { name: 'x', type: 'text', column_id: 99 },
          { name: 'y', type: 'text' },
        ],
      },
    ],
    head,
  )
  assert.deepEqual([higher.max_table_id, higher.max_column_id], [50, 100])
})

test('a table without id is the one of that name in the working copy', () => {
  const head = normal([
    {
      name: 'a',
      columns: [
        { name: 'x', type: 'text' },
        { name: 'y', type: 'text' },
      ],
    },
  ])
  const schema = normal(
    [
      { name: 'new', columns: [] },
      {
        name: 'a',
        columns: [
          { name: 'y', type: 'text' },
          { name: 'z', type: 'text' },
        ],
      },
    ],
    head,
  )
  assert.deepEqual(
    schema.tables.map((table) => [table.name, table.table_id]),
    [
      ['new', 2],
      ['a', 1],
    ],
  )
  assert.deepEqual(
    schema.tables[1]?.columns?.map((column) => column.column_id),
    [2, 3],
  )
})

test('references by name get ids, and hints say the present names', () => {
  const schema = normal(everyType)
  const part = schema.tables.find((table) => table.name === 'thing__part')!
  assert.deepEqual(part.owned_by, { other_table_name_hint: 'thing', other_table_id: 2 })
  const renamed = schema.tables.map((table) => (table.name === 'place' ? { ...table, name: 'location' } : table))
  const again = normal(renamed, schema)
  assert.equal(again.tables[1]?.foreign_keys?.[0]?.referenced_table.name_hint, 'location')
  assert.equal(again.tables[0]?.table_id, 1)
})

test('entries of nested tables and reverse links are added once and keep their ids', () => {
  const schema = normal(everyType)
  const entries = schema.tables
    .find((table) => table.name === 'thing')
    ?.columns?.filter((column) => column.kind !== 'column')
  assert.deepEqual(
    entries?.map((column) => [column.kind, column.other_table_name_hint]),
    [
      ['link', 'thing__part'],
      ['reverse_link', 'loan'],
    ],
  )
  const without = schema.tables.map((table) => ({
    ...table,
    columns: table.columns?.filter((column) => column.kind === 'column') ?? [],
  }))
  assert.deepEqual(normal(without, schema), schema)
})

test('what followed from a removed column or table goes with it', () => {
  const schema = normal(everyType)
  const without = schema.tables
    .filter(({ name }) => name !== 'thing__part__note')
    .map((table) => ({
      ...table,
      columns: table.columns?.filter(({ name }) => name !== 'thing' && name !== 'where_it_is') ?? [],
    }))
  const smaller = normal(without, schema)
  validateSchema(smaller)
  const named = (name: string) => smaller.tables.find((table) => table.name === name)
  assert.deepEqual(
    named('thing')?.columns?.filter(({ kind }) => kind === 'reverse_link'),
    [],
  )
  assert.deepEqual(named('thing')?.foreign_keys, [])
  assert.deepEqual(
    named('thing__part')?.columns?.filter(({ kind }) => kind === 'link'),
    [],
  )
  const ordinary = schema.tables.map((table) => ({
    ...table,
    columns: table.columns?.map((column) => ({ ...column, reverse_edit: false })) ?? [],
  }))
  assert.ok(
    !normal(ordinary, schema).tables.some(({ columns }) => columns?.some(({ kind }) => kind === 'reverse_link')),
  )
})

test('on_delete is spelt one way', () => {
  const [table] = normal([
    {
      name: 'a',
      columns: [{ name: 'b', type: 'link' }],
      foreign_keys: [
        { columns: [{ column_name_hint: 'b' }], on_delete: 'SET NULL', referenced_table: { name_hint: 'a' } },
      ],
    },
  ]).tables
  assert.equal(table?.foreign_keys?.[0]?.on_delete, 'setnull')
  assert.equal(table?.foreign_keys?.[0]?.on_update, 'cascade')
})

test('masks lose what the snapshot has no more, and only that', () => {
  const schema = normal(everyType)
  const masks = normalMasks(
    [
      {
        name: 'm',
        table_name_hint: 'thing',
        is_preferred: true,
        fields: [
          { kind: 'field', column_name_hint: 'a_text' },
          { kind: 'splitter' },
          {
            kind: 'linked-table',
            other_table_name_hint: 'thing__part',
            nested_sort: [{ field: 'role' }],
            mask: {
              fields: [
                { kind: 'field', column_name_hint: 'role' },
                { kind: 'link', column_name_hint: 'from_place' },
              ],
            },
          },
          {
            kind: 'reverse-linked-table',
            other_table_name_hint: 'loan',
            other_column_name_hint: 'thing',
            mask: { fields: [] },
          },
        ],
      },
      {
        name: 'n',
        table_name_hint: 'place',
        is_preferred: true,
        fields: [{ kind: 'field', column_name_hint: 'name', inheritance: { inherit: true } }],
      },
    ],
    schema,
  )
  const smaller = normal(
    schema.tables
      .filter((table) => table.name !== 'loan')
      .map((table) => ({
        ...table,
        is_hierarchical: false,
        columns: (table.columns ?? []).filter(
          (column) => column.name !== 'a_text' && column.name !== 'role' && column.kind !== 'reverse_link',
        ),
        unique_keys: [],
      })),
    schema,
  )
  validateSchema(smaller)
  const pruned = pruneMasks(masks, smaller)
  validateMasks(pruned, smaller)
  const [m, n] = pruned.masks
  assert.deepEqual(
    m?.fields?.map((field) => field.kind),
    ['splitter', 'linked-table'],
  )
  assert.deepEqual(
    m?.fields?.[1]?.mask?.fields?.map((field) => field.column_name_hint),
    ['from_place'],
  )
  assert.deepEqual(m?.fields?.[1]?.nested_sort, [])
  assert.equal(n?.fields?.[0]?.inheritance?.inherit, false)
})

const name = fc.constantFrom('a', 'b', 'c', 'a__n', 'd__n')
const columnSeed = fc.record(
  {
    name,
    type: fc.constantFrom('text', 'string', 'number', 'link', 'date', 'text_l10n', 'custom:x.y', 'eas', 'nonsense'),
    kind: fc.constantFrom('column', 'link', 'reverse_link'),
    column_id: fc.integer({ min: 0, max: 12 }),
    reverse_edit: fc.boolean(),
    not_null: fc.boolean(),
    other_table_name_hint: name,
    other_table_id: fc.integer({ min: 0, max: 6 }),
    other_column_name_hint: name,
    other_column_id: fc.integer({ min: 0, max: 12 }),
    is_hierarchical: fc.boolean(),
  },
  { requiredKeys: ['name', 'type'] },
)
const reference = fc.record(
  {
    column_name_hint: name,
    column_id: fc.integer({ min: 0, max: 12 }),
    auto_column_parent: fc.boolean(),
    auto_column_uplink: fc.boolean(),
  },
  { requiredKeys: [] },
)
const tableSeed: fc.Arbitrary<SchemaTableApi> = fc.record(
  {
    name,
    table_id: fc.integer({ min: 0, max: 6 }),
    owned_by: fc.record(
      { other_table_name_hint: name, other_table_id: fc.integer({ min: 0, max: 6 }) },
      { requiredKeys: [] },
    ),
    is_hierarchical: fc.boolean(),
    columns: fc.array(columnSeed, { maxLength: 5 }),
    foreign_keys: fc.array(
      fc.record({ columns: fc.array(reference, { maxLength: 2 }), referenced_table: fc.record({ name_hint: name }) }),
      { maxLength: 2 },
    ),
    unique_keys: fc.array(fc.record({ columns: fc.array(reference, { maxLength: 3 }) }), { maxLength: 2 }),
    bidirectional: fc.array(fc.record({ columns: fc.array(reference, { maxLength: 3 }) }), { maxLength: 1 }),
  },
  { requiredKeys: ['name'] },
)

test('what is wrong is refused by its place; what is right compiles, and normalising it again changes nothing', () => {
  let valid = 0
  fc.assert(
    fc.property(fc.array(tableSeed, { maxLength: 4 }), (tables) => {
      const once = normal(tables)
      try {
        validateSchema(once)
      } catch (error) {
        assert.ok(error instanceof AppError, String(error))
        assert.equal(typeof error.parameters.path, 'string')
        return
      }
      valid++
      assert.deepEqual(normalizeSchema(once, { head: once, version: 1, basedOnVersion: 0 }), once)
      const masks = normalizeMasks({ masks: [] }, { head: emptySnapshot().masks, schema: once, version: 1 })
      const model = compileModel({ version: 1, committedAt: null, schema: once, masks, l10n: {} })
      assert.equal(model.tablesById.size, once.tables.length)
    }),
    { numRuns: 4000 },
  )
  assert.ok(valid > 50, `only ${valid} were valid`)
})
