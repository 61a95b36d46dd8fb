/** Words and tokens that match patterns, from the dictionary that indexing fills. */

import { AppError } from '../../../../platform/errors.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import { type Pattern, patterns } from '../../../document/analyze.ts'
import type { Clause, SearchPlan, SearchScope, TextClause, TextTarget } from '../../../plan/plan.ts'
import type { TermMatch } from '../../../plan/terms.ts'
import type { PostgresPlan } from '../access/postgres-plan.ts'
import { trashSql } from '../access/trash.ts'
import { readableSql } from '../access/visibility.ts'
import { conditionsOfWord, knownWordSql, Places, type WordTarget } from './known-words.ts'
import type { Expansions } from './text.ts'

/** The highest number of terms that one pattern may match. */
const mostTerms = 1024

export const noExpansions: Expansions = { terms: () => [], found: () => '' }

interface Wanted extends PlanPattern {
  /** The texts in which the pattern is searched. */
  readonly places: WordTarget[]
}

type PlanToExpand = SearchPlan & Pick<PostgresPlan, 'accessSets'>

/** `lexical`: for statements with conditions on lexemes. */
interface Databases {
  readonly db: Queryable
  readonly lexical: Queryable
}

/**
 * Looks up all patterns of a plan, with one statement for words and one for tokens. Finds only terms of the dictionary that the
 * caller may know.
 * @throws {AppError} `WildcardExpandedToTooManyTerms`
 */
export async function expandWildcards(databases: Databases, plan: PlanToExpand): Promise<Expansions> {
  const all = wantedBy(plan)
  if (all.length === 0) return noExpansions
  const words = all.filter((each) => each.dictionary === 0)
  const tokens = all.filter((each) => each.dictionary !== 0)
  const found = new Map<string, string[]>()
  const rows = [...(await lookUp(databases, plan, words, true)), ...(await lookUp(databases, plan, tokens, false))]
  for (const { dictionary, pattern, term } of rows) {
    const key = keyOf(dictionary, pattern)
    const terms = found.get(key) ?? []
    found.set(key, terms)
    terms.push(term)
    if (terms.length > mostTerms) {
      throw new AppError('WildcardExpandedToTooManyTerms', { pattern: pattern.slice(0, 200), most: mostTerms })
    }
  }
  // The order of the dictionary would disclose which objects were created first.
  for (const terms of found.values()) terms.sort()
  return {
    terms: (dictionary, pattern) => found.get(keyOf(dictionary, likeOf(pattern))) ?? [],
    found: () => [...found].map(([key, terms]) => `${key} ${terms}`).join('\n'),
  }
}

interface TermRow {
  dictionary: number
  pattern: string
  term: string
}

/** Only words can be found by trigrams, which the index does not have for tokens. */
async function lookUp(
  { db, lexical }: Databases,
  plan: PlanToExpand,
  wanted: readonly Wanted[],
  areWords: boolean,
): Promise<TermRow[]> {
  const { fieldVisibility, languages, scope } = plan
  if (wanted.length === 0) return []
  const condition = `field ${areWords ? '= 0' : '= w.dictionary and field <> 0'} and term like w.pattern`
  const select = (known: string): string => `select w.dictionary, w.pattern, t.term
    from jsonb_to_recordset($1) as w(dictionary int, pattern text, present text, seen text, through jsonb)
    cross join lateral (select term from search_term ${known} where ${condition} limit $2) t`
  const patternOf = ({ dictionary, like }: Wanted) => ({ dictionary, pattern: like })
  if (fieldVisibility.whole) {
    const asked = [JSON.stringify(wanted.map(patternOf)), mostTerms + 1]
    return (await db.query<TermRow>(select(''), asked)).rows
  }
  const places = new Places()
  const asked = wanted.flatMap((each) => {
    const known = conditionsOfWord(each.dictionary, each.places, { fieldVisibility, languages }, places)
    return known ? [{ ...patternOf(each), ...known }] : []
  })
  const values: unknown[] = [JSON.stringify(asked), mostTerms + 1]
  const present = trashSql(scope, 'd', plan, (value, type) => `$${values.push(value)}::${type}`)
  const sql = select(knownWordSql('term', 'w', { present, readable: readableSql(plan, 'd'), places }))
  return (await lexical.query<TermRow>(sql, values)).rows
}

/** A pattern of a plan, also in the form for `like`; `dictionary`: 0 for words, else the id of a `string` column. */
export interface PlanPattern {
  readonly dictionary: number
  readonly pattern: Pattern
  readonly like: string
}

/** All patterns of a plan, beginnings too. */
export const patternsOf = (plan: SearchPlan): readonly PlanPattern[] => wantedBy(plan, isUsable)

/** The words that match a pattern: first those that begin with its text, where an index finds them in their order. */
export function wordsOf({ pattern: { parts }, like }: PlanPattern): readonly TermMatch[] {
  const [first, second, third] = parts
  const all = { is: 'like', pattern: like, without: null } as const
  if (!first || !second || parts.length > 3) return [all]
  if ('literal' in first) return !third && isStar(second) ? [{ is: 'beginning', text: first.literal }] : [all]
  if (!third || !isStar(first) || !('literal' in second) || !isStar(third)) return [all]
  return [
    { is: 'beginning', text: second.literal },
    { ...all, without: second.literal },
  ]
}

const isStar = (part: Pattern['parts'][number]): boolean => 'wildcard' in part && part.wildcard === '*'

function wantedBy(plan: SearchPlan, isWanted = needsDictionary): Wanted[] {
  const wanted = new Map<string, Wanted>()
  const typesOf = ({ objecttypes }: SearchScope) =>
    (objecttypes ?? [...plan.fields.types.keys()]).flatMap((id) => plan.fields.types.get(id) ?? [])
  const types = typesOf(plan.scope)
  collect(plan.scope.where, types)
  for (const aggregation of plan.aggregations) {
    if (aggregation.kind === 'ranges') for (const clause of aggregation.clauses) collect(clause, types)
  }
  return [...wanted.values()]

  function collect(clause: Clause, types: WordTarget['types']): void {
    switch (clause.is) {
      case 'and':
      case 'or':
        for (const each of clause.of) collect(each, types)
        break
      case 'not':
      case 'row':
        collect(clause.of, types)
        break
      case 'linked':
      case 'joined':
        collect(clause.of.where, typesOf(clause.of))
        break
      case 'text':
        if (clause.mode === 'wildcard') collectText(clause, types)
    }
  }

  function collectText(clause: TextClause, types: WordTarget['types']): void {
    for (const pattern of patterns(clause.text, 'words')) add(0, pattern, clause.targets)
    const [token] = patterns(clause.text, 'token')
    if (!token) return
    for (const target of clause.targets) {
      if (target.field?.kind === 'string') add(target.field.column.id, token, [target])
    }

    function add(dictionary: number, pattern: Pattern, targets: readonly TextTarget[]): void {
      if (!isWanted(pattern)) return
      const like = likeOf(pattern)
      const key = keyOf(dictionary, like)
      const known = wanted.get(key) ?? { dictionary, pattern, like, places: [] }
      wanted.set(key, known)
      known.places.push(...targets.map((target) => ({ target, types })))
    }
  }
}

const isUsable = ({ parts }: Pattern): boolean => parts.some((part) => 'literal' in part)

/** Wildcards alone are ignored; the index itself looks up a plain word, and one that ends with a star. */
function needsDictionary({ parts }: Pattern): boolean {
  if (parts.every((part) => 'wildcard' in part) || parts.length === 1) return false
  const [first, second] = parts
  const plainPrefix = parts.length === 2 && first && 'literal' in first && second && 'wildcard' in second
  return !(plainPrefix && second.wildcard === '*')
}

const keyOf = (dictionary: number, like: string): string => `${dictionary} ${like}`

/** The pattern in the form for `like`. */
function likeOf({ parts }: Pattern): string {
  return parts
    .map((part) => {
      if ('literal' in part) return part.literal.replace(/[\\%_]/g, '\\$&')
      return part.wildcard === '*' ? '%' : '_'
    })
    .join('')
    .toWellFormed()
}
