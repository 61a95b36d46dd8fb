import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import type { StoredGrant } from '../../rights/service.ts'
import type { StoredGroup, SystemRights } from '../model.ts'
import { groupReadable, groupReaders, type Readers } from '../readable.ts'
import { recordStore } from '../record-store.ts'

/** A group to write, in the spelling of the table. */
export interface GroupRow {
  id: number
  version: number
  type: string
  name: string | null
  reference: string | null
  displayname: Record<string, string>
  profile: Record<string, unknown>
  system_rights: SystemRights
  acl: readonly StoredGrant[]
  pseudonymization: Record<string, unknown>
  auth_method_group_maps: Record<string, unknown>
  ip_subnet_filter: readonly string[]
  ip_subnet_filter_exclude: boolean
  two_fa_required: boolean
  owner_user: number | null
  owner_group: number | null
}

const recordset = `jsonb_to_recordset($1) as n (id bigint, version int, type text, name text, reference text,
  displayname jsonb, profile jsonb, system_rights jsonb, acl jsonb, pseudonymization jsonb,
  auth_method_group_maps jsonb, ip_subnet_filter text[], ip_subnet_filter_exclude boolean, two_fa_required boolean,
  owner_user bigint, owner_group bigint)`

const columns = `t.id, t.version, t.type, t.name, t.reference, t.displayname, t.profile,
  t.member_types as "memberTypes", t.system_rights as "systemRights", t.acl, t.pseudonymization,
  t.auth_method_group_maps as "authMethodGroupMaps", t.ip_subnet_filter as "ipSubnetFilter",
  t.ip_subnet_filter_exclude as "ipSubnetFilterExclude", t.two_fa_required as "twoFactorRequired",
  jsonb_build_object('userId', t.owner_user, 'groupId', t.owner_group) as owner,
  t.created_at as "createdAt", t.updated_at as "updatedAt"`

export const {
  lock: lockGroups,
  find: findGroups,
  newIds: newGroupIds,
  remove: deleteGroup,
} = recordStore<StoredGroup>('group', columns)

/** A reader of groups: it may read groups that are granted to it, groups that it owns, and groups that it is in. */
export interface Reader {
  userId: number
  groupIds: readonly number[]
  principals: readonly string[]
}

export interface GroupFilter {
  limit: number
  offset: number
  types: readonly string[] | null
  /** Null: may read everything. */
  reader: Reader | null
}

/** A page of groups by id. */
export async function listGroups(db: Queryable, { limit, offset, types, reader }: GroupFilter): Promise<StoredGroup[]> {
  const { rows } = await db.query<StoredGroup>(
    `select ${columns} from "group" t
     where ($1::text[] is null or t.type = any($1)) and ($2 or ${groupReadable('$3', '$4', '$5')})
     order by t.id limit $6 offset $7`,
    [types, reader === null, reader?.principals ?? [], reader?.userId ?? 0, reader?.groupIds ?? [], limit, offset],
  )
  return rows
}

/** The groups that the reader may read. */
export async function readableGroups(db: Queryable, ids: readonly number[], reader: Reader): Promise<Set<number>> {
  const { rows } = await db.query<{ id: number }>(
    `select t.id from "group" t where t.id = any($1) and ${groupReadable('$2', '$3', '$4')}`,
    [ids, reader.principals, reader.userId, reader.groupIds],
  )
  return new Set(rows.map((row) => row.id))
}

/** The readers of each existing group, besides its members. */
export async function readersOfGroups(db: Queryable, ids: readonly number[]): Promise<Readers[]> {
  const { rows } = await db.query<Readers>(
    `select t.id, ${groupReaders} as readers from "group" t where t.id = any($1)`,
    [ids],
  )
  return rows
}

export async function insertGroups(tx: Tx, groups: readonly GroupRow[]): Promise<void> {
  if (groups.length === 0) return
  await tx.query(
    `insert into "group" (id, version, type, name, reference, displayname, profile, system_rights, acl,
       pseudonymization, auth_method_group_maps, ip_subnet_filter, ip_subnet_filter_exclude, two_fa_required,
       owner_user, owner_group)
     select n.* from ${recordset}`,
    [JSON.stringify(groups)],
  )
}

export async function updateGroups(tx: Tx, groups: readonly GroupRow[]): Promise<void> {
  if (groups.length === 0) return
  await tx.query(
    `update "group" g set version = n.version, name = n.name, reference = n.reference, displayname = n.displayname,
       profile = n.profile, system_rights = n.system_rights, acl = n.acl, pseudonymization = n.pseudonymization,
       auth_method_group_maps = n.auth_method_group_maps, ip_subnet_filter = n.ip_subnet_filter,
       ip_subnet_filter_exclude = n.ip_subnet_filter_exclude, two_fa_required = n.two_fa_required,
       owner_user = n.owner_user, owner_group = n.owner_group, updated_at = now()
     from ${recordset} where g.id = n.id`,
    [JSON.stringify(groups)],
  )
}
