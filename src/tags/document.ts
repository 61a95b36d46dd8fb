import { isDeepStrictEqual } from 'node:util'
import { assertVersion, type VersionConvention } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { ByName, composed } from '../platform/values/text.ts'
import type { StoredGrant } from '../rights/service.ts'
import type { TagGroup } from './model.ts'
import type { TagFields, TagGroupBody } from './schema.ts'
import type { GroupRow, TagRow } from './store.ts'
import { unwrapped } from './unwrapped.ts'

export type Change = 'insert' | 'update' | 'delete' | 'none'

/** The changes from the stored document to the sent one. New groups and tags have the id 0 until ids are drawn. */
export interface DocumentChange {
  readonly groups: { row: GroupRow; change: Change; tags: { row: TagRow; change: Change }[] }[]
  readonly deletedGroups: GroupRow[]
  readonly deletedTags: TagRow[]
}

/**
 * Compares a document with the stored one. An entry with an `_id` is an update and must have its `_version` (optional for groups);
 * an entry without `_id` is new; missing entries are deleted. Moving an entry within the document is no change of it.
 * @throws {AppError} `VersionMismatch`, `TagNotFound`, `ServerGeneric`
 */
export function compareDocument(
  body: readonly IdentifiedGroup[],
  stored: readonly TagGroup[],
  convention: VersionConvention,
  acls: ReadonlyMap<TagFields, readonly StoredGrant[]>,
): DocumentChange {
  const storedGroups = new Map(stored.map((group, position) => [group.id, groupRow(group, position)]))
  const storedTags = new Map(
    stored.flatMap((group) => group.tags.map((tag, position) => [tag.id, tagRow(tag, position)])),
  )
  assertUnique(
    body.map((entry) => entry.group),
    'taggroup',
  )
  assertUnique(
    body.flatMap((entry) => entry.tags),
    'tag',
  )

  const groups = body.map((entry, position) => {
    const group = readGroup(entry.group, position, storedGroups, convention)
    const tags = entry.tags.map((tag, index) =>
      readTag(tag, { groupId: group.row.id, position: index }, storedTags, convention, acls.get(tag)),
    )
    return { ...group, tags }
  })
  const keptGroups = new Set(groups.map((group) => group.row.id))
  const keptTags = new Set(groups.flatMap((group) => group.tags.map((tag) => tag.row.id)))
  return {
    groups,
    deletedGroups: [...storedGroups.values()].filter((group) => !keptGroups.has(group.id)),
    deletedTags: [...storedTags.values()].filter((tag) => !keptTags.has(tag.id)),
  }
}

type GroupFields = TagGroupBody['taggroup']

/** A group as it was sent, with its tags. */
export interface IdentifiedGroup {
  readonly group: GroupFields
  readonly tags: readonly TagFields[]
}

/** The document with its tags unwrapped, and with references replaced by ids. */
export function identified(sent: readonly TagGroupBody[], stored: readonly TagGroup[]): IdentifiedGroup[] {
  const idOf = (entries: readonly { id: number; reference: string | null }[]) => {
    const ids = new ByName(
      entries.flatMap(({ id, reference }) => (reference === null ? [] : [[reference, id] as const])),
    )
    return <Fields extends GroupFields | TagFields>(fields: Fields, name: string): Fields => {
      const reference = fields['lookup:_id']?.reference
      if (reference === undefined || fields._id) return fields
      const _id = ids.get(reference)
      if (_id === undefined) throw new AppError('LookupNotFound', { name, reference })
      return { ...fields, _id }
    }
  }
  const groupId = idOf(stored)
  const tags = stored.flatMap((group) => group.tags)
  const tagId = idOf(tags)
  const byId = new Map(tags.map((tag) => [tag.id, tag]))
  return sent.map(({ taggroup, _tags }, index) => ({
    group: groupId(taggroup, `${index}.taggroup`),
    tags: (_tags ?? []).map((tag, at) => {
      const place = `${index}._tags.${at}`
      return tagId(unwrapped(tag, byId, place), place)
    }),
  }))
}

function readGroup(
  body: GroupFields,
  position: number,
  stored: ReadonlyMap<number, GroupRow>,
  convention: VersionConvention,
) {
  const before = body._id ? stored.get(body._id) : undefined
  if (body._id && !before) throw badRequest(`There is no tag group ${body._id}`, { taggroup: body._id })
  if (before && body._version) {
    assertVersion(body._version, before.version, convention, { name: 'taggroup', _id: before.id })
  }
  const row: GroupRow = {
    id: before?.id ?? 0,
    version: before?.version ?? 1,
    position,
    displayname: body.displayname ?? {},
    reference: nameOf(body.reference),
    shortname: nameOf(body.shortname),
    type: body.type ?? 'checkbox',
  }
  return { row, change: changeOf(row, before) }
}

function readTag(
  body: TagFields,
  { groupId, position }: { groupId: number; position: number },
  stored: ReadonlyMap<number, TagRow>,
  convention: VersionConvention,
  acl: readonly StoredGrant[] | undefined,
) {
  const before = body._id ? stored.get(body._id) : undefined
  if (body._id && !before) throw new AppError('TagNotFound', { tag: body._id })
  if (before) assertVersion(body._version, before.version, convention, { name: 'tag', _id: before.id })
  const row: TagRow = {
    id: before?.id ?? 0,
    group_id: groupId,
    version: before?.version ?? 1,
    position,
    displayname: body.displayname ?? {},
    description: body.description ?? {},
    frontend_prefs: body.frontend_prefs ?? {},
    enabled: body.enabled ?? true,
    is_default: body.is_default ?? false,
    sticky: body.sticky ?? false,
    type: body.type ?? 'individual',
    displaytype: body.displaytype ?? 'facet',
    reference: nameOf(body.reference),
    shortname: nameOf(body.shortname),
    // Unlike other members: a client that does not know grants must not remove them.
    acl: acl ?? before?.acl ?? [],
  }
  return { row, change: changeOf(row, before) }
}

const nameOf = (given: string | null | undefined): string | null => (given ? composed(given) : null)

/** Increments the version if anything but the position differs. */
function changeOf<Row extends GroupRow | TagRow>(row: Row, before: Row | undefined): Change {
  if (!before) return 'insert'
  if (isDeepStrictEqual({ ...row, position: 0 }, { ...before, position: 0 })) return 'none'
  row.version++
  return 'update'
}

interface Identified {
  _id?: number | null
  reference?: string | null
  shortname?: string | null
}

function assertUnique(entries: readonly Identified[], name: string): void {
  for (const field of ['_id', 'reference', 'shortname'] as const) {
    const seen = new Set<unknown>()
    for (const given of entries.map((entry) => entry[field])) {
      if (!given) continue
      const value = typeof given === 'string' ? composed(given) : given
      if (seen.has(value)) throw badRequest(`Two of ${name} have the ${field} ${value}`, { name, field, value })
      seen.add(value)
    }
  }
}

function groupRow({ tags: _, ...group }: TagGroup, position: number): GroupRow {
  return { ...group, position }
}

function tagRow(tag: TagGroup['tags'][number], position: number): TagRow {
  const { groupId, groupType: _, frontendPrefs, isDefault, ...rest } = tag
  return { ...rest, group_id: groupId, frontend_prefs: frontendPrefs, is_default: isDefault, position }
}
