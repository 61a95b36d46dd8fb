/**
 * Edits: changes of an object that depend on its stored values (`_operations` of a payload), so that the same edits can be applied
 * to many objects. They are applied after the fields of the payload, in their order.
 */
import type { Column, NestedField } from '../../../datamodel/model.ts'
import type { FileEntry } from '../../content/file-links.ts'
import type { Content } from '../../stored/content.ts'
import type { NamedRef } from '../request/refs.ts'

/** In rows of a nested table, or of one inside: `path` leads from the block to it; empty: in the block itself. */
interface InRows {
  readonly path: readonly NestedField[]
  readonly place: string
}

/** Adds rows at the end or the beginning, as new rows for each object. */
export interface AddRows extends InRows {
  readonly kind: 'append' | 'prepend'
  readonly rows: readonly Content[]
  /** A row is not added where an existing row has the same values in the given fields. */
  readonly unlessPresent: boolean
}

/** A row with these values, and this `_uuid` if given. */
export interface RowMatch {
  readonly uuid: string | undefined
  readonly values: Content
  readonly place: string
}

/** Removes rows, or sets fields in them. */
export interface ChangeRows extends InRows {
  readonly kind: 'remove' | 'replace'
  readonly matches: readonly RowMatch[]
  /** Fields to set in the rows; null: the rows are removed. */
  readonly fields: Content | null
}

/** Replaces a text wherever it occurs in a field. */
export interface ReplaceText extends InRows {
  readonly kind: 'replace_text'
  readonly column: Column
  readonly search: string
  readonly text: string
  readonly wholeWords: boolean
  readonly matchCase: boolean
  /** For texts by language; null: all languages. */
  readonly languages: readonly string[] | null
}

/** Takes files out of a list and adds others: each is in it once, and one of them is preferred. */
export interface ChangeFiles extends InRows {
  readonly kind: 'files'
  readonly column: Column
  /** `replace` adds where it has taken something out. */
  readonly op: 'append' | 'prepend' | 'remove' | 'replace'
  /** Ids of what is taken out. */
  readonly named: ReadonlySet<number>
  readonly added: readonly FileEntry[]
}

export type FieldEdit = AddRows | ChangeRows | ChangeFiles | ReplaceText

/** `remove`: the tags of `named`; `append`: the tags of `added`; `replace`: both, if it has removed a tag. */
export interface TagEdit {
  readonly kind: 'append' | 'remove' | 'replace'
  readonly named: readonly NamedRef[]
  readonly added: readonly NamedRef[]
}

/** The same for grants: `named` are principals in stored form, `added` grants as they are sent. */
export interface GrantEdit {
  readonly kind: 'append' | 'remove' | 'replace'
  readonly named: ReadonlySet<string>
  readonly added: readonly unknown[]
  readonly place: string
}

export interface Edits {
  readonly fields: readonly FieldEdit[]
  readonly tags: readonly TagEdit[]
  readonly grants: readonly GrantEdit[]
  readonly place: string
}

export const editLimits = {
  /** Operations of a payload. */
  operations: 50,
  /** Rows, files, tags and grants of them together. */
  values: 1000,
  /** The same for all objects of a group. */
  groupValues: 200_000,
  /** Characters of a searched text. */
  search: 1000,
  /** Characters of a replacement. */
  text: 10_000,
  /** Total characters by which texts of a request may grow. */
  growth: 50_000_000,
  /** Characters of a text after it has grown. */
  grown: 1_000_000,
  /** Positions of a text that are checked. */
  places: 500_000,
  /** Comparisons of rows with the searched row, by one operation in one object. */
  comparisons: 1_000_000,
  /** The same for all objects of a request. */
  allComparisons: 100_000_000,
} as const
