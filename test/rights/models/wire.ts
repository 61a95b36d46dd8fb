import type { Column, Field, Mask, ObjectType, Table } from './model.ts'
import type { RawFilter } from './raw.ts'
import type { Grant, MaskRef, Row, Thing, Transition, Who, World } from './world.ts'

/** A world as the service takes it. */

/** Ids that the service gave, by the numbers of the world. */
export interface Names {
  readonly users: readonly number[]
  readonly groups: readonly number[]
  readonly tags: readonly number[]
  readonly pools: readonly number[]
  /** System object ids of the things, ids within their types, versions; absent while they are not saved. */
  readonly ids: readonly number[]
  readonly objectIds: readonly number[]
  readonly versions: readonly number[]
  readonly transitions: readonly number[]
  /** Of grants on objects that are made from a preset. */
  readonly presets: ReadonlyMap<Grant, number>
  /** The last event before. */
  readonly since: number
}

export function wireTables(types: readonly ObjectType[]): object[] {
  return types.flatMap((type) => tablesOf(type.table).map((table) => wireTable(table, type, types)))
}

export const tablesOf = (table: Table): Table[] => [table, ...table.nested.flatMap(tablesOf)]

function wireTable(table: Table, type: ObjectType, types: readonly ObjectType[]): object {
  const below = table.owner
    ? []
    : types.flatMap((other) => other.table.columns.filter((column) => column.reverse && column.target === type.index))
  const children = !table.owner && type.hierarchy !== 'none' ? [{ kind: 'reverse_link', is_hierarchical: true }] : []
  return {
    name: table.name,
    table_id: table.id,
    ...(table.owner
      ? { owned_by: { other_table_id: table.owner.id } }
      : {
          in_main_search: type.main,
          pool_link: type.pool,
          has_tags: type.tags,
          acl_table: type.acl,
          is_hierarchical: type.hierarchy === 'one',
          polyhierarchical: type.hierarchy === 'many',
        }),
    columns: [
      ...table.columns.map(({ name, kind, id, reverse }) => ({
        kind: 'column',
        name,
        type: kind,
        column_id: id,
        ...(reverse ? { reverse_edit: true } : {}),
      })),
      ...table.nested.map(({ id }) => ({ kind: 'link', other_table_id: id })),
      ...below.map((column) => ({
        kind: 'reverse_link',
        other_table_id: column.table.id,
        other_column_id: column.id,
      })),
      ...children,
    ],
    foreign_keys: table.columns.flatMap(({ id, name, target, onDelete }) =>
      target === null
        ? []
        : [
            {
              name: `${table.name}__${name}_fkey`,
              on_delete: onDelete,
              on_update: 'cascade',
              columns: [{ column_id: id }],
              referenced_table: {
                table_id: types[target]?.table.id,
                columns: [{ auto_column_primary_key: true }],
              },
            },
          ],
    ),
    unique_keys: table.columns.flatMap(({ id, unique }) => (unique ? [{ columns: [{ column_id: id }] }] : [])),
    bidirectional: table.pairs
      ? [{ columns: [{ auto_column_uplink: true }, { column_id: table.columns[0]?.id }] }]
      : [],
  }
}

export function wireMasks(types: readonly ObjectType[]): object[] {
  return types.flatMap((type) =>
    type.masks.map((mask) => ({
      mask_id: mask.id,
      name: mask.name,
      table_id: type.table.id,
      is_preferred: mask === type.preferred,
      require_comment: 'never',
      fields: mask.fields.map((field) => wireField(field, types)),
      system_fields: Object.fromEntries(
        [...mask.without].map((field) => [field, { output: { mode: 'off' }, edit: { mode: 'off' } }]),
      ),
    })),
  )
}

function wireField(field: Field, types: readonly ObjectType[]): object {
  const common = {
    edit: { mode: field.mode },
    search: { fulltext: field.fulltext, facet: field.facet },
    ...(field.inherit ? { inheritance: { inherit: true } } : {}),
  }
  const masked = (fields: readonly Field[]) => ({ fields: fields.map((each) => wireField(each, types)) })
  switch (field.is) {
    case 'column': {
      const { column, standard, linkMask } = field
      const target = column.target === null ? undefined : types[column.target]
      const mask = linkMask === null ? null : linkMask === 'same' ? 'SAME' : (target?.masks[linkMask]?.id ?? null)
      return {
        kind: column.kind === 'link' ? 'link' : 'field',
        column_id: column.id,
        ...common,
        output: standard
          ? { standard: { order: standard.slot, format: standard.format, stop_if_set: standard.stop } }
          : {},
        ...(mask === null ? {} : { mask_id: mask }),
      }
    }
    case 'nested':
      return {
        kind: 'linked-table',
        other_table_id: field.table.id,
        ...common,
        output: { standard: { order: 1, format: field.format, format_inner: field.formatInner } },
        nested_standard_first_only: field.firstOnly,
        mask: masked(field.fields),
      }
    case 'below': {
      const type = types[field.type] as ObjectType
      return {
        kind: 'reverse-linked-table',
        ...(field.column
          ? { other_table_id: field.column.table.id, other_column_id: field.column.id }
          : { is_hierarchical: true }),
        ...common,
        ...(typeof field.shows === 'number' ? { mask_id: type.masks[field.shows]?.id } : { mask: masked(field.shows) }),
      }
    }
  }
}

const windows = {
  always: null,
  past: { from: '2001-01-01T00:00:00Z', to: '2002-01-01T00:00:00Z' },
  future: { from: '2901-01-01T00:00:00Z' },
  now: { from: '2001-01-01T00:00:00Z', to: '2901-01-01T00:00:00Z' },
}

type People = Pick<Names, 'users' | 'groups' | 'tags'>

export function principal(who: Who, { users, groups }: Pick<Names, 'users' | 'groups'>): object {
  if (who === 'owner') return { _basetype: 'user', _owner: true }
  if (who === 'contact') return { _basetype: 'user', _pool_contact: true }
  if (who === 'all') return { _basetype: 'group', group: { 'lookup:_id': { reference: 'system::all' } } }
  const n = Number(who.slice(1))
  if (who.startsWith('u')) return { _basetype: 'user', user: { _id: users[n] } }
  return { _basetype: 'group', group: { _id: groups[n] } }
}

export function wireGrant(
  grant: Grant,
  types: readonly ObjectType[],
  names: People,
  on: 'pool' | 'type' | 'object' | 'collection',
) {
  const limits = (list: Grant['masks']) =>
    Object.fromEntries(
      list.flatMap((refs, index) => {
        const type = types[index] as ObjectType
        return refs === null ? [] : [[type.table.id, refs.map((ref) => refOf(ref, type))]]
      }),
    )
  const masks = { mask_ids: limits(grant.masks) }
  const limited = grant.types === null ? {} : { objecttype_ids: grant.types.map((index) => types[index]?.table.id) }
  const masked = /^(read|write|create)$/
  const given = grant.rights.filter((right) => on === 'pool' || on === 'type' || right !== 'create')
  const passed = grant.grantable && (on === 'pool' || on === 'type') ? { _grantable: true } : {}
  return {
    who: principal(grant.who, names),
    rights: {
      ...Object.fromEntries(
        given.map((right) => [right, { ...limited, ...passed, ...(masked.test(right) ? masks : {}) }]),
      ),
      ...(grant.moreMasks ? { mask: { mask_ids: limits(grant.moreMasks) } } : {}),
      ...(on === 'pool' && grant.bagRead ? { bag_read: {} } : {}),
    },
    ...(grant.filter ? { tagfilter: wireFilter(grant.filter, names.tags) } : {}),
    ...(windows[grant.when] ? { when: windows[grant.when] } : {}),
    ...(grant.active ? {} : { active: false }),
    ...((on === 'pool' || on === 'collection') && grant.sticky ? { sticky: true } : {}),
  }
}

/** A grant on an object; what one that is made from a preset gives is said by the preset alone. */
function wireOwnGrant(grant: Grant, { types }: World, names: Names): object {
  const whole = wireGrant(grant, types, names, 'object')
  const preset = names.presets.get(grant)
  if (preset === undefined) return whole
  const { tagfilter: _, ...given } = { tagfilter: undefined, ...whole }
  return { ...given, rights: {}, _right_preset: preset }
}

const refOf = (ref: MaskRef, type: ObjectType) => (ref === 'standard' ? 'standard' : type.masks[ref]?.id)

export function wireFilter(filter: RawFilter, tags: readonly number[]): object {
  return Object.fromEntries(
    Object.entries(filter).map(([slot, list]) => [slot, (list as number[]).map((tag) => tags[tag])]),
  )
}

export function wireTransition({ who, not, types, filter, sticky }: Transition, world: World, names: Names): object {
  return {
    type: 'process',
    trigger: 'manual',
    who: who.map((each) => principal(each, names)),
    who_not: not,
    objecttype_ids: types.map((index) => world.types[index]?.table.id),
    ...(filter ? { 'tagfilter:before': wireFilter(filter, names.tags) } : {}),
    sticky,
    actions: [],
  }
}

/** The payload of a save as root; links to what is not there yet are left out. */
export function wireThing(thing: Thing, world: World, names: Names): object {
  const { type, index } = thing
  const known = names.objectIds[index] !== undefined
  return {
    _objecttype: type.name,
    _mask: '_all_fields',
    ...(type.tags ? { _tags: thing.tags.map((tag) => ({ _id: names.tags[tag] })) } : {}),
    ...(thing.owner ? { _owner: principal(thing.owner, names) } : {}),
    ...(thing.private ? { _private_acl: true } : {}),
    ...(type.acl ? { _acl: thing.grants.map((grant) => wireOwnGrant(grant, world, names)) } : {}),
    [type.name]: {
      ...(known ? { _id: names.objectIds[index], _version: names.versions[index] } : {}),
      ...(thing.pool === null ? {} : { _pool: { pool: { _id: names.pools[thing.pool] } } }),
      ...wireRow(thing, world, names),
      ...wireParents(thing, names),
    },
  }
}

function wireParents({ type, parents }: Thing, { ids }: Names): object {
  const known = parents.filter((at) => ids[at] !== undefined)
  if (type.hierarchy === 'many') return { _parents: known.map((at) => ({ _system_object_id: ids[at] })) }
  if (type.hierarchy === 'none' || known[0] === undefined) return {}
  return { 'lookup:_id_parent': { _system_object_id: ids[known[0]] } }
}

function wireRow(row: Row, world: World, names: Names): object {
  const values = [...row.values].flatMap(([column, value]): [string, unknown][] => {
    if (column.kind !== 'link') return [[column.name, value]]
    const target = wireLink(column, value as number, world, names)
    return target ? [[column.name, target]] : []
  })
  const rows = [...row.rows].map(([table, list]) => [
    `_nested:${table.name}`,
    // A link in both directions says nothing without its other side.
    list.flatMap((each) => (table.pairs && !isKnown(each, names) ? [] : [wireRow(each, world, names)])),
  ])
  return Object.fromEntries([...values, ...rows])
}

const isKnown = (row: Row, { ids }: Names): boolean =>
  [...row.values].every(([column, value]) => column.kind !== 'link' || ids[value as number] !== undefined)

export function wireLink({ target }: Column, to: number, world: World, { ids }: Names): object | null {
  const type = world.types[target ?? 0] as ObjectType
  return ids[to] === undefined ? null : { _objecttype: type.name, _mask: '_all_fields', _system_object_id: ids[to] }
}

export const maskNames = (type: ObjectType): Mask[] => [...type.masks, type.allFields]
