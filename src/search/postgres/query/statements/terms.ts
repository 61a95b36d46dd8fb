/** One search for many terms: its condition is compiled once, with a placeholder that each term replaces. */
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { Clause, SearchPlan } from '../../../plan/plan.ts'
import type { FoundTerms, TermQuery, TermSource } from '../../../plan/terms.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { scopeSql } from '../conditions/condition.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { Parameters } from '../sql/sql.ts'
import type { Expansions } from '../words/text.ts'

/** The length of the longest word or token (document/analyze.ts). */
const longestTerm = 200

/** Parameters of conditions on a term: the column of `c` replaces the placeholder. */
class TermParameters extends Parameters {
  readonly #placeholder: string

  constructor(placeholder: string) {
    super()
    this.#placeholder = placeholder
  }

  override add(value: unknown, type = ''): string {
    if (typeof value !== 'string' || !value.includes(this.#placeholder)) return super.add(value, type)
    const text = super.add(value, 'text')
    return `replace(${text}, ${super.add(this.#placeholder, 'text')}, c.quoted)::${type}`
  }
}

export interface TermContext {
  readonly plan: PostgresPlan
  readonly expansions: Expansions
  readonly linked: LinkedObjects
}

/** A term with at least this number of matches is counted by a search of its own, whose result is cached. */
export const frequent = 500

/**
 * Terms are tried one after the other, in the order of the source, until enough of them find some object. Nothing else of the
 * dictionary is read. A term that no search of the caller finds has no effect but its time. For `known` terms one match is enough.
 * The inner `offset 0` keeps PostgreSQL from counting once for the condition and once more for the answer.
 */
export async function findTerms(
  db: Queryable,
  { plan, ...context }: TermContext,
  query: TermQuery,
  known: Readonly<Record<string, number>>,
): Promise<FoundTerms> {
  const parameters = new TermParameters(query.placeholder)
  const where = scopeSql(plan.scope, 'd', { plan, ...context, parameters })
  if (where === null) return { terms: [], timedOut: false }
  const found = parameters.add(JSON.stringify(known), 'jsonb')
  const { rows } = await db.query<{ term: string; about: number | null }>(
    ...parameters.statement(`select c.term, n.about from (
       select term, ${quotedTerm} as quoted from ${sourceSql(query.source, parameters)} t
     ) c cross join lateral (
       select case when ${found} ? c.term then (${found} ->> c.term)::int
         when clock_timestamp() < statement_timestamp() + ${parameters.add(query.within, 'int')} * interval '1 millisecond'
         then (select count(*)::int from (select from search_document d where ${where} limit ${parameters.add(frequent, 'int')}) m)
       end as about offset 0
     ) n where n.about is null or n.about > 0 limit ${parameters.add(query.most, 'int')}`),
  )
  return {
    terms: rows.flatMap(({ term, about }) =>
      about === null ? [] : { term, about, exact: about < frequent && !Object.hasOwn(known, term) },
    ),
    timedOut: rows.some(({ about }) => about === null),
  }
}

/** Terms of a source in its order, from a place on. */
export async function readTerms(
  db: Queryable,
  source: TermSource,
  { from, most }: { readonly from: number; readonly most: number },
): Promise<readonly string[]> {
  const parameters = new Parameters()
  const [offset, limit] = [from, most].map((value) => parameters.add(value, 'int'))
  const statement = parameters.statement(
    `select term from ${sourceSql(source, parameters)} t offset ${offset} limit ${limit}`,
  )
  // For a pattern, the plan depends on its text.
  const name = source.match.is === 'like' ? undefined : `search-terms-${source.match.is}`
  const { rows } = await db.query<{ term: string }>(...statement, name)
  return rows.map(({ term }) => term)
}

/** Words that match a pattern of `like`, in no order; null: there are more than `most`. */
export async function readWordsLike(db: Queryable, like: string, most: number): Promise<readonly string[] | null> {
  const { rows } = await db.query<{ term: string }>(
    'select term from search_term where field = 0 and term like $1 limit $2',
    [like, most + 1],
  )
  return rows.length > most ? null : rows.map(({ term }) => term)
}

/** The number of matches with each term. */
export async function countTerms(
  db: Queryable,
  { plan, ...context }: TermContext,
  placeholder: string,
  terms: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const parameters = new TermParameters(placeholder)
  const where = scopeSql(plan.scope, 'd', { plan, ...context, parameters })
  if (where === null || terms.length === 0) return new Map(terms.map((term) => [term, 0]))
  const { rows } = await db.query<{ term: string; count: number }>(
    ...parameters.statement(`select c.term, (select count(*)::int from search_document d where ${where}) as count
      from (select term, ${quotedTerm} as quoted from unnest(${parameters.add(terms, 'text[]')}) t(term)) c`),
  )
  return new Map(rows.map(({ term, count }) => [term, count]))
}

const quotedTerm = `replace(replace(term, '\\', '\\\\'), '''', '''''')`

function sourceSql(source: TermSource, parameters: Parameters): string {
  const { fields, match } = source
  const ids = parameters.add(fields, 'int[]')
  switch (match.is) {
    case 'exact':
      return `(select term from search_term where field = any(${ids}) and term = ${parameters.add(match.text, 'text')})`
    case 'beginning': {
      const [least, beyond] = [match.text, `${match.text}\u{10ffff}`].map((text) => parameters.add(text, 'text'))
      return `(select w.term from generate_series(${parameters.add([...match.text].length, 'int')}, ${longestTerm}) l(length)
        cross join unnest(${ids}) f(field) cross join lateral (
          select term from search_term s where s.field = f.field and char_length(s.term) = l.length
            and s.term >= ${least} and s.term < ${beyond} order by s.term offset 0
        ) w)`
    }
    case 'like': {
      const pattern = `term like ${parameters.add(match.pattern, 'text')}`
      const rest = match.without === null ? '' : `and not starts_with(term, ${parameters.add(match.without, 'text')})`
      // Not a parameter: the index of trigrams covers only words. A sum: in the order of an index, the planner walks through the
      // dictionary for texts that many words have (`ing` in 105,546 words: 15 ms instead of 10).
      const field = fields.length === 1 && fields[0] === 0 ? 'field = 0' : `field = any(${ids})`
      return `(select term from search_term where ${field} and ${pattern} ${rest} order by char_length(term) + 0, term)`
    }
  }
}

/** The highest number of known terms to send. More would be useless. */
const mostKnown = 500

/** The known terms that the source may contain. */
export function knownAmong(known: ReadonlyMap<string, number>, source: TermSource): Readonly<Record<string, number>> {
  const { match } = source
  const part = match.is === 'like' ? (match.without ?? '') : match.text
  const fits = (term: string): boolean => (match.is === 'like' ? term.includes(part) : term.startsWith(part))
  return Object.fromEntries([...known].filter(([term]) => fits(term)).slice(-mostKnown))
}

/** The plan with a term instead of the placeholder. */
export function withTerm(plan: SearchPlan, placeholder: string, term: string): SearchPlan {
  const replaced = (clause: Clause): Clause => {
    if (clause.is === 'and' || clause.is === 'or') return { is: clause.is, of: clause.of.map(replaced) }
    if (clause.is === 'linked' || clause.is === 'joined') {
      return { ...clause, of: { ...clause.of, where: replaced(clause.of.where) } }
    }
    return clause.is === 'text' && clause.text === placeholder ? { ...clause, text: term } : clause
  }
  return { ...plan, scope: { ...plan.scope, where: replaced(plan.scope.where) } }
}
