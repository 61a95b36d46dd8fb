/** Searches for many terms, answered from the places of lexemes. */
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { Clause, Hit } from '../../plan/plan.ts'
import type { FoundTerm, FoundTerms, TermQuery } from '../../plan/terms.ts'
import { clauseNode } from '../query/conditions/condition.ts'
import type { ConditionContext } from '../query/conditions/context.ts'
import { Parameters } from '../query/sql/sql.ts'
import type { Node } from '../query/sql/tsquery.ts'
import { readHits, startStatement } from '../query/statements/statements.ts'
import { frequent, readTerms, readWordsLike, type TermContext } from '../query/statements/terms.ts'
import type { Expansions } from '../query/words/text.ts'
import { patternsOf, wordsOf } from '../query/words/wildcards.ts'
import type { BitmapStore } from './bitmap-store.ts'
import { partsOf } from './needs.ts'
import { withText } from './node-matches.ts'
import { type NodeMatch, type NodeSearch, openNodeSearch } from './node-search.ts'

/** A search that is prepared for terms. */
export interface TermSearch {
  readonly context: TermContext
  readonly plain: Queryable
  readonly lexical: Queryable
  readonly moment: () => Promise<number>
  readonly deadline: Deadline
}

/** Stands for a word in a node: a private-use character, which no word contains. */
const placeholder = '\uf8fe'

/** Terms that are looked up together at first, and how many times as many then. */
const chunk = { first: 48, times: 3 }
/** The highest number of words that are tried for a pattern. */
const mostWords = 1500
/** The highest number of objects that are put in order by the words in them. */
const mostRanked = 20_000
/** The highest number of conditions of which all objects are looked up at once. */
const mostOpen = 100

const conditionContext = ({ plan, ...context }: TermContext): ConditionContext => ({
  plan,
  ...context,
  parameters: new Parameters(),
})

/** The parts of a condition with a term, as one node that has the term in it, and the others. null: lexemes alone do not answer it. */
function split(
  search: TermSearch,
  expansions: Expansions | null,
  hasTerm: (clause: Clause) => boolean,
): { readonly node: Node | 'none'; readonly besides: readonly Clause[] } | null {
  const { plan } = search.context
  const parts = partsOf(plan.scope.where)
  const own = parts.filter(hasTerm)
  const besides = parts.filter((part) => !own.includes(part))
  // Further words make most terms find nothing, which the index tells sooner.
  if (own.length === 0 || besides.some((part) => isOfWords(part))) return null
  const context = conditionContext(search.context)
  const node = clauseNode({ is: 'and', of: own }, expansions ? { ...context, expansions } : context)
  return node && { node, besides }
}

async function open(bitmaps: BitmapStore, search: TermSearch, besides: readonly Clause[]): Promise<NodeSearch | null> {
  const { plain, lexical, moment, context } = search
  return openNodeSearch(bitmaps, {
    context: conditionContext(context),
    besides,
    moment: await moment(),
    plain,
    lexical,
  })
}

/** As `findTerms`; null: not all of it is in memory. `known`: numbers of earlier searches, for terms that very many objects have. */
export async function quickTerms(
  bitmaps: BitmapStore,
  search: TermSearch,
  query: TermQuery,
  known: ReadonlyMap<string, number>,
): Promise<FoundTerms | null> {
  const begun = performance.now()
  const parts = split(search, null, (clause) => mentions(clause, query.placeholder))
  if (!parts) return null
  if (parts.node === 'none') return { terms: [], timedOut: false }
  const nodes = await open(bitmaps, search, parts.besides)
  if (!nodes) return null
  const found: FoundTerm[] = []
  for (let [from, size] = [0, chunk.first]; ; from += size, size *= chunk.times) {
    const terms = await readTerms(search.lexical, query.source, { from, most: size })
    const matches = await countedEnough(
      search,
      nodes,
      terms.map((term) => withText(parts.node as Node, query.placeholder, term)),
    )
    if (!matches) return null
    for (const [index, { count, exact }] of matches.entries()) {
      const term = terms[index] as string
      if (count === 0 && !exact) return null
      if (count > 0) found.push({ term, about: exact ? count : Math.max(count, known.get(term) ?? 0), exact })
      if (found.length >= query.most) return { terms: found, timedOut: false }
    }
    if (terms.length < size) return { terms: found, timedOut: false }
    if (performance.now() - begun > query.within) return { terms: found, timedOut: true }
  }
}

/** Exact, or enough to be frequent. */
const countedEnough = (search: TermSearch, nodes: NodeSearch, asked: readonly Node[]) =>
  matched(search, nodes, asked, ({ exact, count }) => exact || count >= frequent)

const isExact = ({ exact }: NodeMatch): boolean => exact

/** Looks up all objects of those lexemes whose first ones are not enough. null: there are too many of them. */
async function matched(
  { deadline }: TermSearch,
  nodes: NodeSearch,
  asked: readonly Node[],
  isEnough: (match: NodeMatch) => boolean,
): Promise<readonly NodeMatch[] | null> {
  const first = await nodes.match(asked)
  const open = first ? asked.filter((_, index) => !isEnough(first[index] as NodeMatch)) : []
  if (!first || open.length === 0) return first
  if (open.length > mostOpen) return null
  await nodes.complete(open, deadline)
  if (deadline.over) return first
  const rest = await nodes.match(open)
  if (!rest) return null
  const again = rest.values()
  return first.map((match) => (isEnough(match) ? match : (again.next().value as NodeMatch)))
}

/** The number of objects that each term finds, as far as it is known. */
export async function quickCounts(
  bitmaps: BitmapStore,
  search: TermSearch,
  text: string,
  terms: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const parts = terms.length === 0 ? null : split(search, null, (clause) => mentions(clause, text))
  if (!parts || parts.node === 'none') return new Map()
  const { node } = parts
  const nodes = await open(bitmaps, search, parts.besides)
  const asked = terms.map((term) => withText(node, text, term))
  const matches = nodes && (await matched(search, nodes, asked, isExact))
  return new Map((matches ?? []).flatMap(({ count, exact }, index) => (exact ? [[terms[index] as string, count]] : [])))
}

/** The number of objects that fulfil each condition besides; null for those that are not known. */
export async function quickCountEach(
  bitmaps: BitmapStore,
  search: TermSearch,
  clauses: readonly Clause[],
): Promise<readonly (number | null)[]> {
  const none = clauses.map(() => null)
  const besides = partsOf(search.context.plan.scope.where)
  if (besides.some((part) => isOfWords(part))) return none
  const context = conditionContext(search.context)
  const asked = clauses.map((clause) => clauseNode(clause, context))
  const nodes = asked.filter((node) => node !== null && node !== 'none')
  const opened = nodes.length === 0 ? null : await open(bitmaps, search, besides)
  const matches = opened && (await matched(search, opened, nodes, isExact))
  if (!matches) return none
  const counts = new Map<Node, NodeMatch>(nodes.map((node, index) => [node, matches[index] as NodeMatch]))
  return asked.map((node) => {
    if (node === 'none') return 0
    const match = node && counts.get(node)
    return match?.exact ? match.count : null
  })
}

export interface PatternMatches {
  readonly ids: readonly number[]
  /** Whether these are all. */
  readonly whole: boolean
  /** The words that matched the pattern in one of the objects. */
  readonly words: readonly string[]
}

/**
 * Some objects with words that match the one pattern of a search, not more than `most`: those of words that begin with its text
 * first, then those of shorter words. null: not all of it is in memory.
 */
export async function quickMatches(
  bitmaps: BitmapStore,
  search: TermSearch,
  most: number,
): Promise<PatternMatches | null> {
  const opened = await openPattern(bitmaps, search)
  if (!opened) return null
  if (opened === 'none') return noMatches
  const { pattern, match } = opened
  const found = new Found(most)
  let tried = 0
  for (const source of wordsOf(pattern)) {
    for (let [from, size] = [0, chunk.first]; ; from += size, size *= chunk.times) {
      const least = Math.min(size, mostWords - tried)
      const terms = await readTerms(search.lexical, { fields: [0], match: source }, { from, most: least + 1 })
      const some = terms.slice(0, least)
      const matches = await match(some, ({ exact, count }) => exact || count > 0)
      if (!matches) return null
      if (found.add(some, matches)) return found.part
      tried += some.length
      if (terms.length <= least) break
      // There are more words than are tried.
      if (tried === mostWords) return found.isExact ? found.part : null
    }
  }
  return found.isExact ? found.all : null
}

/** All objects with words that match the one pattern of a search. null: not all of it is in memory, or there are too many of them. */
export async function quickMatchesOfAll(bitmaps: BitmapStore, search: TermSearch): Promise<PatternMatches | null> {
  const opened = await openPattern(bitmaps, search)
  if (!opened) return null
  if (opened === 'none') return noMatches
  const words = await readWordsLike(search.lexical, opened.pattern.like, mostWords)
  const matches = words && (await opened.match(words, isExact))
  if (!matches?.every(({ exact }) => exact)) return null
  const found = new Found(mostRanked + 1)
  return found.add(words as readonly string[], matches) ? null : found.all
}

const noMatches: PatternMatches = { ids: [], whole: true, words: [] }

/** Objects with words that were tried. */
class Found {
  readonly #most: number
  readonly #ids = new Set<number>()
  readonly #words: string[] = []
  isExact = true

  constructor(most: number) {
    this.#most = most
  }

  /** Whether there are enough. */
  add(words: readonly string[], matches: readonly NodeMatch[]): boolean {
    for (const [index, match] of matches.entries()) {
      this.isExact &&= match.exact
      if (match.count === 0) continue
      this.#words.push(words[index] as string)
      for (const id of match.ids(this.#most)) {
        this.#ids.add(id)
        if (this.#ids.size >= this.#most) return true
      }
    }
    return false
  }

  get part(): PatternMatches {
    return { ids: [...this.#ids], whole: false, words: this.#words }
  }

  get all(): PatternMatches {
    return { ...this.part, whole: true }
  }
}

/** null: not all of it is in memory. */
async function openPattern(bitmaps: BitmapStore, search: TermSearch) {
  const [pattern, ...others] = patternsOf(search.context.plan)
  if (!pattern || others.length > 0 || pattern.dictionary !== 0) return null
  const parts = split(search, { terms: () => [placeholder], found: () => '', ofBeginnings: true }, (clause) =>
    isOfWords(clause),
  )
  if (!parts) return null
  const { node } = parts
  if (node === 'none') return 'none'
  const nodes = await open(bitmaps, search, parts.besides)
  if (!nodes) return null
  return {
    pattern,
    /** The objects of each word. */
    match: (words: readonly string[], isEnough: (match: NodeMatch) => boolean) =>
      matched(
        search,
        nodes,
        words.map((word) => withText(node, placeholder, word)),
        isEnough,
      ),
  }
}

/** The best of some objects that a search finds, with the words that matched its pattern. */
export async function bestOf(
  search: TermSearch,
  ids: readonly number[],
  words: readonly string[],
): Promise<readonly Hit[]> {
  if (ids.length === 0) return []
  const { plan, linked } = search.context
  const expansions: Expansions = { terms: () => words, found: () => '', ofBeginnings: true }
  const statement = startStatement(plan, expansions, linked)
  return (await readHits(search.lexical, statement, ids, plan.offset)).hits
}

/** Whether the text is searched for by the condition, or by one within it. */
function mentions(clause: Clause, text: string): boolean {
  switch (clause.is) {
    case 'and':
    case 'or':
      return clause.of.some((each) => mentions(each, text))
    default:
      return clause.is === 'text' && clause.text === text
  }
}

/** Whether texts are searched for words. */
function isOfWords(clause: Clause): boolean {
  switch (clause.is) {
    case 'and':
    case 'or':
      return clause.of.some(isOfWords)
    case 'not':
    case 'row':
      return isOfWords(clause.of)
    case 'linked':
    case 'joined':
      return isOfWords(clause.of.where)
    default:
      return clause.is === 'text'
  }
}
