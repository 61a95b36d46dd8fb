/** Texts of hits with the matches marked, as far as the caller sees the fields. */

import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Yielder } from '../../platform/process/cooperative-yield.ts'
import { foldedText, marked, type Span } from '../document/marks.ts'
import type { SearchField } from '../plan/fields.ts'
import type { SearchEngine, SearchPlan } from '../plan/plan.ts'
import { isAbout, type Marker, markersOf, spansIn } from './markers.ts'
import { type Place, readTexts } from './store.ts'

/** By name of the field: texts as HTML. */
export type Highlights = Readonly<Record<string, readonly string[]>>

export interface HighlightContext {
  readonly engine: Pick<SearchEngine, 'shows'>
  readonly q: Queryable
  readonly plan: SearchPlan
  readonly deadline: Deadline
  readonly yielder: Yielder
}

/** The length of a returned text in characters, and the number of characters before the first match. */
const fragment = { length: 300, before: 60 }
/** The highest number of texts of one field of a hit. */
const mostTexts = 5

const kinds: readonly SearchField['kind'][] = ['text', 'string', 'l10n']

export async function highlightHits(
  ids: readonly number[],
  { engine, q, plan, deadline, yielder }: HighlightContext,
): Promise<ReadonlyMap<number, Highlights>> {
  const markers = markersOf(plan.scope.where)
  const places = placesOf(markers, plan)
  const found = new Map<number, Record<string, string[]>>(ids.map((id) => [id, {}]))
  if (places.length === 0 || ids.length === 0) return found
  const fields = [...new Set(places.map(({ field }) => field))]
  const [texts, shown] = await Promise.all([readTexts(q, ids, places), engine.shows(plan, ids, fields, deadline)])
  for (const { id, place, text } of texts) {
    const { field, language } = places[place] as Place
    const own = found.get(id)
    if (!own || !shown.get(field)?.has(id) || (own[field.name]?.length ?? 0) >= mostTexts) continue
    const about = markers.filter((marker) => isAbout(marker, field, language))
    const spans = spansIn(foldedText(text), field, about)
    if (spans.length > 0) own[field.name] = [...(own[field.name] ?? []), fragmentOf(text, spans)]
    if (yielder.due()) await yielder.yield()
  }
  return found
}

/** The fields and languages whose texts are searched. */
function placesOf(markers: readonly Marker[], { fields, languages, scope }: SearchPlan): Place[] {
  if (markers.length === 0) return []
  const types = scope.objecttypes ?? [...fields.types.keys()]
  const all = types.flatMap((id) => fields.types.get(id)?.all ?? [])
  return all
    .filter(({ kind, part }) => part === null && kinds.includes(kind))
    .flatMap((field) => (field.kind === 'l10n' ? languages : [null]).map((language) => ({ field, language })))
    .filter(({ field, language }) => markers.some((marker) => isAbout(marker, field, language)))
}

function fragmentOf(text: string, spans: readonly Span[]): string {
  const [[first]] = spans as [Span]
  if (text.length <= fragment.length) return marked(text, spans, 'em')
  const start = boundary(text, Math.max(0, Math.min(first - fragment.before, text.length - fragment.length)))
  const end = boundary(text, Math.min(text.length, start + fragment.length))
  const within = spans
    .filter(([from, to]) => from >= start && to <= end)
    .map(([from, to]): Span => [from - start, to - start])
  return `${start > 0 ? '…' : ''}${marked(text.slice(start, end), within, 'em')}${end < text.length ? '…' : ''}`
}

/** Not within a character of two UTF-16 units. */
function boundary(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at
}
