import assert from 'node:assert/strict'
import type { TestService } from '../service.ts'

/** Columns of a seeded table: a type name, or the type with its settings; `link:<table>` is a link. */
export type ColumnSeed = string | ({ type: string; on_delete?: string } & Record<string, unknown>)

export interface TableSeed {
  readonly columns: Record<string, ColumnSeed>
  /** Nested tables by short name: stored as `<owner>__<name>`. */
  readonly nested?: Record<string, TableSeed>
  readonly unique?: readonly (readonly string[])[]
  readonly uniqueInParent?: readonly string[]
  readonly bidirectional?: readonly string[]
  readonly flags?: Record<string, unknown>
}

interface WireField extends Record<string, unknown> {
  kind: string
}

export interface SeededModel {
  readonly schema: { tables: Record<string, unknown>[] } & Record<string, unknown>
  readonly masks: { masks: Record<string, unknown>[] } & Record<string, unknown>
}

/**
 * Builds the wire form of a datamodel with one mask per object type (`<type>__standard`) that has every field
 * editable. `shape` may change a mask's fields; `extra` masks are built the same way.
 */
export function defineModel(
  seeds: Record<string, TableSeed>,
  masks: Record<
    string,
    { table: string; shape: (field: WireField, name: string) => WireField | null; settings?: object }
  > = {},
): SeededModel {
  const tableIds = new Map<string, number>()
  const columnIds = new Map<string, number>()
  const flat: { name: string; owner: string | null; seed: TableSeed }[] = []
  const visit = (name: string, seed: TableSeed, owner: string | null): void => {
    tableIds.set(name, tableIds.size + 1)
    flat.push({ name, owner, seed })
    for (const column of Object.keys(seed.columns)) columnIds.set(`${name}.${column}`, columnIds.size + 1)
    for (const [short, nested] of Object.entries(seed.nested ?? {})) visit(`${name}__${short}`, nested, name)
  }
  for (const [name, seed] of Object.entries(seeds)) visit(name, seed, null)
  const column = (table: string, name: string) => columnIds.get(`${table}.${name}`) as number

  const tables = flat.map(({ name, owner, seed }) => {
    const foreignKeys: object[] = []
    const columns: object[] = Object.entries(seed.columns).map(([columnName, spec]) => {
      const { type, on_delete, ...settings } = typeof spec === 'string' ? { type: spec } : spec
      const target = type.startsWith('link:') ? type.slice(5) : null
      if (target) {
        foreignKeys.push({
          name: `${name}__${columnName}_fkey`,
          on_delete: on_delete ?? 'restrict',
          on_update: 'cascade',
          columns: [{ column_id: column(name, columnName) }],
          referenced_table: { table_id: tableIds.get(target), columns: [{ auto_column_primary_key: true }] },
        })
      }
      return {
        kind: 'column',
        name: columnName,
        type: target ? 'link' : type,
        column_id: column(name, columnName),
        ...settings,
      }
    })
    for (const short of Object.keys(seed.nested ?? {})) {
      columns.push({ kind: 'link', other_table_id: tableIds.get(`${name}__${short}`) })
    }
    for (const other of reversesOf(name, flat)) {
      columns.push({
        kind: 'reverse_link',
        other_table_id: tableIds.get(other.table),
        other_column_id: column(other.table, other.column),
      })
    }
    const inside = (names: readonly string[]) => names.map((n) => ({ column_id: column(name, n) }))
    return {
      name,
      table_id: tableIds.get(name),
      ...(owner ? { owned_by: { other_table_id: tableIds.get(owner) } } : { in_main_search: true }),
      ...seed.flags,
      columns,
      foreign_keys: foreignKeys,
      unique_keys: [
        ...(seed.unique ?? []).map((names) => ({ name: `${name}__${names.join('_')}_unique`, columns: inside(names) })),
        ...(seed.uniqueInParent
          ? [
              {
                name: `${name}__in_parent`,
                columns: [
                  { [owner ? 'auto_column_uplink' : 'auto_column_parent']: true },
                  ...inside(seed.uniqueInParent),
                ],
              },
            ]
          : []),
      ],
      bidirectional: (seed.bidirectional ?? []).map((n) => ({
        columns: [...(owner ? [{ auto_column_uplink: true }] : []), { column_id: column(name, n) }],
      })),
    }
  })

  const fieldsOf = (table: string, shape: (field: WireField, name: string) => WireField | null): WireField[] => {
    const entry = flat.find((candidate) => candidate.name === table)
    if (!entry) throw new Error(`no table ${table}`)
    const fields: WireField[] = []
    const add = (field: WireField, name: string) => {
      const shaped = shape(field, name)
      if (shaped) fields.push(shaped)
    }
    const common = {
      edit: { mode: 'edit' },
      output: { detail: true, text: true, table: true },
      search: { fulltext: true, expert: true, facet: true, nested: true },
    }
    for (const [index, [name, spec]] of Object.entries(entry.seed.columns).entries()) {
      const type = typeof spec === 'string' ? spec : spec.type
      const standard = index === 0 && !entry.owner ? { standard: { order: 1, format: 'comma' } } : {}
      add(
        {
          kind: type.startsWith('link:') ? 'link' : 'field',
          column_id: column(table, name),
          ...common,
          output: { ...common.output, ...standard },
        },
        `${table}.${name}`,
      )
    }
    for (const short of Object.keys(entry.seed.nested ?? {})) {
      const nested = `${table}__${short}`
      add(
        {
          kind: 'linked-table',
          other_table_id: tableIds.get(nested),
          ...common,
          mask: { fields: fieldsOf(nested, shape) },
        },
        nested,
      )
    }
    for (const other of reversesOf(table, flat)) {
      add(
        {
          kind: 'reverse-linked-table',
          other_table_id: tableIds.get(other.table),
          other_column_id: column(other.table, other.column),
          ...common,
          mask: { fields: fieldsOf(other.table, shape) },
        },
        `${other.table}:${other.column}`,
      )
    }
    return fields
  }
  const keep = (field: WireField) => field
  const wanted = [
    ...Object.keys(seeds).map((table) => ({
      name: `${table}__standard`,
      table,
      shape: keep,
      preferred: true,
      settings: {},
    })),
    ...Object.entries(masks).map(([name, mask]) => ({ name, preferred: false, settings: {}, ...mask })),
  ]
  return {
    schema: { version: 1, type: 'user', tables },
    masks: {
      type: 'user',
      version: 1,
      masks: wanted.map((mask, index) => ({
        mask_id: index + 1,
        name: mask.name,
        table_id: tableIds.get(mask.table),
        is_preferred: mask.preferred,
        require_comment: 'never',
        fields: fieldsOf(mask.table, mask.shape),
        ...mask.settings,
      })),
    },
  }
}

function reversesOf(name: string, flat: readonly { name: string; seed: TableSeed }[]) {
  return flat.flatMap((entry) =>
    Object.entries(entry.seed.columns).flatMap(([column, spec]) =>
      typeof spec !== 'string' && spec.type === `link:${name}` && spec.reverse_edit
        ? [{ table: entry.name, column }]
        : [],
    ),
  )
}

/** Puts a model into HEAD and commits it, as root. Versions are taken from what is stored. */
export async function commitModel(svc: Pick<TestService, 'as'>, model: SeededModel): Promise<void> {
  const root = svc.as('root')
  const head = await root.get('/schema/user/HEAD')
  assert.equal(head.status, 200, JSON.stringify(head.body))
  const overwrite = { overwrite: 1 }
  const schema = await root.post('/schema/user/HEAD', { ...model.schema, version: head.body.version }, overwrite)
  assert.equal(schema.status, 200, JSON.stringify(schema.body))
  const masks = await root.post('/mask/HEAD', { ...model.masks, version: head.body.version }, overwrite)
  assert.equal(masks.status, 200, JSON.stringify(masks.body))
  const commit = await root.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
  assert.equal(commit.status, 200, JSON.stringify(commit.body))
}

/** The id of a pool that objects can lie in: the standard pool that every instance has. */
export async function standardPool(svc: Pick<TestService, 'as'>): Promise<number> {
  const pools = await svc.as('root').get('/pool')
  const pool = pools.body.find((entry: { pool: { reference?: string } }) => entry.pool.reference === 'system:standard')
  assert.ok(pool, `no standard pool in ${JSON.stringify(pools.body)}`)
  return pool.pool._id
}
