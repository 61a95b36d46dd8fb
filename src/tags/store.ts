import type { Queryable } from '../platform/postgres/db.ts'
import type { Localized } from '../platform/values/localized.ts'
import type { StoredGrant } from '../rights/service.ts'
import type { DisplayType, TagGroup, TagGroupType, TagType } from './model.ts'

/** A group as it is written; `position` is its place in the document. */
export interface GroupRow {
  id: number
  version: number
  position: number
  displayname: Localized
  reference: string | null
  shortname: string | null
  type: TagGroupType
}

export interface TagRow {
  id: number
  group_id: number
  version: number
  position: number
  displayname: Localized
  description: Localized
  frontend_prefs: Readonly<Record<string, unknown>>
  enabled: boolean
  is_default: boolean
  sticky: boolean
  type: TagType
  displaytype: DisplayType
  reference: string | null
  shortname: string | null
  acl: readonly StoredGrant[]
}

/** Allows only one save of the tags at a time; readers go on. */
export async function lockTags(tx: Queryable): Promise<void> {
  await tx.query('lock table tag_group, tag in share row exclusive mode')
}

/** Waits for saves that are just assigning the tags, and blocks further ones: see `existingIds`. */
export async function lockForDelete(tx: Queryable, ids: readonly number[]): Promise<void> {
  await tx.query('select id from tag where id = any($1) order by id for update', [ids], 'tags-lock-for-delete')
}

/** All groups with their tags, in their order. */
export async function loadGroups(db: Queryable): Promise<TagGroup[]> {
  const { rows } = await db.query<GroupRow & { tags: TagRow[] }>(
    `select g.id, g.version, g.position, g.displayname, g.reference, g.shortname, g.type,
            coalesce((select json_agg(t order by t.position, t.id) from tag t where t.group_id = g.id), '[]') as tags
       from tag_group g order by g.position, g.id`,
  )
  return rows.map(({ position: _, tags, ...group }) => ({ ...group, tags: tags.map((tag) => toTag(tag, group.type)) }))
}

function toTag(row: TagRow, groupType: TagGroupType): TagGroup['tags'][number] {
  return {
    id: row.id,
    version: row.version,
    groupId: row.group_id,
    groupType,
    displayname: row.displayname,
    description: row.description,
    frontendPrefs: row.frontend_prefs,
    enabled: row.enabled,
    isDefault: row.is_default,
    sticky: row.sticky,
    type: row.type,
    displaytype: row.displaytype,
    reference: row.reference,
    shortname: row.shortname,
    acl: row.acl,
  }
}

/** The existing ones of the ids; a share lock keeps them until the transaction ends. */
export async function existingIds(from: Queryable, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const { rows } = await from.query<{ id: number }>(
    'select id from tag where id = any($1::bigint[]) order by id for key share',
    [ids],
    'existing-tags',
  )
  return new Set(rows.map((row) => row.id))
}

/** Draws ids for new groups or tags. */
export async function drawIds(tx: Queryable, of: 'tag_group' | 'tag', count: number): Promise<number[]> {
  if (count === 0) return []
  const { rows } = await tx.query<{ id: number }>(
    'select nextval($1::regclass)::int as id from generate_series(1, $2)',
    [`${of}_id_seq`, count],
  )
  return rows.map((row) => row.id)
}

/** Makes the tables hold exactly these rows. */
export async function replaceAll(tx: Queryable, groups: readonly GroupRow[], tags: readonly TagRow[]): Promise<void> {
  await tx.query('set constraints all deferred')
  await tx.query(
    `insert into tag_group (id, version, position, displayname, reference, shortname, type)
     select id, version, position, displayname, reference, shortname, type
       from json_to_recordset($1) as g (id int, version int, position int, displayname jsonb, reference text,
            shortname text, type text)
     on conflict (id) do update set version = excluded.version, position = excluded.position,
       displayname = excluded.displayname, reference = excluded.reference, shortname = excluded.shortname,
       type = excluded.type`,
    [JSON.stringify(groups)],
  )
  await tx.query('delete from tag where id <> all($1)', [tags.map((tag) => tag.id)])
  await tx.query(
    `insert into tag (id, group_id, version, position, displayname, description, frontend_prefs, enabled, is_default,
            sticky, type, displaytype, reference, shortname, acl)
     select id, group_id, version, position, displayname, description, frontend_prefs, enabled, is_default, sticky,
            type, displaytype, reference, shortname, acl
       from json_to_recordset($1) as t (id int, group_id int, version int, position int, displayname jsonb,
            description jsonb, frontend_prefs jsonb, enabled boolean, is_default boolean, sticky boolean, type text,
            displaytype text, reference text, shortname text, acl jsonb)
     on conflict (id) do update set group_id = excluded.group_id, version = excluded.version,
       position = excluded.position, displayname = excluded.displayname, description = excluded.description,
       frontend_prefs = excluded.frontend_prefs, enabled = excluded.enabled, is_default = excluded.is_default,
       sticky = excluded.sticky, type = excluded.type, displaytype = excluded.displaytype,
       reference = excluded.reference, shortname = excluded.shortname, acl = excluded.acl`,
    [JSON.stringify(tags)],
  )
  await tx.query('delete from tag_group where id <> all($1)', [groups.map((group) => group.id)])
}
