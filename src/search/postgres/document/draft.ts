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
  /** Takes the words for wildcards. */
  readonly terms: TermSink
  /** Keeps what is encoded until the batch is written. */
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
  /** Number of the row that it stands in; 0 is the object. */
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
  /** Another one, of the words of title and subtitle. */
  readonly names: Buffer
  /** Another one: those of the lexemes that say where the object is, whose it is and who may read it. */
  readonly access: Buffer
  /** Those of them that say nothing of people, and the others. */
  readonly shared: Buffer
  readonly people: Buffer
  readonly facets: readonly FacetSet[]
  /** Sort keys by place, counted from 1. */
  readonly sortKeys: readonly (Buffer | undefined)[]
  readonly farKeys: readonly (Buffer | undefined)[]
  readonly rows: readonly NestedRow[]
  /** Hash of what objects that link to this one show or find of it. */
  readonly shown: number
  /** Hash of the objects that it stands right below. */
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

/** What an object counts under in one facet: system object ids (or ids of tags and pools), or labels. */
export interface FacetSet {
  readonly slot: number
  readonly field: string
  /** Equal sets of a field have equal names. */
  readonly name: string
  /** Sorted, each once. */
  readonly members: readonly number[] | readonly string[]
}
