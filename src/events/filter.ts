import { badRequest } from '../platform/errors.ts'
import { parseMoment } from '../platform/values/moments.ts'

/** The list filters as the query string has them (specification, Event log); each is a comma-separated list. */
export interface FilterQuery {
  id?: string
  pollable?: string
  type?: string
  basetype?: string
  objecttype?: string
  user_id?: string
  group_id?: string
  user_type?: string
  object_id?: string
  system_object_id?: string
  date_from?: string
  date_to?: string
}

/** Parsed filters; an absent member does not restrict. */
export interface EventFilter {
  ids?: readonly IdRange[]
  pollable?: readonly boolean[]
  types?: readonly string[]
  basetypes?: readonly string[]
  objecttypes?: readonly string[]
  userIds?: readonly number[]
  groupIds?: readonly number[]
  userTypes?: readonly string[]
  objectIds?: readonly number[]
  systemObjectIds?: readonly number[]
  /** Inclusive. */
  from?: Date
  /** Exclusive, so that adjacent windows share no event. */
  to?: Date
}

export type IdRange = readonly [first: number, last: number]

export interface SortKey {
  field: SortField
  descending: boolean
}

export const sortFields = [
  '_id',
  'type',
  'schema',
  'object_id',
  'system_object_id',
  'object_version',
  'timestamp',
  'user_generated_displayname',
] as const
export type SortField = (typeof sortFields)[number]

/** A longer list in a query string is a mistake, and each range is a condition of its own. */
const maxRanges = 500

/** @throws {AppError} `ServerGeneric` with the parameter's name for a value that cannot be parsed (EVAPI-029). */
export function parseFilter(query: FilterQuery): EventFilter {
  return {
    ids: list(query.id, 'id', idRange),
    pollable: list(query.pollable, 'pollable', flag),
    types: list(query.type, 'type', text),
    basetypes: list(query.basetype, 'basetype', text),
    objecttypes: list(query.objecttype, 'objecttype', text),
    userIds: list(query.user_id, 'user_id', integer),
    groupIds: list(query.group_id, 'group_id', integer),
    userTypes: list(query.user_type, 'user_type', text),
    objectIds: list(query.object_id, 'object_id', integer),
    systemObjectIds: list(query.system_object_id, 'system_object_id', integer),
    from: timestamp(query.date_from, 'date_from'),
    to: timestamp(query.date_to, 'date_to'),
  }
}

/** `field.DIR,field.DIR`; empty: newest first (EVAPI-025). */
export function parseSort(query: string | undefined): SortKey[] {
  return (
    list(query, 'sort', (item, fail) => {
      const [field, direction, ...rest] = item.split('.')
      if (!sortFields.includes(field as SortField)) return fail(`"${field}" is no field to sort by`)
      if ((direction !== 'ASC' && direction !== 'DESC') || rest.length > 0) {
        return fail(`"${item}" needs the form field.ASC or field.DESC`)
      }
      return { field: field as SortField, descending: direction === 'DESC' }
    }) ?? [{ field: '_id', descending: true }]
  )
}

type Fail = (reason: string) => never

function list<T>(
  query: string | undefined,
  name: string,
  parse: (item: string, fail: Fail) => T,
): (readonly T[] & T[]) | undefined {
  if (query === undefined || query === '') return undefined
  const fail: Fail = (reason) => {
    throw badRequest(`The query parameter ${name} cannot be read: ${reason}.`, { param: name, got: query })
  }
  const items = query.split(',')
  if (items.length > maxRanges && name === 'id') fail(`more than ${maxRanges} ids and ranges`)
  return items.map((item) => parse(item.trim(), fail))
}

function text(item: string, fail: Fail): string {
  if (item === '') return fail('an entry is empty')
  if (!item.isWellFormed() || item.includes('\0')) return fail('it has a character that is not allowed')
  return item
}

function integer(item: string, fail: Fail): number {
  const value = Number(item)
  if (!/^\d+$/.test(item) || !Number.isSafeInteger(value)) return fail(`"${item}" is no id`)
  return value
}

function flag(item: string, fail: Fail): boolean {
  if (item === 'true' || item === '1') return true
  if (item === 'false' || item === '0') return false
  return fail(`"${item}" is neither true nor false`)
}

function idRange(item: string, fail: Fail): IdRange {
  const [first = '', last, ...rest] = item.split('-')
  if (rest.length > 0) return fail(`"${item}" is no range of ids`)
  const from = integer(first, fail)
  const to = last === undefined ? from : integer(last, fail)
  if (to < from) return fail(`the range "${item}" ends before it starts`)
  return [from, to]
}

/** A `+` that arrives as a blank is accepted. */
function timestamp(query: string | undefined, name: string): Date | undefined {
  if (query === undefined || query === '') return undefined
  const date = parseMoment(query.replace(' ', '+'))
  if (date === null) {
    throw badRequest(`The query parameter ${name} is no ISO 8601 timestamp.`, { param: name, got: query })
  }
  return date
}
