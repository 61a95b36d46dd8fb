/** The order of hits, compared value by value. */

import type { Table } from '../../../src/datamodel/model.ts'
import type { Localized } from '../../../src/platform/values/localized.ts'
import { patterns, words } from '../../../src/search/document/analyze.ts'
import { orderedMoment } from '../../../src/search/document/ordered.ts'
import { intervalOf } from '../../../src/search/document/values.ts'
import type { LinkStep } from '../../../src/search/plan/field-paths.ts'
import type { SearchField } from '../../../src/search/plan/fields.ts'
import type { ScoreTerm, SearchPlan, SortField, SortKey } from '../../../src/search/plan/plan.ts'
import { type MemoryDocument, valuesAt } from './documents.ts'
import { matches } from './match.ts'
import { decisive } from './steps.ts'
import { type Asked, unitOf } from './text.ts'
import { isSeen, mayRead } from './visibility.ts'

type Value = string | number | null

/** Letters of a text that a hit carries; behind more of them stands a sign. */
const mostCarried = 100
const sign = '\u0001'

export function sortValues(document: MemoryDocument, asked: Asked): Value[] {
  return asked.plan.sort.map(({ field }) => sortValue(field, document, asked))
}

export const shown = (values: readonly Value[]): Value[] =>
  values.map((value) =>
    typeof value === 'string' && value.length > mostCarried ? value.slice(0, mostCarried) + sign : value,
  )

export function isSortValue({ field }: SortKey, value: unknown): boolean {
  const { by } = field
  if (value === null) return by === 'standard' || by === 'field' || by === 'created' || by === 'modified'
  if (by === 'score') return Number.isFinite(value)
  if (by !== 'standard' && by !== 'field') return Number.isSafeInteger(value)
  const number = by === 'field' && ['number', 'boolean'].includes(field.field.kind)
  return number ? Number.isFinite(value) : typeof value === 'string' && value.length <= mostCarried + 1
}

/** The values that a hit carried, whole again where the hit is still what it was. */
export function carried(after: readonly unknown[], asked: Asked): Value[] {
  const document = asked.all.get(after.at(-1) as number)
  const now = document ? sortValues(document, asked) : []
  return (after as readonly Value[]).map((value, index) => {
    if (typeof value !== 'string' || !value.endsWith(sign)) return value
    const head = value.slice(0, -1)
    const whole = now[index]
    return typeof whole === 'string' && whole.startsWith(head) ? whole : head
  })
}

export function comparison({ sort, languages }: SearchPlan): (a: readonly Value[], b: readonly Value[]) => number {
  const { compare } = new Intl.Collator(languages[0], { numeric: true, ignorePunctuation: false })
  return (a, b) => {
    for (const [index, { field, descending }] of sort.entries()) {
      const [one, other] = [a[index] ?? null, b[index] ?? null]
      if (one === other) continue
      if (one === null || other === null) return one === null ? 1 : -1
      const order =
        typeof one === 'string' && isText(field)
          ? compare(one, other as string)
          : Number(one > other) - Number(one < other)
      if (order !== 0) return descending ? -order : order
    }
    return 0
  }
}

const isText = (field: SortField): boolean =>
  field.by === 'standard' || (field.by === 'field' && field.field.kind !== 'date')

function sortValue(field: SortField, document: MemoryDocument, asked: Asked): Value {
  const { plan } = asked
  const { source } = document
  switch (field.by) {
    case 'id':
      return document.id
    case 'score':
      return scoreOf(document, asked)
    case 'objecttype': {
      const names = [...plan.model.objecttypes.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      return names.findIndex(({ id }) => id === source.objecttype) + 1
    }
    case 'created':
    case 'modified': {
      const table = plan.fields.types.get(source.objecttype)?.table
      if (!table || !isSeen(plan.fieldVisibility.any(table), document)) return null
      return field.by === 'created' ? source.createdAt : source.modifiedAt
    }
    case 'parent':
      throw new Error('this engine knows no order by parents')
    case 'standard':
      if (field.path) throw new Error('this engine knows no order by paths')
      return inOneOf(source.standard['1']?.text, field.languages)
    case 'field':
      if (field.path || field.width || field.digits !== undefined) throw new Error('this engine knows no such order')
      if (field.steps) return throughLinks(field, field.steps, document, asked)
      for (const each of [field.field, ...(field.others ?? [])]) {
        const seen = isSeen(plan.fieldVisibility.column(each), document)
        const value = seen ? ofColumn({ ...field, field: each }, document, asked) : null
        if (value !== null) return value
      }
      return null
  }
}

/** Along the first link of each step; of what leads back the least or the greatest value. */
function throughLinks(
  { steps: _, ...field }: Extract<SortField, { by: 'field' }>,
  steps: readonly LinkStep[],
  document: MemoryDocument,
  asked: Asked,
): Value {
  let at: readonly MemoryDocument[] = [document]
  for (const step of steps) at = at.flatMap((each) => decisive(each, step, asked))
  const compare = comparison({ ...asked.plan, sort: [{ field, descending: field.which === 'greatest' }] })
  const [best = null] = at.map((each) => sortValue(field, each, asked)).sort((a, b) => compare([a], [b]))
  return best
}

/** Of a nested table the first row with a value counts. */
function ofColumn(
  { field, languages, end }: Extract<SortField, { by: 'field' }>,
  document: MemoryDocument,
  { plan, all }: Asked,
): Value {
  const [value] = valuesAt({ document, row: null }, field)
  if (value === undefined) {
    const own = field.kind === 'boolean' && field.path.length === 0 && isOf(field.column.table.root, document)
    return own ? 0 : null
  }
  switch (field.kind) {
    case 'text':
    case 'string':
      return value as string
    case 'l10n':
      return inOneOf(value as Localized, languages)
    case 'number':
      return value as number
    case 'boolean':
      return Number(value)
    case 'date': {
      const interval = intervalOf(value)
      if (!interval) return null
      const from = interval.from === null ? '-' : orderedMoment(interval.from)
      const to = interval.to === null ? 'z' : orderedMoment(interval.to)
      return end ? to : `${from}|${to}`
    }
    case 'link': {
      const target = all.get(value as number)
      if (!target || !mayRead(plan.fieldVisibility, target)) return null
      return inOneOf(document.links.get(target.id)?.title, languages)
    }
    default:
      return null
  }
}

const isOf = ({ id }: Table, { source }: MemoryDocument): boolean => id === source.objecttype

function inOneOf(text: Localized | undefined, languages: readonly string[]): string | null {
  for (const language of languages) if (text?.[language] !== undefined) return text[language]
  return null
}

/** Highest where the words stand in the title, and the shorter that is; then in the subtitle, then anywhere else. */
export function scoreOf(document: MemoryDocument, asked: Asked): number {
  return asked.plan.score
    .filter(({ clause, boost }) => boost > 0 && matches(clause, { document, row: null }, asked))
    .reduce((sum, term) => sum + term.boost * (0.1 + inNames(term, document, asked)), 0)
}

function inNames({ clause }: ScoreTerm, document: MemoryDocument, { plan }: Asked): number {
  if (clause.is !== 'text') return 0
  const named = ({ weight }: Pick<SearchField, 'weight'>): boolean => weight === 'A' || weight === 'B'
  if (!clause.targets.some(({ field }) => field === null || named(field))) return 0
  const units =
    clause.mode === 'wildcard'
      ? patterns(clause.text, 'words').map(unitOf)
      : words(clause.text).map((wanted) => (word: string) => word === wanted)
  const fields = (plan.fields.types.get(document.source.objecttype)?.all ?? []).filter(
    (field) => field.fulltext && named(field) && isSeen(plan.fieldVisibility.column(field), document),
  )
  const found = fields.flatMap((field) =>
    valuesAt({ document, row: null }, field).flatMap((value) =>
      Object.values(typeof value === 'string' ? { text: value } : (value as Localized)).flatMap((text) =>
        words(String(text)).map((word) => ({ word, worth: field.weight === 'A' ? 1 : 0.5 })),
      ),
    ),
  )
  if (found.length === 0) return 0
  const sum = found.filter(({ word }) => units.some((unit) => unit(word))).reduce((all, { worth }) => all + worth, 0)
  return sum / (units.length * (1 + found.length))
}
