import type { Json } from '../../support/client.ts'
import type { Column, ObjectType, Table } from './model.ts'
import type { Fields, Shown } from './shown.ts'
import type { World } from './world.ts'

/** An object of an answer as `shown.ts` describes it; a key that nothing expects is kept, so that it is found. */
export function seenOf(wire: Json, world: World): Shown {
  const type = world.types.find(({ name }) => name === wire._objecttype) as ObjectType
  const id = wire._system_object_id
  if (wire._not_allowed) {
    const more = Object.keys(wire).filter((key) => !identity.has(key))
    return more.length > 0 ? ({ id, as: 'hidden', more } as unknown as Shown) : { id, as: 'hidden' }
  }
  const titles = [1, 2].map((slot) => titleOf(wire, slot))
  const block = wire[type.name]
  if (wire._format === undefined) return { id, as: 'short', titles }
  const full = wire._format.startsWith('full')
  const tree = wire._path !== undefined
  return {
    id,
    as: 'whole',
    titles,
    mask: wire._mask,
    tags: wire._tags?.map((tag: Json) => tag._id).sort((a: number, b: number) => a - b),
    pool: wire._pool ? { id: wire._pool.pool._id, name: wire._pool.pool.name?.['en-US'] ?? null } : undefined,
    owner: wire._owner && (wire._owner.user ?? wire._owner.group)._id,
    parents: block._parents ? block._parents.map((each: Json) => seenOf(each, world)) : block._id_parent,
    ...(tree ? { level: wire._level, hasChildren: wire._has_children } : {}),
    ...(tree ? { path: listOf(wire._path, world), paths: wire._paths?.map((way: Json) => listOf(way, world)) } : {}),
    ...(wire._acl ? { grants: wire._acl.length } : {}),
    ...('_private_acl' in wire ? { private: wire._private_acl } : {}),
    ...(full && wire._generated_rights ? { rights: rightsOf(wire) } : {}),
    ...(wire._format.endsWith('inheritance') ? { inherited: block._inherited ?? {} } : {}),
    fields: fieldsOf(block, type.table, world, inBlock),
  }
}

const identity = new Set(['_objecttype', '_system_object_id', '_global_object_id', '_not_allowed'])
const inBlock = new Set(['_id', '_version', '_pool', '_parents', '_id_parent', '_inherited'])
const inRow = new Set(['_uuid'])

const listOf = (list: Json, world: World): Shown[] => list.map((each: Json) => seenOf(each, world))

const rightsOf = ({ _generated_rights: rights }: Json): string[] =>
  rights.owner
    ? ['delete', 'read', 'write']
    : ['delete', 'read', 'write'].filter((right) => rights[right] !== undefined)

function titleOf(wire: Json, slot: number): Shown['titles'] extends readonly (infer T)[] | undefined ? T : never {
  const text = wire._standard?.[slot]?.text
  // An object without title is called by its number.
  if (text === undefined || Object.values(text).every((each) => each === `#${wire._system_object_id}`)) return null
  return text
}

function fieldsOf(block: Json, table: Table, world: World, system: ReadonlySet<string>): Fields {
  const columns = new Map<string, Column>(table.columns.map((column) => [column.name, column]))
  const nested = new Map<string, Table>(table.nested.map((each) => [`_nested:${each.name}`, each]))
  const shown: Record<string, unknown> = {}
  for (const [key, value] of Object.entries<Json>(block)) {
    if (system.has(key)) continue
    const inner = nested.get(key)
    if (inner) shown[key] = value.map((row: Json) => fieldsOf(row, inner, world, inRow))
    else if (key.startsWith('_reverse_nested:')) shown[key] = listOf(value, world).sort((a, b) => a.id - b.id)
    else shown[key] = columns.get(key)?.kind === 'link' && value !== null ? seenOf(value, world) : value
  }
  return shown
}
