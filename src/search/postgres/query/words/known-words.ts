/**
 * Words that one caller may know: words of objects that they may read, in fields that they see. The dictionary has the words of all
 * objects, including the trash, and does not know who sees them. Every result of a pattern (matches, scores, whether it matches too
 * many words) depends on the words that match it. So words that a caller cannot know must not be among them.
 */

import type { SearchPlan, TextTarget } from '../../../plan/plan.ts'
import { columnWord, titleWord } from '../../document/lexemes.ts'
import { either } from '../access/access.ts'
import { withoutShared, withPlaces } from '../access/predicate.ts'
import { accessSql, whereSeen } from '../access/visibility.ts'
import { allOf, anyOf, isPlain, lexeme, type Node, tsquery } from '../sql/tsquery.ts'
import { asksTitles, ownSources, type SourceContext } from './sources.ts'

/** Placeholder of the word: a private-use character, which no word contains. */
const placeholder = '\uf8ff'

/** Texts of some object types. */
export interface WordTarget {
  readonly target: TextTarget
  readonly types: SourceContext['types']
}

/** The conditions for a document to show the caller a word: `tsquery`s with a placeholder for the word. */
export interface WordConditions {
  /** The word occurs at all: few lexemes, for the index. */
  readonly present: string
  /** The word occurs in a field that the caller sees. */
  readonly seen: string
  /** Other ways to see the word: the lexemes of the field, and a further condition on the document, as a number of `Places`. */
  readonly through: readonly { readonly query: string; readonly place: number }[]
}

/** Further conditions on documents beside lexemes, as SQL for the alias `d`: the same for all words. */
export class Places {
  readonly #known = new Map<string, number>()

  numberOf(sql: string): number {
    const number = this.#known.get(sql) ?? this.#known.size
    this.#known.set(sql, number)
    return number
  }

  /** SQL: whether a document fulfils the condition with this number. */
  sql(number: string): string {
    if (this.#known.size === 0) return 'false'
    const cases = [...this.#known].map(([sql, each]) => `when ${each} then ${sql}`)
    return `case ${number} ${cases.join(' ')} end`
  }

  get none(): boolean {
    return this.#known.size === 0
  }
}

/** null: no document shows the caller a word. `dictionary`: 0 for words, else the id of a `string` column. */
export function conditionsOfWord(
  dictionary: number,
  places: readonly WordTarget[],
  { fieldVisibility, languages }: Pick<SearchPlan, 'fieldVisibility' | 'languages'>,
  asked: Places,
): WordConditions | null {
  const lexemes = new Set<string>()
  const write = (text: string): Node => {
    lexemes.add(text)
    return lexeme(text)
  }
  const found = places.flatMap(({ target, types }): (Node | null)[] => {
    const { field } = target
    if (dictionary !== 0)
      return field ? [whereSeen(fieldVisibility.column(field), write(columnWord(field.code, placeholder)))] : []
    const context = { types, languages, fieldVisibility, linked: noneLinked }
    const own = ownSources(target, context).map((source) => source((writer) => write(writer(placeholder))))
    // A word of a title is known from the linked object itself.
    return asksTitles(target, context) ? [...own, write(titleWord(placeholder))] : own
  })
  const shown = new Map(found.filter((node) => node !== null).map((node) => [JSON.stringify(node), node]))
  if (shown.size === 0) return null
  const ways = [...shown.values()].flatMap((node) => waysOf(withPlaces(withoutShared(node))))
  const plain = ways.filter(({ besides }) => besides.length === 0).map(({ lexemes: all }) => allOf(all))
  return {
    present: tsquery(anyOf([...lexemes].map(lexeme))),
    seen: tsquery(either(plain)),
    through: ways.flatMap(({ lexemes: all, besides }) => {
      if (besides.length === 0) return []
      return { query: tsquery(allOf(all)), place: asked.numberOf(accessSql(allOf(besides), 'd')) }
    }),
  }
}

/** Lexemes of a document, and further conditions. All must hold. */
interface Way {
  readonly lexemes: readonly Node[]
  readonly besides: readonly Node[]
}

/** The alternatives of a condition under which words are visible. */
function waysOf(node: Node): Way[] {
  if (isPlain(node)) return [{ lexemes: [node], besides: [] }]
  if ('op' in node && node.op === 'or') {
    const own = isOfWords(node) ? node.of.flatMap(waysOf) : [{ lexemes: [], besides: [node] }]
    return own
  }
  if ('op' in node && node.op === 'and') {
    return node.of.reduce<Way[]>(
      (before, each) =>
        before.flatMap((way) =>
          waysOf(each).map((own) => ({
            lexemes: [...way.lexemes, ...own.lexemes],
            besides: [...way.besides, ...own.besides],
          })),
        ),
      [{ lexemes: [], besides: [] }],
    )
  }
  return [{ lexemes: [], besides: [node] }]
}

/** Whether the node contains the word; otherwise it is only a condition of access. */
function isOfWords(node: Node): boolean {
  if (!('op' in node)) return node.lexeme.includes(placeholder)
  if (node.op === 'member' || node.op === 'linked') return false
  return Array.isArray(node.of) ? node.of.some(isOfWords) : isOfWords(node.of as Node)
}

/** Titles are looked up in the linked objects, so these functions are not used. */
const noneLinked: SourceContext['linked'] = {
  targets: () => null,
  find: () => [],
  isEmpty: () => false,
  readable: () => 'true',
  knowsAll: () => false,
  found: () => '',
}

/**
 * `lateral` join of a term with one document `d` that shows it, is `readable` and `present` (null: regardless of the trash);
 * `known` has the columns of a `WordConditions`. The index is searched for the word alone: with all places it takes ten times as long,
 * and longer while entries wait to be sorted in.
 */
export function knownWordSql(
  term: string,
  known: string,
  {
    present,
    readable,
    places,
  }: { readonly present: string | null; readonly readable: string; readonly places: Places },
): string {
  const quoted = `replace(replace(${term}, '\\', '\\\\'), '''', '''''')`
  const queryOf = (text: string): string => `replace(${text}, '${placeholder}', ${quoted})::tsquery`
  const query = (column: string): string => queryOf(`${known}.${column}`)
  const through = places.none
    ? ''
    : `or exists (select from jsonb_to_recordset(${known}.through) way (query text, place int)
        where d.lexemes @@ ${queryOf('way.query')} and ${places.sql('way.place')})`
  return `cross join lateral (
    select from search_document d where d.lexemes @@ ${query('present')}
      and case when ${readable} then d.lexemes @@ ${query('seen')} ${through} end
      ${present === null ? '' : `and ${present}`} limit 1) known`
}
