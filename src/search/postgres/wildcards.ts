/** Words and tokens that patterns stand for, from the dictionary that indexing fills. */

import type { Queryable } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import { type Pattern, patterns } from '../analyze.ts'
import type { Clause, SearchPlan, TextClause } from '../plan.ts'

/** Terms that one pattern may stand for. */
const mostTerms = 1024

export interface Expansions {
  /** Terms of a dictionary (0: words, else the id of a `string` column) that the pattern stands for. */
  terms(dictionary: number, pattern: Pattern): readonly string[]
}

const noExpansions: Expansions = { terms: () => [] }

interface Wanted {
  readonly dictionary: number
  readonly like: string
}

/**
 * Looks up all patterns of a plan, with one statement for words and one for tokens.
 * @throws {AppError} `WildcardExpandedToTooManyTerms`
 */
export async function expandWildcards(db: Queryable, plan: SearchPlan): Promise<Expansions> {
  const wanted = new Map<string, Wanted>()
  collect(plan.scope.where, wanted)
  for (const aggregation of plan.aggregations) {
    if (aggregation.kind === 'ranges') for (const clause of aggregation.clauses) collect(clause, wanted)
  }
  if (wanted.size === 0) return noExpansions
  const all = [...wanted.values()]
  const words = all.filter((each) => each.dictionary === 0)
  const tokens = all.filter((each) => each.dictionary !== 0)
  const found = new Map<string, string[]>()
  const rows = [
    ...(words.length > 0 ? await lookUpWords(db, words) : []),
    ...(tokens.length > 0 ? await lookUpTokens(db, tokens) : []),
  ]
  for (const { dictionary, pattern, term } of rows) {
    const key = keyOf(dictionary, pattern)
    const terms = found.get(key) ?? []
    found.set(key, terms)
    terms.push(term)
    if (terms.length > mostTerms) {
      throw new AppError('WildcardExpandedToTooManyTerms', { pattern: pattern.slice(0, 200), most: mostTerms })
    }
  }
  return { terms: (dictionary, pattern) => found.get(keyOf(dictionary, likeOf(pattern))) ?? [] }
}

interface TermRow {
  dictionary: number
  pattern: string
  term: string
}

async function lookUpWords(db: Queryable, wanted: readonly Wanted[]): Promise<TermRow[]> {
  const { rows } = await db.query<TermRow>(
    `select 0 as dictionary, w.pattern, t.term from unnest($1::text[]) as w(pattern)
     cross join lateral (select term from search_term where field = 0 and term like w.pattern limit $2) t`,
    [wanted.map((each) => each.like), mostTerms + 1],
  )
  return rows
}

async function lookUpTokens(db: Queryable, wanted: readonly Wanted[]): Promise<TermRow[]> {
  const { rows } = await db.query<TermRow>(
    `select w.dictionary, w.pattern, t.term from unnest($1::int[], $2::text[]) as w(dictionary, pattern)
     cross join lateral (
       select term from search_term where field = w.dictionary and field <> 0 and term like w.pattern limit $3) t`,
    [wanted.map((each) => each.dictionary), wanted.map((each) => each.like), mostTerms + 1],
  )
  return rows
}

function collect(clause: Clause, wanted: Map<string, Wanted>): void {
  switch (clause.is) {
    case 'and':
    case 'or':
      for (const each of clause.of) collect(each, wanted)
      break
    case 'not':
    case 'row':
      collect(clause.of, wanted)
      break
    case 'linked':
      collect(clause.of.where, wanted)
      break
    case 'text':
      if (clause.mode === 'wildcard') collectText(clause, wanted)
  }
}

function collectText(clause: TextClause, wanted: Map<string, Wanted>): void {
  const add = (dictionary: number, pattern: Pattern): void => {
    if (!needsDictionary(pattern)) return
    const like = likeOf(pattern)
    wanted.set(keyOf(dictionary, like), { dictionary, like })
  }
  for (const pattern of patterns(clause.text, 'words')) add(0, pattern)
  const [token] = patterns(clause.text, 'token')
  if (!token) return
  for (const { field } of clause.targets) if (field?.kind === 'string') add(field.column.id, token)
}

/** Wildcards alone are ignored; a plain word and one that ends with a star are looked up in the index itself. */
function needsDictionary({ parts }: Pattern): boolean {
  if (parts.every((part) => 'wildcard' in part) || parts.length === 1) return false
  const [first, second] = parts
  const plainPrefix = parts.length === 2 && first && 'literal' in first && second && 'wildcard' in second
  return !(plainPrefix && second.wildcard === '*')
}

const keyOf = (dictionary: number, like: string): string => `${dictionary} ${like}`

/** The pattern as `like` reads it. */
function likeOf({ parts }: Pattern): string {
  return parts
    .map((part) => {
      if ('literal' in part) return part.literal.replace(/[\\%_]/g, '\\$&')
      return part.wildcard === '*' ? '%' : '_'
    })
    .join('')
}
