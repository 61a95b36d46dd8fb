/** The context and helpers that all kinds of elements share. */
import type { Table } from '../../datamodel/model.ts'
import type { FieldCatalogue, NestedFields, SearchField } from '../plan/fields.ts'
import type { Clause, SearchScope, VisibleCollections } from '../plan/plan.ts'
import type { Fields } from './read.ts'
import type { Clock } from './relative-dates.ts'
import type { AlikeFiles } from './similar.ts'
import type { LanguageSynonyms } from './synonyms.ts'

/** The id of the pool that has the reference. */
export type PoolByReference = (reference: string) => number | undefined

export interface ElementContext {
  readonly fields: FieldCatalogue
  /** The searched object types. */
  readonly objecttypes: readonly Table[]
  readonly clock: Clock
  /** The nested table whose rows the element is about; null outside of nested elements. */
  readonly nested: NestedFields | null
  readonly depth: number
  readonly databaseName: string
  /** Pictures that look like the pictures in the request. */
  readonly alike: AlikeFiles
  /** Synonyms, by data language. */
  readonly synonyms: readonly LanguageSynonyms[]
  /** Compiles a search within the search. */
  readonly scope: (request: Fields, place: string, depth: number) => SearchScope
  /** The context of elements about linked objects of a type. */
  readonly within: (target: Table) => ElementContext
  /** The objects of the type that fulfil a condition and that the caller may read. */
  readonly scopeOf: (target: Table, where: Clause) => SearchScope
  /** The collections that the caller may see; empty where the request names none. */
  readonly collections: VisibleCollections
  readonly poolByReference: PoolByReference
  /** Number of steps through links in the whole request, so far. */
  readonly links: { count: number }
}

export function and(of: readonly Clause[]): Clause {
  if (of.length === 0) return { is: 'all' }
  return of.length === 1 ? (of[0] as Clause) : { is: 'and', of }
}

export function or(of: readonly Clause[]): Clause {
  if (of.length === 0) return { is: 'none' }
  return of.length === 1 ? (of[0] as Clause) : { is: 'or', of }
}

/** Dates of nested tables are known only per row. */
export function inRows(
  context: ElementContext,
  targets: readonly { readonly field: SearchField | null }[],
  clause: Clause,
): Clause {
  const field = targets.find((target) => target.field?.kind === 'date' && target.field.path.length > 0)?.field
  const nested = field && context.fields.nestedByTable.get((field.path.at(-1) as Table).id)
  if (!nested || context.nested || targets.length > 1) return clause
  return { is: 'row', nested, of: clause }
}
