/** Compiles text elements to conditions on records. */
import { AppError } from '../../platform/errors.ts'
import { type Pattern, patterns, words } from '../document/analyze.ts'
import { likeOf } from '../like-pattern.ts'
import { mostPatternParts } from '../request/patterns.ts'
import { choice, type Fields, optional, stringsAt, wrong } from '../request/read.ts'
import { someValue, type TextField, textFields, wholeText } from './fields.ts'
import type { Bind } from './model.ts'
import type { Source } from './source.ts'
import { hasPhrase, hasWords } from './words.ts'

const longestText = 10_000

export function textCondition(
  element: Fields,
  names: readonly string[],
  place: string,
  { source, bind, onTexts }: { readonly source: Source; readonly bind: Bind; readonly onTexts: () => void },
): string {
  const text =
    typeof element.string === 'number' ? String(element.string) : optional(element, 'string', 'string', place)
  if (text === undefined) throw wrong(`${place}.string`, 'a string')
  if (text.length > longestText) throw wrong(`${place}.string`, `a string of at most ${longestText} characters`)
  const modes = ['fulltext', 'token', 'wildcard', 'exact'] as const
  const mode = choice(optional(element, 'mode', 'string', place) || 'fulltext', modes, `${place}.mode`)
  const query = optional(element, 'query', 'string', place) || 'match'
  const isPhrase = choice(query, ['match', 'match_phrase'], `${place}.query`) === 'match_phrase'
  const phrase = (optional(element, 'phrase', 'boolean', place) ?? false) || isPhrase
  const languages = element.languages ? stringsAt(element.languages, `${place}.languages`, 100) : []
  const targets = textFields(source, names, languages)
  // People type a lone asterisk to see everything.
  if (text.trim() === '*' && names.length === 0 && mode !== 'token' && mode !== 'exact') return 'true'
  if (targets.some(({ field }) => field.different === null)) onTexts()
  const sent = bind(text)
  const sought = { text, parameter: sent }
  const found = source.words?.find(`record_words(${sent}::text)`)
  // Different values lead to an index of their own.
  const indexed = found && targets.some(({ field }) => field.different === null) ? `${found} and ` : ''
  if (mode === 'exact') {
    if (phrase) throw wrong(`${place}.phrase`, 'absent in the mode exact')
    const { pattern, whole } = likePattern(text, place)
    if (!whole && source.large)
      throw wrong(`${place}.string`, 'a text without wildcards: no index finds such patterns here')
    const like = bind(pattern)
    return `(${whole ? indexed : ''}${anyValue(targets, bind, (value) => `${value} like ${like}`)})`
  }
  if (mode === 'wildcard' && source.large)
    throw wrong(`${place}.mode`, 'another one than wildcard: no index finds patterns here')
  if (mode === 'wildcard') return wildcards(text, { targets, phrase, place }, bind)
  if (words(text).length === 0) return 'false'
  if (phrase || mode === 'token') {
    return `(${indexed}${anyValue(targets, bind, (value) => hasPhrase(value, sought, bind))})`
  }
  const [only, ...others] = targets
  if (only && only.field.kind === 'text' && others.length === 0 && !only.field.list)
    return `(${indexed}${someValue(only, (value) => hasWords(value, sought, bind), bind)})`
  // In most records that have the words, one of the texts that repeat has all of them.
  const repeated = targets.filter(({ field }) => field.different !== null)
  const looked = [
    ...repeated.map((target) => someValue(target, (value) => hasWords(value, sought, bind), bind)),
    hasWords(together(targets, bind), sought, bind),
  ].join(' or ')
  const whole = isEverything(names) && languages.length === 0 ? source.words?.whole : null
  if (!whole) return `(${indexed}(${looked}))`
  return whole === 'true' ? `${found}` : `(${found} and (${whole} or ${looked}))`
}

const isEverything = (names: readonly string[]): boolean =>
  names.length === 0 || (names.length === 1 && names[0] === '_fulltext')

function anyValue(targets: readonly TextField[], bind: Bind, condition: (value: string) => string): string {
  const each = targets.map((target) => someValue(target, condition, bind))
  return each.length === 0 ? 'false' : `(${each.join(' or ')})`
}

/** Joins the texts of all fields, separated, so that no word spans two of them. */
function together(targets: readonly TextField[], bind: Bind): string {
  return targets.length === 0 ? `''` : `concat_ws(' ', ${targets.map((each) => wholeText(each, bind)).join(', ')})`
}

/** Each word of the text with its wildcards in any of the fields; for a phrase, all words in sequence in one value. */
function wildcards(
  text: string,
  {
    targets,
    phrase,
    place,
  }: { readonly targets: readonly TextField[]; readonly phrase: boolean; readonly place: string },
  bind: Bind,
): string {
  const found = patterns(text, 'words')
  if (found.length > 0 && found.every(({ parts }) => parts.every((part) => 'wildcard' in part)))
    throw new AppError('WildcardOnlyNotAllowed', { name: place })
  if (found.length === 0) return 'false'
  if (phrase) {
    const all = bind(` ${found.map(regularExpression).join(' ')} `)
    return anyValue(targets, bind, (value) => `record_text(${value}) ~ ${all}`)
  }
  const whole = `record_text(${together(targets, bind)})`
  return `(${found.map((pattern) => `${whole} ~ ${bind(` ${regularExpression(pattern)} `)}`).join(' and ')})`
}

/** The pattern without backtracking: PostgreSQL runs it as an automaton. */
function regularExpression({ parts }: Pattern): string {
  return parts
    .map((part) => {
      if ('literal' in part) return part.literal.replace(/[^\p{L}\p{N}\p{M}]/gu, '\\$&')
      return part.wildcard === '*' ? '[^ ]*' : '[^ ]'
    })
    .join('')
}

/** The whole text as it is stored, case included. */
function likePattern(text: string, place: string): { readonly pattern: string; readonly whole: boolean } {
  const pieces = text.match(/\\[\s\S]|[\s\S]/g) ?? []
  const wildcardCount = pieces.filter((piece) => piece === '*' || piece === '?').length
  if (wildcardCount >= mostPatternParts)
    throw wrong(`${place}.string`, `a pattern with fewer than ${mostPatternParts} wildcards`)
  if (wildcardCount > 0 && wildcardCount === pieces.length)
    throw new AppError('WildcardOnlyNotAllowed', { name: place })
  return { pattern: likeOf(text), whole: wildcardCount === 0 }
}
