/** Grant lists on the wire (`_acl`, an array of `RightApi`): parsing into the stored form, checks, and rendering. */
import { badRequest } from '../platform/errors.ts'
import { type ContextDefinition, type RightContext, rightsCatalogue } from './catalogue.ts'
import type { Principal, StoredGrant, TagFilter } from './model.ts'
import { parseRights } from './right-items.ts'
import type { RightApi } from './schema.ts'
import { parseWho, recordAt, renderWho, type WhoDraft, type WhoNames } from './who.ts'

/** A grant as sent and checked. Its principal and tags are not looked up yet, and it may have no id. */
export interface GrantDraft extends Omit<StoredGrant, 'id' | 'who'> {
  readonly id: number | null
  readonly who: WhoDraft
  readonly path: string
}

/** Parses a whole list. @throws {AppError} with the path and the reason. */
export function parseAcl(context: RightContext, wire: unknown, path: string): GrantDraft[] {
  if (wire === null || wire === undefined) return []
  if (!Array.isArray(wire)) throw badRequest(`${path} must be an array`, { path })
  const drafts = wire.map((entry, index) => parseGrant(context, entry, `${path}[${index}]`))
  const seen = new Set<number>()
  for (const { id, path: place } of drafts) {
    if (id === null) continue
    if (seen.has(id)) throw badRequest(`${place}._id occurs twice`, { path: `${place}._id`, value: id })
    seen.add(id)
  }
  return drafts
}

function parseGrant(context: RightContext, wire: unknown, path: string): GrantDraft {
  const entry = recordAt(wire, path)
  const { capabilities, principals } = rightsCatalogue[context]
  const preset = presetOf(entry, path, capabilities)
  return {
    id: optionalId(entry._id, `${path}._id`),
    path,
    who: parseWho(entry.who, `${path}.who`, principals),
    rights: parseRights(context, entry.rights, `${path}.rights`),
    ...parseWhen(entry.when, `${path}.when`),
    ...parseTags(entry.tagfilter, `${path}.tagfilter`, capabilities),
    ...(optionalFlag(entry.active, `${path}.active`) === false ? { active: false as const } : {}),
    ...stickyOf(entry, path, capabilities),
    ...(preset === null ? {} : { preset }),
  }
}

type Capabilities = ContextDefinition['capabilities']

function stickyOf(entry: Record<string, unknown>, path: string, { sticky }: Capabilities): { sticky?: true } {
  if (!optionalFlag(entry.sticky, `${path}.sticky`)) return {}
  if (!sticky) throw badRequest(`${path}.sticky cannot be used here`, { path: `${path}.sticky` })
  return { sticky: true }
}

function presetOf(entry: Record<string, unknown>, path: string, { preset }: Capabilities): number | null {
  const value = entry._right_preset
  if (value === undefined || value === null || value === 0) return null
  const place = `${path}._right_preset`
  if (!preset) throw badRequest(`${place} cannot be used here`, { path: place })
  return optionalId(value, place)
}

/** `null` when absent. */
function optionalId(value: unknown, path: string): number | null {
  if (value === undefined || value === null) return null
  if (!Number.isSafeInteger(value) || Number(value) < 1) throw badRequest(`${path} must be an id`, { path, value })
  return Number(value)
}

function optionalFlag(value: unknown, path: string): boolean | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'boolean') throw badRequest(`${path} must be true or false`, { path, value })
  return value
}

function parseWhen(wire: unknown, path: string): { from?: string; to?: string } {
  if (wire === undefined || wire === null) return {}
  const when = recordAt(wire, path)
  const from = moment(when.from, `${path}.from`)
  const to = moment(when.to, `${path}.to`)
  if (from !== undefined && to !== undefined && from >= to) throw badRequest(`${path} ends before it begins`, { path })
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$/i

/** RFC 3339 to UTC in one fixed form, so that texts compare as moments. */
function moment(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  const parts = typeof value === 'string' ? dateTime.exec(value) : null
  // `Date` accepts the 31st of a shorter month, and takes it for a day of the next month.
  const lastDay = parts ? new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate() : 0
  const time = parts && Number(parts[3]) <= lastDay ? Date.parse(parts[0]) : Number.NaN
  if (Number.isNaN(time)) throw badRequest(`${path} must be a date-time with a time zone`, { path, value })
  return new Date(time).toISOString()
}

export function parseTags(wire: unknown, path: string, { tagfilter }: Capabilities): { tagfilter?: TagFilter } {
  if (wire === undefined || wire === null) return {}
  const filter = recordAt(wire, path)
  const parsed = {
    all: ids(filter.all, `${path}.all`),
    any: ids(filter.any, `${path}.any`),
    not: ids(filter.not, `${path}.not`),
  }
  if (ids(filter.changed, `${path}.changed`).length > 0) {
    throw badRequest(`${path}.changed is for transitions only`, { path: `${path}.changed` })
  }
  if (parsed.all.length + parsed.any.length + parsed.not.length === 0) return {}
  if (!tagfilter) throw badRequest(`${path} cannot be used here`, { path })
  return { tagfilter: parsed }
}

function ids(value: unknown, path: string): number[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badRequest(`${path} must be an array of ids`, { path })
  const wrong = value.find((id) => !Number.isSafeInteger(id) || id < 1)
  if (wrong !== undefined) throw badRequest(`${path} must be an array of ids`, { path, value: wrong })
  return [...new Set(value as number[])]
}

/** All tags in the filters of the drafts, with the path of their filter. */
export function tagsOf(drafts: readonly GrantDraft[]): Map<number, string> {
  const tags = new Map<number, string>()
  for (const { tagfilter, path } of drafts) {
    if (!tagfilter) continue
    for (const tag of [...tagfilter.all, ...tagfilter.any, ...tagfilter.not]) tags.set(tag, `${path}.tagfilter`)
  }
  return tags
}

/** The stored form of a draft; key order is fixed, so equal grants have equal JSON. */
export function toGrant(draft: GrantDraft, id: number, who: Principal): StoredGrant {
  const { rights, tagfilter, from, to, active, sticky, preset } = draft
  return {
    id,
    who,
    rights,
    ...(tagfilter ? { tagfilter } : {}),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
    ...(active === false ? { active } : {}),
    ...(sticky ? { sticky } : {}),
    ...(preset ? { preset } : {}),
  }
}

/** A grant list as clients see it. */
export function renderAcl(grants: readonly StoredGrant[], names: WhoNames): RightApi[] {
  return grants.map((grant) => ({
    _id: grant.id,
    who: renderWho(grant.who, names),
    active: grant.active !== false,
    sticky: grant.sticky === true,
    ...(grant.from || grant.to
      ? { when: { ...(grant.from ? { from: grant.from } : {}), ...(grant.to ? { to: grant.to } : {}) } }
      : {}),
    rights: grant.rights,
    ...(grant.tagfilter ? { tagfilter: renderTagFilter(grant.tagfilter) } : {}),
    ...(grant.preset ? { _right_preset: grant.preset } : {}),
  }))
}

/** Conditions without tags are left out. */
function renderTagFilter({ all, any, not }: TagFilter): RightApi['tagfilter'] {
  return {
    ...(all.length > 0 ? { all: [...all] } : {}),
    ...(any.length > 0 ? { any: [...any] } : {}),
    ...(not.length > 0 ? { not: [...not] } : {}),
  }
}
