/**
 * Linked objects by what the caller may know of them. Documents hold the titles of what they link to, for those who may
 * read all of it. For others a search asks the linked objects themselves: which of those that the caller may read have
 * the words? A link to one of these is a lexeme like any other.
 */
import type { Table } from '../../../datamodel/model.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { Sight, Vision } from '../../plan/vision.ts'
import { ofObjecttype, withoutPool } from '../document/lexemes.ts'
import { expressionNode, rightsCondition } from './access.ts'
import type { LinkedAnswers, LinkedIds } from './linked-answers.ts'
import { microseconds } from './sql.ts'
import { allOf, lastingQuery, lexeme, type Node, tsquery } from './tsquery.ts'

/** Linked objects that become lexemes; more of them are found by a join. */
const mostLinked = 1000

export interface LinkedObjects {
  /** Objects of the type that match and that the caller may read; null: too many. */
  find(table: Table, node: Node): readonly number[] | null
  /** Whether no object of the type fulfils the condition, whoever may read it. */
  isEmpty(table: Table, node: Node): boolean
  /** The condition together with the right to read the object. */
  readable(node: Node): Node
  /** Whether the caller may know the titles of all objects of the type. */
  knowsAll(table: Table): boolean
  /** Objects that the caller has just lost. */
  readonly without: readonly number[]
  /** What was found out, as a text. */
  found(): string
}

/** What an object must have besides, so that the caller may read it; null: nothing. */
export function readableNode(vision: Vision): Node | null {
  const condition = rightsCondition(vision.rights)
  return condition.never ? lexeme('_-') : condition.node
}

/** Where linked objects are asked for, and what is known of them already. */
export interface LinkedSource {
  readonly db: Queryable
  readonly known: LinkedAnswers
  /** Moment of the last batch of the index, in microseconds since 1970. */
  readonly moment: () => Promise<number>
}

/**
 * Runs `use` to learn what it asks for, answers all of that with one statement, and gives what `use` is to be run with.
 */
export async function findLinked(
  source: LinkedSource,
  vision: Vision,
  use: (linked: LinkedObjects) => void,
): Promise<LinkedObjects> {
  const answers = new Map<string, LinkedIds>()
  const linked = lookUp(vision, answers, null)
  if (vision.whole) return linked
  const moment = await source.moment()
  const { without } = vision
  const known: LinkedAnswers = without.length === 0 ? source.known : notKept
  const wanted = new Map<string, number>()
  const want = (query: string, type: number): LinkedIds => {
    const answer = known.get(query, moment)
    if (answer === undefined) wanted.set(query, type)
    else answers.set(query, answer)
    return answer ?? []
  }
  use(lookUp(vision, answers, want))
  // What is known now can lead to more, but only once: whether a type is known as a whole comes first.
  for (let round = 0; round < 2 && wanted.size > 0; round++) {
    await ask({ ...source, known }, { wanted, without }, answers)
    wanted.clear()
    use(lookUp(vision, answers, want))
  }
  return linked
}

/** What is found out of a few moments is asked anew. */
const notKept: LinkedAnswers = { get: () => undefined, keep: () => {} }

async function ask(
  { db, known }: LinkedSource,
  { wanted, without }: { readonly wanted: ReadonlyMap<string, number>; readonly without: readonly number[] },
  answers: Map<string, LinkedIds>,
): Promise<void> {
  const asked = [...wanted]
  const { rows } = await db.query<{ n: number; ids: string; asOf: number }>(
    `select (select ${microseconds('changed_at')} from search_state) as "asOf", q.n, array_to_string(array(
       select t.id from search_document t where t.objecttype = q.type and t.lexemes @@ q.query and t.id <> all($3::bigint[]) limit ${mostLinked + 1}
     ), ',') as ids from unnest($1::int[], $2::tsquery[]) with ordinality as q(type, query, n)`,
    [asked.map(([, type]) => type), asked.map(([query]) => query), without],
    'search-linked',
  )
  for (const { n, ids, asOf } of rows) {
    const list = ids === '' ? [] : ids.split(',').map(Number)
    const found = list.length > mostLinked ? null : list
    const [query] = asked[n - 1] as (typeof asked)[number]
    answers.set(query, found)
    known.keep(query, found, asOf)
  }
}

/** A vision for one search: what hides something of a few objects at most is nothing where there are no such objects. */
export function visionWith(vision: Vision, linked: LinkedObjects): Vision {
  if (vision.whole) return vision
  const settled = (sight: Sight): Sight =>
    typeof sight !== 'string' && sight.unless && linked.isEmpty(sight.unless.table, expressionNode(sight.unless.place))
      ? 'always'
      : sight
  return {
    ...vision,
    column: (field) => settled(vision.column(field)),
    rows: (nested) => settled(vision.rows(nested)),
    system: (table, field) => settled(vision.system(table, field)),
    any: (table) => settled(vision.any(table)),
    titles: (table) => (linked.knowsAll(table) ? 'all' : vision.titles(table)),
  }
}

/** `want`: what is said of what has not been asked yet. */
function lookUp(
  vision: Vision,
  answers: ReadonlyMap<string, LinkedIds>,
  want: ((query: string, type: number) => LinkedIds) | null,
): LinkedObjects {
  function answer(table: Table, node: Node): LinkedIds {
    const query = `(${tsquery(lexeme(ofObjecttype(table.id)))} & ${lastingQuery(node)})`
    const known = answers.get(query)
    return known === undefined ? (want?.(query, table.id) ?? []) : known
  }
  const rights = readableNode(vision)
  const readable = (node: Node): Node => (rights ? allOf([node, rights]) : node)
  return {
    find: (table, node) => answer(table, readable(node)),
    isEmpty: (table, node) => answer(table, node)?.length === 0,
    readable,
    without: vision.without,
    knowsAll(table) {
      const titles = vision.titles(table)
      if (titles === 'all') return true
      // One of them may have left its pool.
      if (vision.without.length > 0) return false
      return titles === 'all in pools' && answer(table, lexeme(withoutPool))?.length === 0
    },
    found: () => [...answers].map(([query, ids]) => `${query} ${ids}`).join('\n'),
  }
}
