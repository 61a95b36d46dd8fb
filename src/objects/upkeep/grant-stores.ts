import type { Model } from '../../datamodel/model.ts'

/**
 * The tables with grants, and the tables of the records that grants name: to find grants that name deleted records
 * (rights/invalid).
 */
export const grantStores = [
  { kind: 'pool', from: 'pool', context: 'pool' },
  {
    kind: 'objecttype',
    from: `(select id, settings->'acl' as acl from objecttype) as objecttype`,
    context: 'objecttype-without-pool',
  },
  {
    kind: 'object',
    from: '(select system_object_id as id, acl from object where acl is not null) as object',
    context: 'object',
  },
  { kind: 'collection', from: 'collection', context: 'collection' },
  { kind: 'tag', from: 'tag', context: 'tag' },
  { kind: 'user', from: '"user"', context: 'user' },
  { kind: 'group', from: '"group"', context: 'group' },
] as const

export const grantTables = {
  user: '"user"',
  group: '"group"',
  right_preset: 'right_preset',
  pool: 'pool',
  tag: 'tag',
} as const

/** The names of the datamodel that grants use. */
export function namesInGrants({ objecttypes, columnsById }: Model) {
  const tables = [...objecttypes.values()]
  return {
    objecttypes: tables.map(({ id }) => id),
    masks: tables.flatMap(({ masks }) => [...masks.values()].map(({ id }) => id)),
    columns: [...columnsById.keys()],
  }
}
