import assert from 'node:assert/strict'
import { compileModel } from '../../src/datamodel/compile/model.ts'
import type { Model } from '../../src/datamodel/model.ts'
import { normalizeMasks } from '../../src/datamodel/normalize/masks.ts'
import { normalizeSchema } from '../../src/datamodel/normalize/schema.ts'
import type { LocaApi, MaskApi, MaskSchemaApi, SchemaApi, SchemaTableApi } from '../../src/datamodel/schema.ts'
import { emptySnapshot } from '../../src/datamodel/store.ts'
import { validateMasks } from '../../src/datamodel/validate/masks.ts'
import { validateSchema } from '../../src/datamodel/validate/schema.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { Client } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** A posted snapshot in normalised form, as version 1. */
export function normal(tables: SchemaTableApi[], head: SchemaApi = emptySnapshot().schema): SchemaApi {
  return normalizeSchema({ version: 1, tables }, { head, version: 1, basedOnVersion: 0 })
}

export function normalMasks(masks: MaskApi[], schema: SchemaApi): MaskSchemaApi {
  return normalizeMasks({ masks }, { head: emptySnapshot().masks, schema, version: 1 })
}

/** The model of tables and masks: normalised, validated, compiled. */
export function modelOf(tables: SchemaTableApi[], masks: MaskApi[] = [], l10n: LocaApi = {}): Model {
  const schema = normal(tables)
  validateSchema(schema)
  const normalised = normalMasks(masks, schema)
  validateMasks(normalised, schema)
  return compileModel({ version: 1, committedAt: null, schema, masks: normalised, l10n })
}

/** The error of what must not be accepted. */
export function refusal(action: () => unknown): AppError {
  try {
    action()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw assert.fail('it was accepted')
}

/** Puts tables (and masks) into the working copy and commits them. */
export async function commitModel(
  root: Client,
  tables: readonly object[],
  masks: readonly object[] | null = null,
  query: Record<string, string> = {},
): Promise<void> {
  const { version } = (await root.get('/schema/user/HEAD')).body
  const saved = await root.post('/schema/user/HEAD', { version, tables })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  if (masks) {
    const answer = await root.post('/mask/HEAD', { masks })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const committed = await root.post('/schema/commit', undefined, query)
  assert.equal(committed.status, 200, JSON.stringify(committed.body))
}

/** A client of a new user with these system rights. */
export async function userWith(svc: TestService, login: string, rights: Record<string, object>): Promise<Client> {
  const created = await svc
    .as('root')
    .post('/user', [{ _basetype: 'user', user: { login, reference: login }, _password: login, _system_rights: rights }])
  assert.equal(created.status, 200, JSON.stringify(created.body))
  return svc.as(login)
}

/** Columns of every type. */
export const everyType: SchemaTableApi[] = [
  { name: 'place', is_hierarchical: true, columns: [{ name: 'name', type: 'text_l10n_oneline' }] },
  {
    name: 'thing',
    pool_link: true,
    has_tags: true,
    in_main_search: true,
    columns: [
      { name: 'a_text', type: 'text' },
      { name: 'a_oneline', type: 'text_oneline', length_max: 100 },
      { name: 'a_string', type: 'string', check_regexp: '^[A-Z]+-\\d+$', not_null: true },
      { name: 'an_l10n', type: 'text_l10n' },
      { name: 'an_l10n_oneline', type: 'text_l10n_oneline' },
      { name: 'a_number', type: 'number', check: 'value >= 0', check_range_upper: 1000 },
      { name: 'an_amount', type: 'integer.2' },
      { name: 'a_double', type: 'double' },
      { name: 'a_flag', type: 'boolean' },
      { name: 'a_date', type: 'date', check_range_lower: '1500' },
      { name: 'a_datetime', type: 'datetime' },
      { name: 'a_range', type: 'daterange', check_range_not_empty: true },
      { name: 'a_place', type: 'geo_json' },
      { name: 'a_file', type: 'eas' },
      { name: 'some_files', type: 'files' },
      { name: 'a_gnd', type: 'custom:base.custom-data-type-gnd.gnd', custom_settings: { add: 'all' } },
      { name: 'where_it_is', type: 'link', other_table_name_hint: 'place' },
    ],
    unique_keys: [{ columns: [{ column_name_hint: 'a_string' }] }],
  },
  {
    name: 'thing__part',
    owned_by: { other_table_name_hint: 'thing' },
    columns: [
      { name: 'role', type: 'string' },
      { name: 'from_place', type: 'link', other_table_name_hint: 'place' },
    ],
    unique_keys: [{ columns: [{ column_name_hint: 'role' }, { auto_column_uplink: true }] }],
  },
  {
    name: 'thing__part__note',
    owned_by: { other_table_name_hint: 'thing__part' },
    columns: [{ name: 'text', type: 'text' }],
  },
  {
    name: 'loan',
    columns: [
      { name: 'number', type: 'string' },
      { name: 'thing', type: 'link', other_table_name_hint: 'thing', reverse_edit: true },
    ],
  },
]
