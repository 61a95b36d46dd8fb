/**
 * Words that one caller may know: those of objects that they may read, as far as they see where they stand. The
 * dictionary has the words of all objects, those of the trash too, and does not know who sees them. Whatever comes of a
 * pattern (what is found, how well it fits, whether it stands for too much) depends on the words that it stands for; so
 * a word that a caller cannot know must not be among them.
 */

import type { SearchPlan, TextTarget } from '../../../plan/plan.ts'
import { columnWord, titleWord } from '../../document/lexemes.ts'
import { withoutShared, withPlaces } from '../access/predicate.ts'
import { whereSeen } from '../access/visibility.ts'
import { anyOf, lexeme, type Node, tsquery } from '../sql/tsquery.ts'
import { asksTitles, ownSources, type SourceContext } from './sources.ts'

/** Stands for the word: of private use, so that no word has it. */
const placeholder = '\uf8ff'

/** Texts of some object types. */
export interface WordTarget {
  readonly target: TextTarget
  readonly types: SourceContext['types']
}

/** What a document must fulfil to show the caller a word: `tsquery`s with a placeholder for the word. */
export interface KnownWord {
  /** The word is there at all: few lexemes, for the index. */
  readonly present: string
  /** It stands where the caller sees it. */
  readonly seen: string
}

/** null: no document shows the caller a word. `dictionary`: 0 for words, else the id of a `string` column. */
export function knownWord(
  dictionary: number,
  places: readonly WordTarget[],
  { fieldVisibility, languages }: Pick<SearchPlan, 'fieldVisibility' | 'languages'>,
): KnownWord | null {
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
  return {
    present: tsquery(anyOf([...lexemes].map(lexeme))),
    seen: tsquery(withPlaces(withoutShared(anyOf([...shown.values()])))),
  }
}

/** Titles are asked of the linked objects, so nobody asks this. */
const noneLinked: SourceContext['linked'] = {
  find: () => [],
  isEmpty: () => false,
  readable: () => 'true',
  knowsAll: () => false,
  found: () => '',
}

/**
 * `lateral` join of a term with one document `d` that shows it, is `readable` and `present` (null: whether in the trash or not); `known` has the columns of a `KnownWord`. The index is
 * asked for the word alone: with all places it takes ten times as long, more while entries wait to be sorted in.
 */
export function knownWordSql(term: string, known: string, present: string | null, readable: string): string {
  const quoted = `replace(replace(${term}, '\\', '\\\\'), '''', '''''')`
  const query = (column: string): string => `replace(${known}.${column}, '${placeholder}', ${quoted})::tsquery`
  return `cross join lateral (
    select from search_document d where d.lexemes @@ ${query('present')}
      and case when ${readable} then d.lexemes @@ ${query('seen')} end
      ${present === null ? '' : `and ${present}`} limit 1) known`
}
