import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** The record of a datamodel snapshot: every field with a value of its own, as it is sent and as it is answered. */
let svc: TestService
let root: Client
before(async () => {
  svc = await startService()
  root = svc.as('root')
})
after(() => svc[Symbol.asyncDispose]())

const flags = { not_null: false, reverse_edit: false, is_hierarchical: false, bidirectional_reverse: false }
const ranges = {
  check_range_lower: null,
  check_range_upper: null,
  check_range_lower_open: false,
  check_range_upper_open: false,
  check_range_not_empty: false,
}
const column = (column_id: number, name: string, type: string, more: object = {}) => ({
  kind: 'column',
  name,
  type,
  column_id,
  ...flags,
  ...ranges,
  custom_settings: {},
  name_localized: {},
  ...more,
})
/** Where a nested table or a reverse link stands among the columns. */
const entry = (kind: string, column_id: number, more: object) => ({
  kind,
  column_id,
  ...flags,
  custom_settings: {},
  name_localized: {},
  ...more,
})
const table = (table_id: number, name: string, more: object) => ({
  name,
  table_id,
  comment: '',
  pool_link: false,
  acl_table: false,
  has_tags: false,
  is_hierarchical: false,
  polyhierarchical: false,
  in_main_search: false,
  foreign_keys: [],
  unique_keys: [],
  bidirectional: [],
  ...more,
})
const foreignKey = (name: string, of: [number, string], to: [number, string], more: object = {}) => ({
  name,
  on_delete: 'restrict',
  on_update: 'cascade',
  columns: [{ column_id: of[0], column_name_hint: of[1] }],
  referenced_table: { table_id: to[0], name_hint: to[1], columns: [{ auto_column_primary_key: true }] },
  ...more,
})

/** In the form that is stored, so that nothing is left for the service to complete. */
const tables = [
  table(1, 'place', {
    comment: 'where things are',
    is_hierarchical: true,
    columns: [
      column(1, 'name', 'text_l10n_oneline', { name_localized: { 'de-DE': 'Name', 'en-US': 'Name of the place' } }),
      column(2, 'code', 'string'),
      entry('reverse_link', 3, { is_hierarchical: true }),
    ],
    unique_keys: [
      { name: 'code_below', columns: [{ auto_column_parent: true }, { column_id: 2, column_name_hint: 'code' }] },
    ],
  }),
  table(2, 'topic', { polyhierarchical: true, columns: [column(4, 'name', 'text_oneline')] }),
  table(3, 'thing', {
    pool_link: true,
    acl_table: true,
    has_tags: true,
    in_main_search: true,
    columns: [
      column(5, 'number', 'string', {
        not_null: true,
        check_regexp: '^[a-z]+-\\d+$',
        check_regexp_flags: 'i',
        length_min: 3,
        length_max: 20,
      }),
      column(6, 'weight', 'number', {
        check: 'value <> 13',
        check_range_lower: 0,
        check_range_upper: 1000,
        check_range_lower_open: true,
        check_range_upper_open: true,
      }),
      column(7, 'shown', 'daterange', { check_range_not_empty: true }),
      column(8, 'place', 'link'),
      column(9, 'copy_of', 'link'),
      column(17, 'copied_by', 'link', { bidirectional_reverse: true }),
      column(10, 'term', 'custom:base.custom-data-type-gnd.gnd', { custom_settings: { add: 'all', size: '3' } }),
      // With settings, which show that these are the ones that were sent: without, the service makes them anew.
      entry('link', 11, {
        other_table_id: 4,
        other_table_name_hint: 'thing__part',
        custom_settings: { open: 'true' },
      }),
      entry('reverse_link', 12, {
        custom_settings: { open: 'false' },
        other_table_id: 5,
        other_table_name_hint: 'loan',
        other_column_id: 16,
        other_column_name_hint: 'thing',
      }),
    ],
    foreign_keys: [
      foreignKey('stands_in', [8, 'place'], [1, 'place'], { on_delete: 'setnull', on_update: 'restrict' }),
      foreignKey('copies', [9, 'copy_of'], [3, 'thing']),
      foreignKey('copied', [17, 'copied_by'], [3, 'thing']),
    ],
    unique_keys: [
      { name: 'number_key', group: 'inventory', columns: [{ column_id: 5, column_name_hint: 'number' }] },
      { name: 'weight_key', group: 'inventory', columns: [{ column_id: 6, column_name_hint: 'weight' }] },
    ],
    bidirectional: [
      {
        columns: [
          { column_id: 9, column_name_hint: 'copy_of' },
          { column_id: 17, column_name_hint: 'copied_by' },
        ],
      },
    ],
  }),
  table(4, 'thing__part', {
    owned_by: { other_table_id: 3, other_table_name_hint: 'thing' },
    columns: [column(13, 'role', 'string'), column(14, 'of', 'link')],
    foreign_keys: [foreignKey('part_of', [14, 'of'], [3, 'thing'], { on_delete: 'cascade' })],
    unique_keys: [
      { name: 'role_once', columns: [{ auto_column_uplink: true }, { column_id: 13, column_name_hint: 'role' }] },
    ],
    bidirectional: [{ columns: [{ auto_column_uplink: true }, { column_id: 14, column_name_hint: 'of' }] }],
  }),
  table(5, 'loan', {
    columns: [column(15, 'borrower', 'text_oneline'), column(16, 'thing', 'link', { reverse_edit: true })],
    foreign_keys: [foreignKey('lends', [16, 'thing'], [3, 'thing'], { on_delete: 'cascade' })],
  }),
]

async function post(snapshot: object): Promise<Json> {
  const answer = await root.post('/schema/user/HEAD', snapshot)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const get = async (version: number | string): Promise<Json> => (await root.get(`/schema/user/${version}`)).body

test('DM-008 DM-009 DM-010 DM-011 DM-012 DM-013 DM-014 DM-015 DM-016 DM-017 DM-018 DM-019 DM-020 DM-021 tables with every field are stored as they are sent', async () => {
  const saved = await post({ version: 1, tables })
  assert.deepEqual(saved.tables, tables)
  assert.deepEqual((await get('HEAD')).tables, tables)
  assert.equal((await root.post('/schema/commit')).status, 200)
  for (const version of ['CURRENT', 1]) assert.deepEqual((await get(version)).tables, tables)
})

test('DM-001 DM-002 version is there and required; on HEAD it is the one of the next commit', async () => {
  const { status, body } = await root.post('/schema/user/HEAD', { tables })
  assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
  for (const version of [null, '2', 2.5, 7]) {
    const wrong = await root.post('/schema/user/HEAD', { version, tables })
    assert.equal(wrong.status, 400, JSON.stringify(version))
  }
  for (const next of [2, 3]) {
    assert.equal((await get('HEAD')).version, next)
    assert.equal((await post({ version: next, tables })).version, next)
    assert.equal((await root.post('/schema/commit')).status, 200)
    for (const version of ['CURRENT', next]) assert.equal((await get(version)).version, next)
  }
  assert.equal((await get('HEAD')).version, 4)
})

test('DM-004 based_on_base_version is the upstream baseline that a snapshot says', async () => {
  assert.equal((await get('HEAD')).based_on_base_version, 0, 'this model has no upstream')
  const { version } = await get('HEAD')
  const baseline = 5_000_000_000
  assert.equal((await post({ version, tables, based_on_base_version: baseline })).based_on_base_version, baseline)
  assert.equal((await post({ version, tables })).based_on_base_version, baseline, 'what is not said stays')
  assert.equal((await root.post('/schema/commit')).status, 200)
  for (const each of ['CURRENT', version, 'HEAD']) assert.equal((await get(each)).based_on_base_version, baseline)
  assert.equal((await get(1)).based_on_base_version, 0)
  const refused = await root.post('/schema/user/HEAD', { version: version + 1, tables, based_on_base_version: 'x' })
  assert.equal(refused.status, 400)
})

test('DM-006 type is user, and nothing else', async () => {
  const { version } = await get('HEAD')
  for (const type of ['user', undefined, null]) assert.equal((await post({ version, tables, type })).type, 'user')
  for (const type of ['base', '', 7]) {
    const refused = await root.post('/schema/user/HEAD', { version, tables, type })
    assert.equal(refused.status, 400, JSON.stringify(type))
  }
  for (const each of ['HEAD', 'CURRENT', 1]) assert.equal((await get(each)).type, 'user')
})

test('DM-005 max_table_id and max_column_id are the highest ids used; what is new gets ids above them', async () => {
  const { version } = await get('HEAD')
  const name = (text: string) => ({ name: text, type: 'text' })
  const more = await post({ version, tables: [...tables, { name: 'new', columns: [name('a'), name('b')] }] })
  assert.deepEqual([more.max_table_id, more.max_column_id], [6, 19])
  const added = more.tables[5]
  assert.deepEqual([added.table_id, added.columns.map((each: Json) => each.column_id)], [6, [18, 19]])
  // Ids that went are not given again.
  const less = await post({ version, tables })
  assert.deepEqual([less.max_table_id, less.max_column_id], [6, 19])
  const again = await post({ version, tables: [...tables, { name: 'other', columns: [name('c')] }] })
  assert.deepEqual([again.tables[5].table_id, again.tables[5].columns[0].column_id], [7, 20])
  assert.deepEqual([again.max_table_id, again.max_column_id], [7, 20])
  assert.equal((await root.post('/schema/commit')).status, 200)
  const { max_table_id, max_column_id } = await get('CURRENT')
  assert.deepEqual([max_table_id, max_column_id], [7, 20])
})

test('the highest ids are those of the snapshot where it says higher ones', async () => {
  const { version } = await get('HEAD')
  const far = { name: 'far', columns: [{ name: 'd', type: 'text' }] }
  const { tables: stored } = await post({ version, tables: [...tables, far], max_table_id: 40, max_column_id: 90 })
  assert.deepEqual([stored[5].table_id, stored[5].columns[0].column_id], [41, 91])
})

/** With one of id and name wherever something refers to a table or a column. */
function said(by: 'id' | 'name', document: Json): Json {
  if (Array.isArray(document)) return document.map((each) => said(by, each))
  if (typeof document !== 'object' || document === null) return document
  const pairs = [
    ['table_id', 'name_hint'],
    ['table_id', 'table_name_hint'],
    ['column_id', 'column_name_hint'],
    ['other_table_id', 'other_table_name_hint'],
    ['other_column_id', 'other_column_name_hint'],
  ] as const
  const without = pairs.flatMap(([id, name]) => (id in document && name in document ? [by === 'id' ? name : id] : []))
  const kept = Object.entries(document).filter(([key]) => !(without as string[]).includes(key))
  return Object.fromEntries(kept.map(([key, value]) => [key, said(by, value)]))
}

for (const by of ['id', 'name'] as const) {
  test(`tables and columns that are referred to by ${by} alone are the same`, async () => {
    const { version } = await get('HEAD')
    assert.deepEqual((await post({ version, tables: said(by, tables) })).tables, tables)
  })
}

test('a foreign key leads to the primary key, and nowhere else', async () => {
  const { version } = await get('HEAD')
  const key = { auto_column_primary_key: true }
  for (const columns of [[], [{}], [{ auto_column_primary_key: false }], [{ column_id: 2 }], [key, key]]) {
    const changed = structuredClone(tables) as Json[]
    changed[2].foreign_keys[0].referenced_table.columns = columns
    const { status, body } = await root.post('/schema/user/HEAD', { version, tables: changed })
    assert.deepEqual(
      [status, body.code, body.parameters.path],
      [400, 'SchemaInconsistent', 'tables[2].foreign_keys[0].referenced_table.columns'],
      JSON.stringify(columns),
    )
  }
})

const masks = [
  {
    name: 'loan__full',
    mask_id: 11,
    table_id: 5,
    table_name_hint: 'loan',
    is_preferred: true,
    fields: [{ kind: 'field', column_id: 15, column_name_hint: 'borrower' }],
  },
  {
    name: 'place__full',
    mask_id: 12,
    table_id: 1,
    table_name_hint: 'place',
    is_preferred: true,
    system_fields: {
      parent: { inline: 'standard', mask_id: 12, output: { mode: 'show' }, edit: { mode: 'off' } },
      object_id: { output: { mode: 'off' } },
    },
    fields: [
      { kind: 'field', column_id: 1, column_name_hint: 'name' },
      {
        kind: 'reverse-linked-table',
        is_hierarchical: true,
        mask: { fields: [{ kind: 'field', column_id: 2, column_name_hint: 'code' }] },
      },
    ],
  },
  {
    name: 'thing__full',
    mask_id: 13,
    table_id: 3,
    table_name_hint: 'thing',
    is_preferred: true,
    require_comment: 'never',
    comment: 'for editors',
    custom_settings: { reverse_pool_changed_mode: 'reverse_pool_changed_never', color: 'red' },
    fields: [
      {
        kind: 'field',
        column_id: 5,
        column_name_hint: 'number',
        inline: 'standard',
        custom_settings: { required: 'true' },
      },
      { kind: 'splitter', type: 'title' },
      { kind: 'link', column_id: 8, column_name_hint: 'place', other_table_id: 1, other_table_name_hint: 'place' },
      {
        kind: 'linked-table',
        other_table_id: 4,
        other_table_name_hint: 'thing__part',
        mask: { fields: [{ kind: 'field', column_id: 13, column_name_hint: 'role' }] },
      },
      {
        kind: 'reverse-linked-table',
        other_table_id: 5,
        other_table_name_hint: 'loan',
        other_column_id: 16,
        other_column_name_hint: 'thing',
        mask_id: 11,
      },
    ],
  },
]

test('masks with every field are stored as they are sent; references say id, name or both', async () => {
  const { version } = await get('HEAD')
  await post({ version, tables })
  const save = async (list: Json[], more: object = {}): Promise<Json> => {
    const answer = await root.post('/mask/HEAD', { version, masks: list, ...more })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  const stored = await save(masks)
  assert.partialDeepStrictEqual(stored.masks, masks)
  for (const by of ['id', 'name'] as const) assert.deepEqual((await save(said(by, masks))).masks, stored.masks, by)
  const more = { name: 'more', table_id: 5, fields: [{ kind: 'field', column_id: 15 }] }
  assert.equal((await save([...masks, more], { max_mask_id: 40 })).masks[3].mask_id, 41)
  const wrong = await root.post('/mask/HEAD', { version, masks, type: 'base' })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'ServerGeneric'])
})

test('format=long adds to all masks of a version what their fields refer to', async () => {
  const named = (document: Json) => document.masks[1].fields[0].full_name
  assert.equal(named((await root.get('/mask/HEAD')).body), undefined)
  assert.equal(named((await root.get('/mask/HEAD', { format: 'long' })).body), 'place.name')
})
