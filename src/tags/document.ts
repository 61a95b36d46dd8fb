import { isDeepStrictEqual } from 'node:util'
import { AppError, badRequest } from '../platform/errors.ts'
import type { TagGroup } from './model.ts'
import type { TagBody, TagGroupBody } from './schema.ts'
import type { GroupRow, TagRow } from './store.ts'

export type Change = 'insert' | 'update' | 'delete' | 'none'

/** What a sent document makes of the stored one. New groups and tags have the id 0 until ids are drawn. */
export interface DocumentChange {
  readonly groups: { row: GroupRow; change: Change; tags: { row: TagRow; change: Change }[] }[]
  readonly deletedGroups: GroupRow[]
  readonly deletedTags: TagRow[]
}

/**
 * Compares a document with the stored one. An entry with an `_id` is an update and must carry the `_version` that is
 * stored; one without is new; what is missing is deleted. Moving something within the document is no change of it.
 * @throws {AppError} `VersionMismatch`, `TagNotFound`, `ServerGeneric`
 */
export function compareDocument(body: readonly TagGroupBody[], stored: readonly TagGroup[]): DocumentChange {
  const storedGroups = new Map(stored.map((group, position) => [group.id, groupRow(group, position)]))
  const storedTags = new Map(
    stored.flatMap((group) => group.tags.map((tag, position) => [tag.id, tagRow(tag, position)])),
  )
  assertUnique(
    body.map((group) => group.taggroup),
    'taggroup',
  )
  assertUnique(
    body.flatMap((group) => group._tags ?? []),
    'tag',
  )

  const groups = body.map((entry, position) => {
    const group = readGroup(entry, position, storedGroups)
    const tags = (entry._tags ?? []).map((tag, index) => readTag(tag, group.row.id, index, storedTags))
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

function readGroup(entry: TagGroupBody, position: number, stored: ReadonlyMap<number, GroupRow>) {
  const body = entry.taggroup
  const before = body._id ? stored.get(body._id) : undefined
  if (body._id && !before) throw badRequest(`There is no tag group ${body._id}`, { taggroup: body._id })
  if (before && body._version && body._version !== before.version) throw staleVersion(body, before, 'taggroup')
  const row: GroupRow = {
    id: before?.id ?? 0,
    version: before?.version ?? 1,
    position,
    displayname: body.displayname ?? {},
    reference: body.reference || null,
    shortname: body.shortname || null,
    type: body.type ?? 'checkbox',
  }
  return { row, change: changeOf(row, before) }
}

function readTag(body: TagBody, groupId: number, position: number, stored: ReadonlyMap<number, TagRow>) {
  const before = body._id ? stored.get(body._id) : undefined
  if (body._id && !before) throw new AppError('TagNotFound', { tag: body._id })
  if (before && body._version !== before.version) throw staleVersion(body, before, 'tag')
  if (body._acl && body._acl.length > 0) throw badRequest('Tags cannot carry grants', { name: '_acl' })
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
    reference: body.reference || null,
    shortname: body.shortname || null,
  }
  return { row, change: changeOf(row, before) }
}

/** Counts the version up when something but the position differs. */
function changeOf<Row extends GroupRow | TagRow>(row: Row, before: Row | undefined): Change {
  if (!before) return 'insert'
  if (isDeepStrictEqual({ ...row, position: 0 }, { ...before, position: 0 })) return 'none'
  row.version++
  return 'update'
}

function staleVersion(
  body: { _id?: number | null; _version?: number | null },
  before: { version: number },
  name: string,
) {
  return new AppError('VersionMismatch', { name, _id: body._id, got: body._version ?? null, expected: before.version })
}

interface Identified {
  _id?: number | null
  reference?: string | null
  shortname?: string | null
}

function assertUnique(entries: readonly Identified[], name: string): void {
  for (const field of ['_id', 'reference', 'shortname'] as const) {
    const seen = new Set<unknown>()
    for (const value of entries.map((entry) => entry[field])) {
      if (!value) continue
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
