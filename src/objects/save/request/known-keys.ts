/** Keys of payloads that are known at every level: written, or computed for an answer that is sent back. */
import type { ColumnType, SystemFieldName, Table } from '../../../datamodel/model.ts'
import { isRecord } from '../../content/values.ts'
import type { StoredObject } from '../../stored/content.ts'

/** Beside the block: keys that identify an object, keys that are written, and keys of answers. */
export const objectKeys: ReadonlySet<string> = new Set([
  '_objecttype',
  '_mask',
  '_system_object_id',
  '_global_object_id',
  '_uuid',
  '_comment',
  '_tags',
  '_pool',
  '_owner',
  '_acl',
  '_private_acl',
  '_basetype',
  '_objecttype_display_name',
  '_mask_display_name',
  '_format',
  '_standard',
  '_create_user',
  '_created',
  '_last_modified',
  '_latest_version',
  '_latest_version_deleted_at',
  '_level',
  '_has_children',
  '_path',
  '_paths',
  '_child_idx',
  '_generated_rights',
  '_changelog',
  '_collections',
  '_published',
  '_published_count',
  '_sort',
  '_score',
  '_callback_context',
  '_current',
  '_mapped_metadata_created',
])

/** Beside the block of a changed object: operations on its stored values. */
export const editsKey = '_operations'

/** Additional keys beside the block of a linked object. */
export const linkKeys: ReadonlySet<string> = new Set(['_not_allowed', '_purged_or_deferred'])

/** In the block of an object type, beside its fields. */
export const blockKeys: ReadonlySet<string> = new Set([
  '_id',
  'lookup:_id',
  '_version',
  '_version:auto_increment',
  '_pool',
  '_id_parent',
  'lookup:_id_parent',
  '_parents',
  '_inherited',
])

/** Members of values that are objects; types without an entry allow any. */
export const valueKeys: Partial<Record<ColumnType, ReadonlySet<string>>> = {
  date: new Set(['value']),
  datetime: new Set(['value']),
  daterange: new Set(['from', 'to', 'text']),
}

interface SystemKeys {
  readonly name: SystemFieldName
  readonly keys: readonly { readonly key: string; readonly inBlock: boolean }[]
  /** Whether objects of the type have this system field. */
  readonly has: (table: Table) => boolean
  /** Whether it was sent as it is stored. */
  readonly same: (value: unknown, stored: StoredObject) => boolean
}

/** The system fields that a mask can make writable. */
export const systemKeys: readonly SystemKeys[] = [
  {
    name: 'tags',
    keys: [{ key: '_tags', inBlock: false }],
    has: (table) => table.hasTags,
    same: (value, { tags }) =>
      Array.isArray(value) &&
      value.length === tags.length &&
      value.every((tag) => isRecord(tag) && tags.includes(tag._id as number)),
  },
  {
    name: 'pool',
    keys: [
      { key: '_pool', inBlock: false },
      { key: '_pool', inBlock: true },
    ],
    has: (table) => table.poolLink,
    same: (value, { poolId }) => isRecord(value) && isRecord(value.pool) && value.pool._id === poolId,
  },
  {
    name: 'owner',
    keys: [{ key: '_owner', inBlock: false }],
    has: () => true,
    same: (value, { ownerUser, ownerGroup }) =>
      isRecord(value) &&
      (isRecord(value.user) ? value.user._id === ownerUser : isRecord(value.group) && value.group._id === ownerGroup),
  },
  {
    // Grants have different forms when stored and when shown; their number tells whether they were only sent back.
    name: 'acl',
    keys: [{ key: '_acl', inBlock: false }],
    has: (table) => table.aclTable,
    same: (value, { acl }) => Array.isArray(value) && value.length === (Array.isArray(acl) ? acl.length : 0),
  },
  {
    name: 'acl',
    keys: [{ key: '_private_acl', inBlock: false }],
    has: (table) => table.aclTable,
    same: (value, { privateAcl }) => value === privateAcl,
  },
  {
    // The parent's own `_id` is not loaded: only the presence of a parent can be compared.
    name: 'parent',
    keys: [
      { key: '_id_parent', inBlock: true },
      { key: 'lookup:_id_parent', inBlock: true },
      { key: '_parents', inBlock: true },
    ],
    has: (table) => table.hierarchical || table.polyhierarchical,
    same: (value, { parents }) => (Array.isArray(value) ? value.length === parents.length : parents.length === 1),
  },
]
