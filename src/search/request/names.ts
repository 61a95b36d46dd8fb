/** Resolves field names of requests to their meaning. */
import type { Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { nearestName } from '../../platform/values/nearest.ts'
import type { FieldCatalogue, SearchField } from '../plan/fields.ts'

export type SystemName =
  | '_fulltext'
  | '_score'
  | '_system_object_id'
  | '_global_object_id'
  | '_uuid'
  | '_objecttype'
  | '_pool'
  | '_pool.reference'
  | '_tags'
  | '_owner'
  | '_created'
  | '_last_modified'
  | '_standard'
  | '_collections'
  | '_published'

const systemNames: Readonly<Record<string, SystemName>> = {
  _fulltext: '_fulltext',
  _score: '_score',
  _system_object_id: '_system_object_id',
  _global_object_id: '_global_object_id',
  _uuid: '_uuid',
  _objecttype: '_objecttype',
  _pool: '_pool',
  '_pool.pool._id': '_pool',
  '_pool._id': '_pool',
  '_pool.reference': '_pool.reference',
  '_pool.pool.reference': '_pool.reference',
  _tags: '_tags',
  '_tags._id': '_tags',
  _owner: '_owner',
  '_owner.user._id': '_owner',
  '_owner.group._id': '_owner',
  _collections: '_collections',
  '_collections._id': '_collections',
  '_collections.collection._id': '_collections',
  '_published._id': '_published',
  '_published.collector': '_published',
  '_published.publish_uri': '_published',
  _created: '_created',
  _last_modified: '_last_modified',
  '_changelog.date_created': '_created',
  '_changelog.date_last_updated': '_last_modified',
  _standard: '_standard',
  '_standard.1': '_standard',
  '_standard.1.text': '_standard',
}

export type Named =
  | { readonly kind: 'system'; readonly name: SystemName; readonly written: string; readonly language: string | null }
  /** `_id` of an object type. */
  | { readonly kind: 'id'; readonly objecttype: number; readonly written: string }
  /** `_id` of the parent, or of one of the parents, in a hierarchy. */
  | { readonly kind: 'parent'; readonly objecttype: number; readonly written: string }
  /** `_id` of the target of a link. The index has only the target's system object id. */
  | { readonly kind: 'targetId'; readonly field: SearchField; readonly written: string }
  /** `artwork.date.range_year`: the years of dates. */
  | {
      readonly kind: 'period'
      readonly field: SearchField
      readonly unit: 'year' | 'month'
      readonly written: string
    }
  | {
      readonly kind: 'field'
      readonly field: SearchField
      readonly written: string
      /** `artwork.title.en-US` */
      readonly language: string | null
      /** `artwork.date.to` */
      readonly part: 'from' | 'to' | null
    }

/** The highest number of parts after a field: `_standard.1.text.de-DE` has four. Names of many dots are not examined further. */
const mostSteps = 10

/** The parts that may follow a link. They name the linked object, or its `_standard`. */
const linkParts = /^(?:_system_object_id|_global_object_id|_standard(?:\.1(?:\.text(?:\.(?<language>[\w-]+))?)?)?)$/

const periods: ReadonlyMap<string, 'year' | 'month'> = new Map([
  ['range_year', 'year'],
  ['range_month', 'month'],
])

/** @throws {AppError} `SearchFieldUnknown` */
export function resolveName(fields: FieldCatalogue, written: string): Named {
  const named = findName(fields, written)
  if (named === null) throw unknownField(written, [...fields.byName.keys(), ...Object.keys(systemNames)])
  return named
}

/** The meaning of a name for the searched objects themselves. `null`: the name has none. */
export function findName(fields: FieldCatalogue, written: string): Named | null {
  const system = resolveSystem(fields, written)
  if (system) return system
  const exact = fields.byName.get(written)
  if (exact) return { kind: 'field', field: exact, written, language: null, part: null }
  let steps = 0
  for (
    let dot = written.lastIndexOf('.');
    dot > 0 && steps < mostSteps;
    dot = written.lastIndexOf('.', dot - 1), steps++
  ) {
    const field = fields.byName.get(written.slice(0, dot))
    const rest = field && withoutTarget(field, written.slice(dot + 1))
    if (field?.kind === 'link' && rest === '_id') return { kind: 'targetId', field, written }
    const unit = field?.kind === 'date' ? periods.get(rest as string) : undefined
    if (field && unit) return { kind: 'period', field, unit, written }
    const part = field && resolvePart(field, rest as string)
    if (field && part) return { kind: 'field', field, written, ...part }
  }
  return null
}

/** The error for a name that no field has; `nearest` is the field that was probably meant. */
export function unknownField(written: string, known: readonly string[]): AppError {
  const field = written.slice(0, 200)
  // Names of fields do not contain the language or the part of a value: `artwork.titel.en-US`.
  const whole = field.slice(0, Math.max(field.lastIndexOf('.'), 0))
  const nearest = nearestName(field, known) ?? (whole === '' ? null : nearestName(whole, known))
  return new AppError(
    'SearchFieldUnknown',
    { field, ...(nearest === null ? {} : { nearest }) },
    { message: `The search field ${field} does not exist${nearest === null ? '.' : `; did you mean ${nearest}?`}` },
  )
}

/** Resolves a link. If it is named by the `_id` of its target, and only the link itself matters, it is the link. */
export function resolveLink(fields: FieldCatalogue, written: string): Named {
  const named = resolveName(fields, written)
  return named.kind === 'targetId' ? linkOf(named) : named
}

export function linkOf({ field, written }: Extract<Named, { kind: 'targetId' }>): Named {
  return { kind: 'field', field, written, language: null, part: null }
}

function resolveSystem(fields: FieldCatalogue, written: string): Named | null {
  const own = Object.hasOwn(systemNames, written) ? systemNames[written] : undefined
  if (own) return { kind: 'system', name: own, written, language: null }
  const standard = /^_standard\.1\.text\.([\w-]+)$/.exec(written)
  if (standard) return { kind: 'system', name: '_standard', written, language: standard[1] as string }
  // `artwork._pool` and the like: the object type is filtered by other means.
  for (const { table } of fields.types.values()) {
    if (!written.startsWith(`${table.name}._`)) continue
    const rest = written.slice(table.name.length + 1)
    if (rest === '_id') return { kind: 'id', objecttype: table.id, written }
    if (isParent(table, rest)) return { kind: 'parent', objecttype: table.id, written }
    const name = Object.hasOwn(systemNames, rest) ? systemNames[rest] : undefined
    if (name && name !== '_fulltext' && name !== '_score') return { kind: 'system', name, written, language: null }
  }
  return null
}

/** `_parents.<type>._id` in every hierarchy; if objects have one parent, also `_id_parent`. */
function isParent({ name, hierarchical, polyhierarchical }: Table, rest: string): boolean {
  if (rest === `_parents.${name}._id`) return hierarchical || polyhierarchical
  return rest === '_id_parent' && hierarchical && !polyhierarchical
}

/**
 * The rest of a name after a link, without the type of the target. Clients write that type as payloads do:
 * `work.creator.person._id`.
 */
function withoutTarget({ column: { target } }: SearchField, rest: string): string {
  return target && rest.startsWith(`${target.name}.`) ? rest.slice(target.name.length + 1) : rest
}

function resolvePart(field: SearchField, rest: string): { language: string | null; part: 'from' | 'to' | null } | null {
  if (field.kind === 'link') {
    const match = linkParts.exec(rest)
    return match && { language: match.groups?.language ?? null, part: null }
  }
  if (field.kind === 'files' && rest === '_id') return { language: null, part: null }
  if (field.kind === 'date' && (rest === 'value' || rest === 'from_to')) return { language: null, part: null }
  if (field.kind === 'date' && (rest === 'from' || rest === 'to')) return { language: null, part: rest }
  if (field.kind === 'l10n' && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(rest)) return { language: rest, part: null }
  return null
}

/** The error for a field that exists but is not allowed here. */
export function notAllowed(written: string, use: string): AppError {
  return new AppError('SearchFieldNotAllowed', { field: written, use })
}
