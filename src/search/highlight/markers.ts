/** Turns the searched words into markers for the texts of hits. */
import { type Pattern, patterns, token, words } from '../document/analyze.ts'
import { type FoldedText, type Span, spanOf, wordsIn } from '../document/marks.ts'
import type { SearchField } from '../plan/fields.ts'
import type { Clause, TextClause, TextTarget } from '../plan/plan.ts'

/** One word, or several adjacent ones: each function matches a word of the text. */
type Unit = readonly ((word: string) => boolean)[]

/** The words and values to be marked in the texts of some fields. */
export interface Marker {
  readonly targets: readonly TextTarget[]
  readonly units: readonly Unit[]
  /** Whole values of `string` columns. */
  readonly whole: (value: string) => boolean
}

/** The highest number of clauses whose matches are marked. The words of a request are limited already. */
const mostMarkers = 50

/** Markers for all searched texts, except for texts that must not match, and texts that other objects match. */
export function markersOf(where: Clause): readonly Marker[] {
  const markers: Marker[] = []
  const collect = (clause: Clause): void => {
    if (markers.length >= mostMarkers) return
    if (clause.is === 'and' || clause.is === 'or') clause.of.forEach(collect)
    else if (clause.is === 'row') collect(clause.of)
    else if (clause.is === 'text') markers.push(markerOf(clause))
  }
  collect(where)
  return markers
}

function markerOf(clause: TextClause): Marker {
  const { targets, text, mode, phrase } = clause
  const fits =
    mode === 'wildcard'
      ? patterns(text, 'words').filter(saysSomething).map(patternFits)
      : words(text).map((word) => (each: string) => each === word)
  const isPhrase = phrase || mode === 'token'
  const [pattern] = mode === 'wildcard' ? patterns(text, 'token').filter(saysSomething) : []
  const folded = token(text)
  const others = (clause.synonyms ?? []).flatMap(({ or }) =>
    or.map((list) => list.map((word) => (each: string) => each === word)),
  )
  return {
    targets,
    units: [...(fits.length === 0 ? [] : isPhrase ? [fits] : fits.map((each) => [each])), ...others],
    whole: pattern ? patternFits(pattern) : (value) => value === folded,
  }
}

const saysSomething = ({ parts }: Pattern): boolean => parts.some((part) => 'literal' in part)

/** Whether a marker is about a text of the field in a language; null: the field has none. */
export function isAbout({ targets }: Marker, field: SearchField, language: string | null): boolean {
  return targets.some(
    (target) =>
      (target.field === null ? field.fulltext : target.field === field) &&
      (target.languages === null || language === null || target.languages.includes(language)),
  )
}

/** Ranges of a text to be marked, in ascending order and without overlaps. */
export function spansIn(text: FoldedText, field: SearchField, markers: readonly Marker[]): readonly Span[] {
  const found = wordsIn(text)
  const isMarked = new Uint8Array(found.length)
  for (const { units, whole } of markers) {
    if (field.kind === 'string' && whole(token(text.text))) return [spanOf(text, 0, text.text.length)]
    for (const unit of units) markUnit(found, unit, isMarked)
  }
  return found.flatMap(({ at, word }, index) => (isMarked[index] === 1 ? [spanOf(text, at, word.length)] : []))
}

function markUnit(found: ReturnType<typeof wordsIn>, unit: Unit, isMarked: Uint8Array): void {
  for (let start = 0; start + unit.length <= found.length; start++) {
    if (!unit.every((fits, n) => fits(found[start + n]?.word as string))) continue
    isMarked.fill(1, start, start + unit.length)
  }
}

type Step = string | { readonly wildcard: '*' | '?' }

/** Matches `*` and `?`, backtracking no further than to the last star. */
function patternFits({ parts }: Pattern): (text: string) => boolean {
  const steps = parts.flatMap((part): Step[] => ('literal' in part ? [...part.literal] : [part]))
  return (text) => {
    const chars = [...text]
    let [at, step, star, after] = [0, 0, -1, 0]
    while (at < chars.length) {
      const wanted = steps[step]
      if (typeof wanted === 'object' && wanted.wildcard === '*') {
        star = step++
        after = at
      } else if (wanted !== undefined && (typeof wanted === 'object' || wanted === chars[at])) {
        at++
        step++
      } else if (star !== -1) {
        step = star + 1
        at = ++after
      } else return false
    }
    return steps.slice(step).every((rest) => typeof rest === 'object' && rest.wildcard === '*')
  }
}
