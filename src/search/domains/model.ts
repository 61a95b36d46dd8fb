/**
 * Vocabulary of searches in records. A *record kind* (kinds.ts) is data: the table, the fields and the standard order. A
 * *domain* is a value of `type` and has the records of one kind, or of several. An *access* is the part of them that a caller may
 * see.
 */
import type { Actor } from '../../platform/actor.ts'

export const domainNames = ['pool', 'collection', 'event', 'message', 'user', 'group', 'acl'] as const
export type DomainName = (typeof domainNames)[number]

/** A value that becomes a parameter: returns its place in the statement. */
export type Bind = (value: unknown) => string

/** The users who see a field: all readers of the record (absent), only the record's own user, or managers of such records. */
export type Audience = 'self' | 'managers'

export type FieldKind = 'text' | 'l10n' | 'number' | 'id' | 'boolean' | 'date'

export interface RecordField {
  /** The name, by its path in the record. */
  readonly name: string
  readonly kind: FieldKind
  /** Several values: an array in SQL. */
  readonly list?: true
  readonly audience?: Audience
  /** Few different texts stand in many records, and an index has them in order (a column without `audience`). */
  readonly repeats?: true
  /** Each record has a value, and an index has the order of them. */
  readonly ordered?: true
  /** SQL of the value, for the row `t`. */
  readonly sql: (t: string) => string
}

/** The index of the words in the texts of a record. */
export interface WordIndex {
  /** SQL: whether the row `t` has the words in any of its texts; for rows that are not `whole` it may be true without them. */
  readonly find: (t: string, words: string) => string
  /** SQL: whether the index has exactly the words of all text fields of the row `t`. */
  readonly whole: (t: string) => string
}

export interface RecordKind {
  readonly basetype: string
  /** In SQL. */
  readonly table: string
  readonly fields: readonly RecordField[]
  /** The order if the request has none. */
  readonly order: { readonly field: string; readonly descending: boolean }
  /** Null: the table is small. */
  readonly words: WordIndex | null
  /** There may be millions of them: a search that no index can answer is refused. */
  readonly large?: true
  /** The users whose searches find these records, for the documentation. */
  readonly seen: string
}

/** The part of the records of a kind that a caller may see. */
export interface RecordAccess {
  /** Condition of the row `t`. */
  readonly condition: string
  /** Whether the fields for an audience are shown, for all rows or by a condition on the row; absent: they are not. */
  readonly shown: Partial<Record<Audience, boolean | ((t: string) => string)>>
}

/** The functions that the owner of a kind of records provides for searches. */
export interface RecordKeeper {
  /** The values that it binds are the first parameters of the statement. */
  readonly access: (actor: Actor, bind: Bind) => Promise<RecordAccess> | RecordAccess
  /** Records as their own endpoint renders them, in any order. Deleted records are left out. */
  readonly render: (actor: Actor, ids: readonly number[]) => Promise<ReadonlyMap<number, unknown>>
}

export type RecordKeepers = Readonly<Record<string, RecordKeeper>>
