/**
 * Linked objects, as far as the caller may know them. Documents hold the titles of their link targets, for callers who may read all
 * of these. For other callers a search first asks which of the readable linked objects have the words. A link to one of these is a
 * lexeme like any other.
 */
import type { Table } from '../../../../datamodel/model.ts'
import type { Queryable } from '../../../../platform/postgres/db.ts'
import type { FieldVisibility, Visibility } from '../../../plan/field-visibility.ts'
import type { Clause } from '../../../plan/plan.ts'
import { ofObjecttype, withoutPool } from '../../document/lexemes.ts'
import { expressionNode } from '../access/access.ts'
import type { AccessSets } from '../access/access-sets.ts'
import { readableSql } from '../access/visibility.ts'
import { microseconds } from '../sql/sql.ts'
import { lastingQuery, lexeme, type Node, tsquery } from '../sql/tsquery.ts'
import type { LinkedAnswers, LinkedIds } from './linked-answers.ts'

/** The highest number of linked objects that become lexemes; more are found by a join. */
const mostLinked = 1000

/**
 * The objects that a condition through a link leads to (conditions/link-targets.ts); null: too many, or they were not looked up.
 */
export type LinkTargets = (clause: Clause) => readonly number[] | null

export interface LinkedObjects {
  readonly targets: LinkTargets
  /** Objects of the type that match and that the caller may read; null: too many. */
  find(table: Table, node: Node): readonly number[] | null
  /** Whether no object of the type fulfils the condition, regardless of rights. */
  isEmpty(table: Table, node: Node): boolean
  /** SQL without parameters: the condition that readable documents under the alias `t` fulfil. */
  readable(): string
  /** Whether the caller may know the titles of all objects of the type. */
  knowsAll(table: Table): boolean
  /** All answers as a text, for cache keys. */
  found(): string
}

/** The source of answers about linked objects, with the cached ones. */
export interface LinkedSource {
  readonly db: Queryable
  readonly known: LinkedAnswers
  readonly accessSets: AccessSets
  /** Moment of the last batch of the index, in microseconds since 1970. */
  readonly moment: () => Promise<number>
}

/**
 * Runs `use` to collect its questions, answers all of them with one statement, and returns the answers for the final run of `use`.
 */
export async function findLinked(
  source: LinkedSource,
  fieldVisibility: FieldVisibility,
  use: (linked: LinkedObjects) => void,
): Promise<LinkedObjects> {
  const answers = new Map<string, LinkedIds>()
  const { accessSets } = source
  const readable = (): string => readableSql({ fieldVisibility, accessSets }, 't')
  const linked = lookUp(fieldVisibility, readable, answers, null)
  if (fieldVisibility.whole) return linked
  const moment = await source.moment()
  const known: LinkedAnswers = fieldVisibility.without.length === 0 ? source.known : notKept
  const wanted = new Map<string, Question>()
  const want = (key: string, question: Question): LinkedIds => {
    const answer = known.get(key, moment)
    if (answer === undefined) wanted.set(key, question)
    else answers.set(key, answer)
    return answer ?? []
  }
  use(lookUp(fieldVisibility, readable, answers, want))
  // Answers can lead to further questions: whether a type is known as a whole, or there is such an object at all, comes first.
  for (let round = 0; round < 3 && wanted.size > 0; round++) {
    await ask({ db: source.db, known, without: fieldVisibility.without, readable }, wanted, answers)
    wanted.clear()
    use(lookUp(fieldVisibility, readable, answers, want))
  }
  return linked
}

/** A question: which objects of a type match, either of all objects or of the readable ones. */
interface Question {
  /** null: of any type. */
  readonly type: number | null
  readonly query: string
  readonly readable: boolean
}

/** The answers are not cached, because they are valid for a few moments only. */
const notKept: LinkedAnswers = { get: () => undefined, keep: () => {} }

interface Asking {
  readonly db: Queryable
  readonly known: LinkedAnswers
  readonly without: readonly number[]
  readonly readable: () => string
}

async function ask(
  { db, known, without, readable }: Asking,
  wanted: ReadonlyMap<string, Question>,
  answers: Map<string, LinkedIds>,
): Promise<void> {
  const asked = [...wanted]
  const questions = asked.map(([, question]) => question)
  const ofReader = questions.some((question) => question.readable)
  const { rows } = await db.query<{ n: number; ids: string; asOf: number }>(
    `select (select ${microseconds('changed_at')} from search_state) as "asOf", q.n, array_to_string(array(
       select t.id from search_document t where (q.type is null or t.objecttype = q.type) and t.lexemes @@ q.query
         and (not q.readable${ofReader ? ` or ${readable()}` : ''}) and t.id <> all($4::bigint[]) limit ${mostLinked + 1}
     ), ',') as ids from unnest($1::int[], $2::tsquery[], $3::boolean[]) with ordinality as q(type, query, readable, n)`,
    [
      questions.map(({ type }) => type),
      questions.map(({ query }) => query),
      questions.map((question) => question.readable),
      without,
    ],
    // A prepared statement only where the text is the same for all callers.
    ofReader ? undefined : 'search-linked',
  )
  for (const { n, ids, asOf } of rows) {
    const list = ids === '' ? [] : ids.split(',').map(Number)
    const found = list.length > mostLinked ? null : list
    const [key] = asked[n - 1] as (typeof asked)[number]
    answers.set(key, found)
    known.keep(key, found, asOf)
  }
}

/** A field visibility for one search. An exception for a few objects is removed when no such objects exist. */
export function fieldVisibilityWith(fieldVisibility: FieldVisibility, linked: LinkedObjects): FieldVisibility {
  if (fieldVisibility.whole) return fieldVisibility
  // Many columns share a visibility, and each is used several times.
  const known = new Map<Visibility, Visibility>()
  const settled = (visibility: Visibility): Visibility => {
    if (typeof visibility === 'string' || !visibility.unless) return visibility
    const before = known.get(visibility)
    if (before) return before
    const { table, place } = visibility.unless
    const found = linked.isEmpty(table, expressionNode(place)) ? 'always' : visibility
    known.set(visibility, found)
    return found
  }
  return {
    ...fieldVisibility,
    column: (field) => settled(fieldVisibility.column(field)),
    rows: (nested) => settled(fieldVisibility.rows(nested)),
    system: (table, field) => settled(fieldVisibility.system(table, field)),
    any: (table) => settled(fieldVisibility.any(table)),
    titles: (table) => (linked.knowsAll(table) ? 'all' : fieldVisibility.titles(table)),
  }
}

/** `want`: gives a preliminary answer to a question that has not been asked yet. */
function lookUp(
  fieldVisibility: FieldVisibility,
  readable: () => string,
  answers: ReadonlyMap<string, LinkedIds>,
  want: ((key: string, question: Question) => LinkedIds) | null,
): LinkedObjects {
  function answer(table: Table | null, node: Node, ofReader: boolean): LinkedIds {
    const query = table ? `(${tsquery(lexeme(ofObjecttype(table.id)))} & ${lastingQuery(node)})` : lastingQuery(node)
    const key = ofReader ? `${fieldVisibility.key} ${query}` : query
    const known = answers.get(key)
    if (known !== undefined) return known
    // A question that was not collected has no answer, which hides more than necessary.
    return want ? want(key, { type: table?.id ?? null, query, readable: ofReader }) : null
  }
  return {
    targets: () => null,
    find: (table, node) => answer(table, node, true),
    // Mostly there is no such object of any type, which is one question for all types.
    isEmpty: (table, node) => answer(null, node, false)?.length === 0 || answer(table, node, false)?.length === 0,
    readable,
    knowsAll(table) {
      const titles = fieldVisibility.titles(table)
      if (titles === 'all') return true
      // One of them may have been moved out of its pool.
      if (fieldVisibility.without.length > 0) return false
      return titles === 'all in pools' && answer(table, lexeme(withoutPool), false)?.length === 0
    },
    found: () => [...answers].map(([query, ids]) => `${query} ${ids}`).join('\n'),
  }
}
