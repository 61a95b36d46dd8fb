/** Searches for many terms: the same search with each of them in one place, and the number of objects that each finds. */

/** A filter for terms of a dictionary; all texts are folded. `like`: a pattern of PostgreSQL. */
export type TermMatch =
  | { readonly is: 'exact' | 'beginning'; readonly text: string }
  | { readonly is: 'like'; readonly pattern: string; readonly without: string | null }

/**
 * Terms of dictionaries (0: words, else the id of a `string` column), shorter ones first. `without`: excludes terms with this
 * beginning.
 */
export interface TermSource {
  readonly fields: readonly number[]
  readonly match: TermMatch
}

export interface TermQuery {
  /** The placeholder of the term in a text of the plan. */
  readonly placeholder: string
  readonly source: TermSource
  /** The highest number of terms that find some object. */
  readonly most: number
  /** Milliseconds after which no further term is tried. */
  readonly within: number
}

export interface FoundTerm {
  readonly term: string
  /** The approximate number of objects with it: now, at the last count, or an upper estimate. For comparison of terms. */
  readonly about: number
  /** It is exactly so many, counted a moment ago. */
  readonly exact?: boolean
}

export interface FoundTerms {
  /** The terms that find some object, in the order of the source. */
  readonly terms: readonly FoundTerm[]
  /** Whether the time ran out before all terms were tried. */
  readonly timedOut: boolean
}
