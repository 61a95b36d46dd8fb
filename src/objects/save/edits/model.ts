/**
 * Edits: changes of an object that depend on what is stored of it (`_operations` of a payload), so that the same ones can be
 * made of many objects. They come over the fields of the payload, in their order.
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

/** Adds rows at the end or the beginning, new ones for each object. */
export interface AddRows extends InRows {
  readonly kind: 'append' | 'prepend'
  readonly rows: readonly Content[]
  /** Rows are not added where one has the same values in the fields that they name. */
  readonly unlessPresent: boolean
}

/** A row that has these values, and this `_uuid` where there is one. */
export interface RowMatch {
  readonly uuid: string | undefined
  readonly values: Content
  readonly place: string
}

/** Takes out rows, or sets fields of them. */
export interface ChangeRows extends InRows {
  readonly kind: 'remove' | 'replace'
  readonly matches: readonly RowMatch[]
  /** Fields that rows get; null: they go. */
  readonly fields: Content | null
}

/** Replaces a text wherever it stands in a field. */
export interface ReplaceText extends InRows {
  readonly kind: 'replace_text'
  readonly column: Column
  readonly search: string
  readonly text: string
  readonly wholeWords: boolean
  readonly matchCase: boolean
  /** Of texts by language; null: all that there are. */
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

/** `remove` those of `named`, `append` those of `added`; `replace` does both where it has taken something out. */
export interface TagEdit {
  readonly kind: 'append' | 'remove' | 'replace'
  readonly named: readonly NamedRef[]
  readonly added: readonly NamedRef[]
}

/** The same of grants: `named` are principals as they are stored, `added` grants as they are sent. */
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
  /** Characters that are looked for. */
  search: 1000,
  /** Characters that come in their place. */
  text: 10_000,
  /** Characters that texts of a request may grow by. */
  growth: 50_000_000,
  /** Characters of a text that has grown. */
  grown: 1_000_000,
  /** Places of a text that are looked at. */
  places: 500_000,
  /** Comparisons of rows with what is looked for, by one operation in one object. */
  comparisons: 1_000_000,
  /** The same for all objects of a request. */
  allComparisons: 100_000_000,
} as const
