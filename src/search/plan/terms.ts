/** Many texts, each in the same place of a search, and how many objects each of these searches finds. */

/** Which terms of a dictionary; all texts are folded. `like`: a pattern of PostgreSQL's. */
export type TermMatch =
  | { readonly is: 'exact' | 'beginning'; readonly text: string }
  | { readonly is: 'like'; readonly pattern: string; readonly without: string | null }

export type TermSource =
  /** Terms of dictionaries (0: words, else the id of a `string` column), shorter ones first. `without`: not what begins so. */
  | { readonly is: 'dictionary'; readonly fields: readonly number[]; readonly match: TermMatch }
  | { readonly is: 'listed'; readonly terms: readonly string[] }

export interface TermQuery {
  /** Stands for the term in a text or a value of the plan. */
  readonly placeholder: string
  readonly source: TermSource
  /** Terms that find something, at most. */
  readonly most: number
  /** Milliseconds after which no further term is looked at. */
  readonly within: number
}

export interface FoundTerm {
  readonly term: string
  /** So many objects have it, or had it when it was looked at last, or more: to compare terms by. */
  readonly about: number
  /** It is exactly so many, counted a moment ago. */
  readonly exact?: boolean
}

export interface FoundTerms {
  /** In the order of the source, those that find something. */
  readonly terms: readonly FoundTerm[]
  /** The time was over before all were looked at. */
  readonly timedOut: boolean
}
