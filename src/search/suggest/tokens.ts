/**
 * Suggests words, and whole values of `string` columns, that complete the typed text, with the number of objects that they find.
 */
import { escapeMarkup } from '../../platform/values/markup.ts'
import { foldedText, marked } from '../document/marks.ts'
import { fieldsOf } from '../plan/fields.ts'
import type { SearchPlan } from '../plan/plan.ts'
import { resolvePath } from '../request/paths.ts'
import { counting, namesOf, type SuggestContext, searchFor, textElement, typedSpan, typesOf } from './context.ts'
import type { SuggestedToken } from './schema.ts'
import { type Typed, typedValue, typedWord } from './typed.ts'

/** The number of matching terms among which the best are chosen: at least this number, or a multiple of the limit. */
const examined = { least: 40, times: 2 }
/** The highest number of fields of one text element. */
const mostFields = 100

interface Candidate {
  readonly term: string
  readonly typed: Typed
  readonly plan: SearchPlan
  readonly placeholder: string
  readonly about: number
  readonly exact?: boolean
}

export async function suggestTokens(context: SuggestContext): Promise<SuggestedToken[]> {
  const found = (await Promise.all([findWords(context), findValues(context)])).flat()
  const byTerm = new Map<string, Candidate>()
  for (const candidate of found) {
    const key = [...candidate.typed.earlier, candidate.term].join(' ')
    // A word is searched in all fields, a value only in the fields that have it.
    if (!byTerm.has(key)) byTerm.set(key, candidate)
  }
  const chosen = [...byTerm.values()].sort(inOrder).slice(0, context.limit)
  const counted = await withCounts(chosen, context)
  return counted
    .sort(inOrder)
    .map(({ term, typed, about: count }) => ({ suggest: shown(term, typed), tokens: [...typed.earlier, term], count }))
}

/** The candidates with exact counts. Candidates that there was no time for, or that have disappeared, are left out. */
async function withCounts(chosen: readonly Candidate[], { engine, time }: SuggestContext): Promise<Candidate[]> {
  const byPlan = [...Map.groupBy(chosen, ({ plan }) => plan)]
  const counted = byPlan.map(async ([plan, candidates]) => {
    const [{ placeholder }] = candidates as [Candidate]
    const counts = await time.within(() => engine.counts(plan, placeholder, candidates, time.deadline))
    return candidates.flatMap((candidate) => {
      const about = counts?.get(candidate.term)
      if (about === undefined) time.end()
      return about ? [{ ...candidate, about }] : []
    })
  })
  return (await Promise.all(counted)).flat()
}

async function findWords(context: SuggestContext): Promise<Candidate[]> {
  const typed = typedWord(context.request)
  return typed === null ? [] : find(context, typed, namesOf(context.request), [0])
}

/**
 * Values of the `string` columns in the request. For a query that is one word or value, also of the `string` columns in
 * `_fulltext`.
 */
async function findValues(context: SuggestContext): Promise<Candidate[]> {
  const { request, model } = context
  const catalogue = fieldsOf(model)
  const asked = request.fields ?? []
  const named = asked.flatMap((name) => {
    const { named: found } = resolvePath(catalogue, name)
    return found.kind === 'field' && found.field.kind === 'string' ? { name, column: found.field.column } : []
  })
  const { tokens_dont_split_query: whole = false, objecttypes = [] } = request
  const searched =
    objecttypes.length === 0 ? [...model.objecttypes.values()] : typesOf(objecttypes, 'objecttypes', model)
  const inFulltext = searched.flatMap((table) => catalogue.types.get(table.id)?.all ?? [])
  const fields =
    asked.length > 0 || !whole ? named : inFulltext.filter(({ kind, fulltext }) => kind === 'string' && fulltext)
  const typed = typedValue(request)
  if (typed === null || fields.length === 0) return []
  const used = fields.slice(0, mostFields)
  return find(
    context,
    typed,
    used.map(({ name }) => name),
    used.map(({ column }) => column.id),
  )
}

/** Terms of the dictionaries in the fields. The `earlier` words may be in any of the requested fields. */
async function find(
  context: SuggestContext,
  typed: Typed,
  fields: readonly string[],
  dictionaries: readonly number[],
): Promise<Candidate[]> {
  const { request, engine, time, limit } = context
  const placeholder = placeholderFor(typed)
  const earlier = typed.earlier.map((word) => textElement(word, namesOf(request), request))
  const { plan } = await context.compile(searchFor(request, [textElement(placeholder, fields, request), ...earlier]))
  const asked = counting(plan)
  const most = Math.max(examined.least, examined.times * limit)
  const candidates: Candidate[] = []
  for (const match of typed.matches) {
    // Terms of a kind come before all terms of the next one.
    if (candidates.length >= limit) break
    const source = { fields: dictionaries, match }
    const found = await time.within(() =>
      engine.terms(asked, { placeholder, source, most: most - candidates.length, within: time.left() }, time.deadline),
    )
    if (found === null || found.timedOut) time.end()
    for (const each of found?.terms ?? []) candidates.push({ ...each, typed, plan: asked, placeholder })
  }
  return candidates
}

/** A word that the user did not type: of a script that has not been used for three thousand years, longer than any run of it. */
function placeholderFor({ earlier, partial }: Typed): string {
  const runs = `${earlier.join(' ')} ${partial}`.match(/\u{10600}+/gu) ?? []
  return '\u{10600}'.repeat(1 + Math.max(0, ...runs.map((run) => [...run].length)))
}

/** First the typed text itself, then terms that begin with it, then terms that contain it; among equals the most frequent first. */
function inOrder(one: Candidate, other: Candidate): number {
  return (
    rank(one) - rank(other) ||
    other.about - one.about ||
    one.term.length - other.term.length ||
    (one.term < other.term ? -1 : 1)
  )
}

function rank({ term, typed: { partial } }: Candidate): number {
  if (term === partial) return 0
  return term.startsWith(partial) ? 1 : 2
}

function shown(term: string, { earlier, partial }: Typed): string {
  const span = typedSpan(foldedText(term), partial)
  return [...earlier.map(escapeMarkup), marked(term, span ? [span] : [], 'b')].join(' ')
}
