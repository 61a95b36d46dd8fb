import { columns, maskIds, nestedOf, type TypeName, tableIds } from './model.ts'
import { crew, type Grant, hasGrants, type Reach, type Row, type TagFilter, type Thing } from './scene.ts'

/** Things and grants of a scene as the service takes them. */

/** Ids that the service gave, by the numbers of the scene. */
export interface Names {
  readonly users: readonly number[]
  readonly group: number
  readonly tags: readonly number[]
  readonly pools: readonly number[]
  readonly ids: readonly number[]
}

const rightsOf: Record<Reach, readonly string[]> = {
  read: ['read'],
  all: ['read', 'write', 'create', 'delete', 'link', 'unlink'],
  create: ['create'],
}
const windows = {
  past: { from: '2001-01-01T00:00:00Z', to: '2002-01-01T00:00:00Z' },
  future: { from: '2901-01-01T00:00:00Z' },
  now: { from: '2001-01-01T00:00:00Z', to: '2901-01-01T00:00:00Z' },
}

export const principal = (who: number, { users, group }: Pick<Names, 'users' | 'group'>): object =>
  who === crew ? { _basetype: 'group', group: { _id: group } } : { _basetype: 'user', user: { _id: users[who] } }

type People = Pick<Names, 'users' | 'group' | 'tags'>

export function wireGrant(grant: Grant, names: People, on: 'pool' | 'type' | 'object'): object {
  const limits = Object.entries(grant.masks).map(([type, list]) => [
    tableIds[type as TypeName],
    list.map((mask) => (mask === 'standard mask' ? 'standard' : maskIds[type as TypeName][mask])),
  ])
  const masked = limits.length === 0 ? {} : { mask_ids: Object.fromEntries(limits) }
  const more = on === 'pool' && grant.reach === 'all' ? ['bag_read'] : []
  const given = rightsOf[grant.reach].filter((right) => on !== 'object' || right !== 'create')
  return {
    who: principal(grant.who, names),
    rights: Object.fromEntries(
      [...given, ...more].map((right) => [right, /^(read|write|create)$/.test(right) ? masked : {}]),
    ),
    ...(grant.tags ? { tagfilter: wireFilter(grant.tags, names.tags) } : {}),
    ...(grant.when === 'always' ? {} : { when: windows[grant.when] }),
    ...(grant.active ? {} : { active: false }),
    ...(on === 'pool' && grant.sticky ? { sticky: true } : {}),
  }
}

function wireFilter(filter: TagFilter, tags: readonly number[]): object {
  return Object.fromEntries(Object.entries(filter).map(([slot, list]) => [slot, list.map((tag: number) => tags[tag])]))
}

/** The payload of a save; `known` when the object is there already. */
export function wireThing(thing: Thing, names: Names, known: { id: number; version: number } | undefined): object {
  const { type, pool, owner } = thing
  const row = (values: Row, prefix: string) => wireRow(values, prefix, type, names.ids)
  return {
    _objecttype: type,
    _mask: '_all_fields',
    ...(type === 'work' ? { _tags: thing.tags.map((tag) => ({ _id: names.tags[tag] })) } : {}),
    ...(owner === null ? {} : { _owner: principal(owner, names) }),
    ...(hasGrants(type) ? { _private_acl: thing.private } : {}),
    ...(!hasGrants(type) ? {} : { _acl: thing.grants.map((grant) => wireGrant(grant, names, 'object')) }),
    [type]: {
      ...(known ? { _id: known.id, _version: known.version } : {}),
      ...(pool === null ? {} : { _pool: { pool: { _id: names.pools[pool] } } }),
      ...row(thing.values, ''),
      ...(nestedOf[type]
        ? { [`_nested:${type}__${nestedOf[type]}`]: thing.rows.map((each) => row(each, `${nestedOf[type]}.`)) }
        : {}),
      ...above(thing, names.ids),
    },
  }
}

function above({ type, parents }: Thing, ids: readonly number[]): object {
  if (type === 'topic')
    return { _parents: parents.flatMap((at) => (ids[at] === undefined ? [] : [{ _system_object_id: ids[at] }])) }
  if (type !== 'place') return {}
  const [parent] = parents
  return parent === undefined || ids[parent] === undefined
    ? { _id_parent: null }
    : { 'lookup:_id_parent': { _system_object_id: ids[parent] } }
}

function wireRow(row: Row, prefix: string, type: TypeName, ids: readonly number[]): object {
  const entries = Object.entries(row).flatMap(([name, value]) => {
    const kind = (columns[type] as Record<string, string>)[prefix + name] as string
    if (!kind.startsWith('link:')) return [[name, value] as const]
    const id = ids[value as number]
    const target = kind.slice('link:'.length)
    return id === undefined
      ? []
      : [[name, { _objecttype: target, _mask: '_all_fields', _system_object_id: id }] as const]
  })
  return Object.fromEntries(entries)
}
