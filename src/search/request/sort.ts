/** `sort` and `search_after` of a request. */
import type { Table } from '../../datamodel/model.ts'
import { AppError } from '../../platform/errors.ts'
import { mostRuns } from '../document/digits.ts'
import type { FieldCatalogue } from '../plan/fields.ts'
import type { SearchEngine, SortField, SortKey, Which } from '../plan/plan.ts'
import { assetFields } from './assets.ts'
import { linkOf, notAllowed } from './names.ts'
import { resolvePath } from './paths.ts'
import { choice, type Fields, fieldsAt, integerOf, languageAt, listAt, optional, wrong } from './read.ts'

interface SortContext {
  readonly fields: FieldCatalogue
  /** The searched object types. */
  readonly objecttypes: readonly Table[]
  /** Database languages: the languages of the request come first. */
  readonly languages: readonly string[]
  /** Whether the request has a clause by which relevance can be scored. */
  readonly scored: boolean
}

/** The keys of the order, the id last. Without a requested order: by relevance if there is any, else by id. */
export function sortKeys(list: unknown, context: SortContext): readonly SortKey[] {
  const entries = listAt(list ?? [], 'sort', 20)
  const keys = entries.flatMap((entry, index) => sortKeysOf(entry, `sort[${index}]`, context))
  if (keys.length === 0 && context.scored) keys.push({ field: { by: 'score' }, descending: true })
  // Keys after the id would have no effect, because ids are unique.
  const id = keys.findIndex((key) => key.field.by === 'id')
  return id === -1 ? [...keys, { field: { by: 'id' }, descending: false }] : keys.slice(0, id + 1)
}

function sortKeysOf(entry: unknown, place: string, context: SortContext): readonly SortKey[] {
  const key = fieldsAt(entry, place)
  const name = optional(key, 'field', 'string', place) ?? ''
  const order = optional(key, 'order', 'string', place)
  const language = languageAt(key, place)
  const direction = order ? choice(order.toLowerCase(), ['asc', 'desc'], `${place}.order`) : undefined
  const { ends, which } = modeOf(key, place)
  const fields = ends.map((end) => sortField(name, language, end, place, context))
  return fields
    .flatMap((field) => refined(field, key, place))
    .map((field) => {
      const descending = direction === undefined ? field.by === 'score' : direction === 'desc'
      return { field: chosen(field, which, descending, place), descending }
    })
}

/** Of the values that links back lead to one counts: where nothing is said, the one that the order begins with. */
function chosen(field: SortField, which: Which | undefined, descending: boolean, place: string): SortField {
  if (field.by === 'field' && field.steps?.some(({ reverse }) => reverse)) {
    return { ...field, which: which ?? (descending ? 'greatest' : 'least') }
  }
  if (which !== undefined) throw wrong(`${place}.mode`, 'absent where the field leads back through no link')
  return field
}

const units = ['year', 'month', 'week', 'day'] as const

/** The field with the further options of the key. Digit groups come before the text that they are in. */
function refined(field: SortField, key: Fields, place: string): readonly SortField[] {
  const path = optional(key, 'with_path', 'boolean', place) ?? false
  const width = optional(key, 'width', 'string', place)
  const numeric = optional(key, 'numeric', 'boolean', place) ?? true
  const groups = listAt(key.number_groups ?? [], `${place}.number_groups`, mostRuns).map((group, index) => {
    const run = integerOf(group)
    if (run !== null && run >= 1 && run <= mostRuns) return run
    throw wrong(`${place}.number_groups[${index}]`, `an integer from 1 to ${mostRuns}`)
  })
  const kind = field.by === 'field' ? field.field.kind : null
  if (path && field.by !== 'standard' && kind !== 'link')
    throw wrong(`${place}.with_path`, 'absent where there is no path')
  if (width && kind !== 'date') throw wrong(`${place}.width`, 'absent where the field is no date')
  const isText = kind === 'text' || kind === 'string' || kind === 'l10n'
  if (!numeric && !isText) throw wrong(`${place}.numeric`, 'absent where the field is no column of texts')
  if (groups.length > 0 && !isText)
    throw wrong(`${place}.number_groups`, 'absent where the field is no column of texts')
  if (field.by === 'standard') return [path ? { ...field, path } : field]
  if (field.by !== 'field') return [field]
  return [
    ...groups.map((digits) => ({ ...field, digits })),
    {
      ...field,
      ...(path ? { path } : {}),
      ...(width ? { width: choice(width, units, `${place}.width`) } : {}),
      ...(numeric ? {} : { digits: 'letters' as const }),
    },
  ]
}

type End = 'from' | 'to'

/**
 * `mode`: by which end of their interval dates sort; `from_to` by the first one, then by the last one. `min`, `max`: which of the
 * values that links back lead to.
 */
function modeOf(key: Fields, place: string): { readonly ends: readonly (End | undefined)[]; readonly which?: Which } {
  const mode = optional(key, 'mode', 'string', place)
  if (!mode) return { ends: [undefined] }
  const known = choice(mode, ['from', 'to', 'from_to', 'min', 'max'], `${place}.mode`)
  if (known === 'min' || known === 'max') return { ends: [undefined], which: known === 'min' ? 'least' : 'greatest' }
  return { ends: known === 'from_to' ? ['from', 'to'] : [known] }
}

function sortField(
  name: string,
  wanted: string | undefined,
  end: End | undefined,
  place: string,
  context: SortContext,
): SortField {
  const { fields, languages } = context
  const assets = assetFields(name, context)
  if (assets?.length === 0) throw notAllowed(name, 'sort')
  const [first, ...others] = (assets ?? []).map((field) => sortField(field.name, wanted, end, place, context))
  if (first?.by === 'field') {
    if (others.length === 0) return first
    return { ...first, others: others.flatMap((each) => (each.by === 'field' ? each.field : [])) }
  }
  const parent = parents.get(name)
  if (parent) {
    if (end !== undefined) throw wrong(`${place}.mode`, 'absent where the field is no date')
    const own = wanted ? [wanted, ...languages.filter((each) => each !== wanted)] : languages
    return { by: 'parent', languages: own, path: parent.path }
  }
  const { steps, named: found } = resolvePath(fields, name)
  const named = found.kind === 'targetId' ? linkOf(found) : found
  if (steps.length > 0 && named.kind !== 'field') throw notAllowed(name, 'sort')
  const through = steps.length > 0 ? { steps } : {}
  const language = wanted ?? ('language' in named ? named.language : null)
  const preferred = language ? [language, ...languages.filter((each) => each !== language)] : languages
  if (named.kind === 'system') {
    if (end !== undefined) throw wrong(`${place}.mode`, 'absent where the field is no date')
    const by = systemKeys[named.name as keyof typeof systemKeys]
    if (by === undefined) throw notAllowed(name, 'sort')
    return by === 'standard' ? { by, languages: preferred } : { by }
  }
  if (
    named.kind !== 'field' ||
    named.field.part?.sorted === false ||
    ['custom', 'geo', 'files'].includes(named.field.kind)
  )
    throw notAllowed(name, 'sort')
  if (named.field.kind !== 'date') {
    if (end !== undefined) throw wrong(`${place}.mode`, 'absent where the field is no date')
    return { by: 'field', field: named.field, languages: preferred, end: false, ...through }
  }
  const isEnd = (end ?? named.part ?? 'from') === 'to'
  return { by: 'field', field: named.field, languages: preferred, end: isEnd, ...through }
}

const parents: ReadonlyMap<string, { readonly path: boolean }> = new Map([
  ['_standard_parent', { path: false }],
  ['_standard_parents', { path: true }],
])

const systemKeys = {
  _score: 'score',
  _system_object_id: 'id',
  _created: 'created',
  _last_modified: 'modified',
  _objecttype: 'objecttype',
  _standard: 'standard',
} as const

/** Values of the keys of the hit after which the page begins, from its `_sort`. */
export function searchAfter(
  list: unknown,
  keys: readonly SortKey[],
  isSortValue: SearchEngine['isSortValue'],
): readonly unknown[] | null {
  if (list === undefined || list === null) return null
  const values = listAt(list, 'search_after', 20)
  if (values.length === 0) return null
  if (values.length !== keys.length) {
    throw new AppError(
      'ServerGeneric',
      { name: 'search_after', got: values.length, expected: keys.length },
      { message: `search_after must have ${keys.length} values: those of _sort of the last hit, under the same sort.` },
    )
  }
  for (const [index, value] of values.entries()) {
    if (!isSortValue(keys[index] as SortKey, value)) throw wrong(`search_after[${index}]`, 'a value of _sort')
  }
  return values
}
