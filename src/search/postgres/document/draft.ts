import type { IndexSource, LinkTarget } from '../../document/source.ts'
import type { FieldCatalogue, SearchField } from '../../plan/fields.ts'
import type { Slots } from '../slots.ts'
import type { Arena } from './arena.ts'
import type { LexemeSet } from './lexemes.ts'

export interface IndexContext {
  readonly fields: FieldCatalogue
  readonly slots: Slots
  /** Database languages, first one first. */
  readonly languages: readonly string[]
  /** Objects that are linked to, as far as they exist. */
  readonly target: (id: number) => LinkTarget | undefined
  /** All ancestors of a link target. */
  readonly ancestors: (id: number) => readonly number[]
  /** Ids from the root pool down to the pool; none when it does not exist. */
  readonly poolPath: (id: number) => readonly number[]
  /** Collects the words for wildcards. */
  readonly terms: TermSink
  /** Holds the encoded data until the batch is written. */
  readonly arena: Arena
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface TermSink {
  word(word: string): void
  /** The whole value of a `string` column. */
  token(columnId: number, token: string): void
}

/** A row of a nested table; `lexemes` is a `tsvector` in binary form. */
export interface NestedRow {
  readonly row: number
  /** Number of the row that contains it; 0 is the object. */
  readonly parent: number
  readonly lexemes: Buffer
}

export interface IndexDocument {
  readonly id: number
  readonly objecttype: number
  readonly deleted: boolean
  /** Microseconds since 1970. */
  readonly createdAt: number
  readonly modifiedAt: number
  /** Milliseconds since 1970; null: as long as the object does not change. */
  readonly validUntil: number | null
  /** A `tsvector` in binary form. */
  readonly lexemes: Buffer
  /** Another `tsvector`, of the words of title and subtitle. */
  readonly names: Buffer
  /** A `tsvector` of the lexemes for the pool, the owner and the readers of the object. */
  readonly access: Buffer
  /** The access lexemes that name no people (`shared`), and the others (`people`). */
  readonly shared: Buffer
  readonly people: Buffer
  readonly facets: readonly FacetSet[]
  /** Sort keys by place, counted from 1. */
  readonly sortKeys: readonly (Buffer | undefined)[]
  readonly farKeys: readonly (Buffer | undefined)[]
  readonly rows: readonly NestedRow[]
  /** Hash of the data that other objects show of this one, or are found by. */
  readonly shown: number
  /** Hash of the parents of the object. */
  readonly parentsHash: number
}

/** A document while it is built. */
export interface Draft {
  readonly context: IndexContext
  readonly source: IndexSource
  readonly lexemes: LexemeSet
  /** Words of title and subtitle. */
  readonly names: LexemeSet
  readonly access: LexemeSet
  readonly shared: LexemeSet
  readonly people: LexemeSet
  namePosition: number
  /** Members of the facets, repetitions included. */
  readonly members: Map<SearchField, (number | string)[]>
  readonly sortKeys: (Buffer | undefined)[]
  readonly farKeys: (Buffer | undefined)[]
  readonly rows: NestedRow[]
  /** Numbers given to rows so far. */
  rowCount: number
  /** Next free position of each column's words, for columns with several values. */
  readonly positions: Map<string, number>
  /** Lexemes of the row being read, by depth of its table. */
  readonly rowLexemes: LexemeSet[]
}

/** The values under which an object is counted in one facet: system object ids (or ids of tags and pools), or labels. */
export interface FacetSet {
  readonly slot: number
  readonly field: string
  /** Equal sets of a field have equal names. */
  readonly name: string
  /** Sorted, each once. */
  readonly members: readonly number[] | readonly string[]
}
