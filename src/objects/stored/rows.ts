import type { Model, Table } from '../../datamodel/model.ts'
import type { Guarded, StoredGrant } from '../../rights/service.ts'
import type { Content, Operation, Standard, StoredObject } from './content.ts'

/**
 * Reads objects from the database. A row is returned as one JSON array: parsing one JSON text takes half the time of having the
 * driver parse 22 columns, and every read of an object uses this.
 */

/** An object without its content: enough to show it as a link. */
export type Head = Pick<
  StoredObject,
  | 'systemObjectId'
  | 'table'
  | 'id'
  | 'version'
  | 'uuid'
  | 'poolId'
  | 'ownerUser'
  | 'ownerGroup'
  | 'tags'
  | 'acl'
  | 'privateAcl'
  | 'parents'
  | 'standard'
  | 'deletedAt'
> & {
  /** The values on which rights depend: always the latest state, also for an old version. */
  readonly guard: Guarded
}

export type Loaded = StoredObject & Pick<Head, 'guard'>

/** Columns of a head, in the order of `HeadRow`. `object` has the state of the latest version. */
export const headColumns = `o.system_object_id, o.objecttype, o.id, o.version, o.uuid, o.pool_id, o.owner_user, o.owner_group, o.tags,
  o.acl, o.private_acl, o.parents, o.standard, o.deleted_at`

export type HeadRow = readonly [
  systemObjectId: number,
  objecttype: number,
  id: number,
  version: number,
  uuid: string,
  poolId: number | null,
  ownerUser: number | null,
  ownerGroup: number | null,
  tags: number[],
  acl: readonly StoredGrant[] | null,
  privateAcl: boolean,
  parents: number[],
  standard: Standard,
  deletedAt: string | null,
]

/** The rest of an object in one of its versions. */
const versionColumns = `o.child_idx, o.created_at, o.created_by, o.modified_at,
  v.operation, v.at, v.by_user, v.comment, v.content`

type VersionRow = readonly [
  childIdx: number | null,
  createdAt: string,
  createdBy: number | null,
  modifiedAt: string,
  operation: Operation,
  at: string,
  byUser: number | null,
  comment: string | null,
  content: Content,
]

/** The columns of a version for values whose latest state is in the head. */
const historyColumns = `v.version, v.pool_id, v.owner_user, v.owner_group, v.tags, v.acl, v.private_acl,
  v.parents`

type HistoryRow = readonly [
  version: number,
  poolId: number | null,
  ownerUser: number | null,
  ownerGroup: number | null,
  tags: number[],
  acl: readonly StoredGrant[] | null,
  privateAcl: boolean,
  parents: number[],
]

export const head = `json_build_array(${headColumns})`
export const latest = `json_build_array(${headColumns}, ${versionColumns})`
export const historic = `json_build_array(${headColumns}, ${versionColumns}, ${historyColumns})`
export const latestVersion =
  'join object_version v on v.system_object_id = o.system_object_id and v.version = o.version'

export type LatestRow = readonly [...HeadRow, ...VersionRow]
export type HistoricRow = readonly [...HeadRow, ...VersionRow, ...HistoryRow]

export function guardOf(object: Omit<Head, 'guard' | 'standard'>): Guarded {
  return {
    systemObjectId: object.systemObjectId,
    objecttypeId: object.table.id,
    poolId: object.poolId,
    ownerUserId: object.ownerUser,
    ownerGroupId: object.ownerGroup,
    tags: object.tags,
    acl: object.table.aclTable ? ((object.acl ?? null) as readonly StoredGrant[] | null) : null,
    privateAcl: object.table.aclTable && object.privateAcl,
  }
}

export function heads(model: Model, rows: readonly HeadRow[]): Head[] {
  const result: Head[] = []
  for (const row of rows) {
    const table = model.tablesById.get(row[1])
    if (table) result.push(toHead(table, row))
  }
  return result
}

export function loadedOf(model: Model, rows: readonly { r: LatestRow | HistoricRow }[]): Loaded[] {
  const result: Loaded[] = []
  for (const { r } of rows) {
    const object = toLoaded(model, r)
    if (object) result.push(object)
  }
  return result
}

export function toHead(table: Table, row: HeadRow): Head {
  const object = {
    systemObjectId: row[0],
    table,
    id: row[2],
    version: row[3],
    uuid: row[4],
    poolId: row[5],
    ownerUser: row[6],
    ownerGroup: row[7],
    tags: row[8],
    acl: row[9],
    privateAcl: row[10],
    parents: row[11],
    standard: row[12],
    deletedAt: row[13] === null ? null : new Date(row[13]),
  }
  return { ...object, guard: guardOf(object) }
}

export function toLoaded(model: Model, row: LatestRow | HistoricRow): Loaded | null {
  const table = model.tablesById.get(row[1])
  if (!table) return null
  const object = toHead(table, row as unknown as HeadRow)
  const version = {
    childIdx: row[14],
    createdAt: new Date(row[15]),
    createdBy: row[16],
    modifiedAt: new Date(row[17]),
    operation: row[18],
    at: new Date(row[19]),
    byUser: row[20],
    comment: row[21],
    content: row[22],
    latestVersion: object.version,
  }
  if (row.length === 23) return { ...object, ...version }
  const [number, poolId, ownerUser, ownerGroup, tags, acl, privateAcl, parents] = row.slice(23) as unknown as HistoryRow
  return { ...object, ...version, version: number, poolId, ownerUser, ownerGroup, tags, acl, privateAcl, parents }
}
