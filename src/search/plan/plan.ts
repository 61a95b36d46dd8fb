/**
 * A search in the form for engines: names are resolved, shapes checked, rights included. A request is compiled into a plan once
 * (src/search/request); an engine translates the plan into its own language (src/search/postgres).
 */
import type { Model } from '../../datamodel/model.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { DeleteCondition, Expression } from '../../rights/service.ts'
import type { Ring } from '../geo/polygon.ts'
import type { Rectangle } from '../geo/rectangles.ts'
import type { LinkStep } from './field-paths.ts'
import type { FieldVisibility } from './field-visibility.ts'
import type { FieldCatalogue, NestedFields, SearchField } from './fields.ts'
import type { Measure, Measured, TextChoice } from './measures.ts'
import type { FoundTerm, FoundTerms, TermQuery } from './terms.ts'

/** Members of publish records by which objects are found. */
export type PublishedBy = '_id' | 'collector' | 'publish_uri'

/** Ids of the collections that a caller may see; null: all of them. */
export type VisibleCollections = readonly number[] | null

/** The interpretation of the string of a text element. */
export type TextMode = 'fulltext' | 'token' | 'wildcard'

export interface TextTarget {
  /** null: `_fulltext`, all texts that the masks put there. */
  readonly field: SearchField | null
  /** Only localized texts in these languages (others have none and always count); null: all. */
  readonly languages: readonly string[] | null
}

/** Words of a searched text, and their synonyms: each synonym is several words in a row. */
export interface Alternatives {
  readonly words: readonly string[]
  readonly or: readonly (readonly string[])[]
}

export interface TextClause {
  readonly is: 'text'
  readonly targets: readonly TextTarget[]
  readonly text: string
  readonly mode: TextMode
  /** Whether the words must occur next to each other, in this order. */
  readonly phrase: boolean
  /** All words of the text in order, where some of them have synonyms. */
  readonly synonyms?: readonly Alternatives[]
}

/** Closed interval of moments in seconds since 1970; null is open. Matches every date that shares a moment with it. */
export interface MomentRange {
  readonly from: bigint | null
  readonly to: bigint | null
}

export interface NumberBound {
  readonly value: number
  readonly inclusive: boolean
}

/** A condition on the history of objects; all parts must hold for the same change. */
export interface ChangeClause {
  readonly is: 'changed'
  readonly range: MomentRange
  readonly operations: readonly ('i' | 'u' | 'd' | 'r')[] | null
  readonly comment: string | null
  readonly userId: number | null
}

export type Clause =
  | { readonly is: 'all' }
  | { readonly is: 'none' }
  | { readonly is: 'and' | 'or'; readonly of: readonly Clause[] }
  | { readonly is: 'not'; readonly of: Clause }
  | TextClause
  /** The column has one of these values, exactly as they are stored; links: system object ids. */
  | {
      readonly is: 'value'
      readonly field: SearchField
      readonly languages: readonly string[] | null
      readonly values: readonly (string | number | boolean)[]
      /** For links: whether objects below these count too. */
      readonly below: boolean
    }
  | { readonly is: 'empty'; readonly field: SearchField }
  /** A stored text matches the pattern, from its beginning to its end, with case. `*`, `?`, and a backslash that escapes them. */
  | {
      readonly is: 'pattern'
      readonly of: readonly { readonly field: SearchField; readonly languages: readonly string[] | null }[]
      readonly pattern: string
    }
  | {
      readonly is: 'numbers'
      readonly field: SearchField
      readonly from: NumberBound | null
      readonly to: NumberBound | null
    }
  | { readonly is: 'dates'; readonly field: SearchField; readonly range: MomentRange }
  /** The date spans exactly these moments. */
  | { readonly is: 'sameDate'; readonly field: SearchField; readonly range: MomentRange }
  /** A geometry shares a point with one of the rectangles. */
  | { readonly is: 'geoBox'; readonly field: SearchField; readonly boxes: readonly Rectangle[] }
  /** The geometry is within the polygon. */
  | { readonly is: 'geoShape'; readonly field: SearchField; readonly ring: Ring }
  | { readonly is: 'created' | 'modified'; readonly range: MomentRange }
  | { readonly is: 'objecttype' | 'id'; readonly ids: readonly number[] }
  | { readonly is: 'pool'; readonly ids: readonly number[]; readonly below: boolean; readonly none: boolean }
  | { readonly is: 'tag'; readonly ids: readonly number[] }
  /** Objects in the list of one of the collections; `none`: also objects in no list that the caller may see (`seen`). */
  | {
      readonly is: 'collected'
      readonly ids: readonly number[]
      readonly none: boolean
      readonly seen: VisibleCollections
    }
  /** Objects with a publish record that has one of the values in the member; `none`: also objects without any record. */
  | {
      readonly is: 'published'
      readonly by: PublishedBy
      readonly values: readonly (string | number)[]
      readonly none: boolean
    }
  /** `u5`, `g3` */
  | { readonly is: 'owner'; readonly principals: readonly string[] }
  | { readonly is: 'uuid'; readonly values: readonly string[] }
  /** `_id` of objects of a type. */
  | { readonly is: 'ownId'; readonly objecttype: number; readonly ids: readonly number[] }
  /** Objects of a type whose parent, or one of the parents, has such an `_id`; `none`: also objects without parent. */
  | { readonly is: 'childOf'; readonly objecttype: number; readonly ids: readonly number[]; readonly none: boolean }
  /** Objects below these in a hierarchy; `objecttype`: the ids are their `_id`, null: system object ids. */
  | { readonly is: 'below'; readonly objecttype: number | null; readonly ids: readonly number[] }
  /** Conditions that hold in one row of a nested table. */
  | { readonly is: 'row'; readonly nested: NestedFields; readonly of: Clause }
  /** A link to an object that another search finds. */
  | { readonly is: 'linked'; readonly field: SearchField; readonly of: SearchScope }
  /**
   * Another search finds objects; `by` links from these to further objects (null: the found objects themselves). The clause matches
   * objects that link to those by `field` (null: those objects themselves).
   */
  | {
      readonly is: 'joined'
      readonly field: SearchField | null
      readonly of: SearchScope
      readonly by: SearchField | null
    }
  | ChangeClause

/** The searched objects: the condition that they match, and the rights of the caller. */
export interface SearchScope {
  /** Ids of object types; null: all. */
  readonly objecttypes: readonly number[] | null
  readonly where: Clause
  readonly rights: Expression
  /**
   * The part of the trash that is searched: none of it, all of it, or the objects that the caller may delete, by the stored
   * objects.
   */
  readonly deleted: boolean | DeleteCondition
}

/** A clause that raises the score of matching objects. */
export interface ScoreTerm {
  readonly clause: Clause
  readonly boost: number
  /** Whether every hit matches the clause. */
  readonly certain: boolean
}

/** The period of a date by which hits are sorted: dates that begin in the same period are equal. */
export type PeriodUnit = 'year' | 'month' | 'week' | 'day'

/** Which of several values decides. */
export type Which = 'least' | 'greatest'

export type SortField =
  | { readonly by: 'score' | 'id' | 'created' | 'modified' | 'objecttype' }
  | {
      readonly by: 'standard'
      readonly languages: readonly string[]
      /** By the titles from the top of the hierarchy down. */
      readonly path?: boolean
    }
  /** By the title of the parent; `path`: by the titles of all ancestors, from the top down. */
  | { readonly by: 'parent'; readonly languages: readonly string[]; readonly path: boolean }
  | {
      readonly by: 'field'
      readonly field: SearchField
      readonly languages: readonly string[]
      readonly end: boolean
      /** For links: by the titles from the top of the hierarchy of the target down. */
      readonly path?: boolean
      /** For dates. */
      readonly width?: PeriodUnit
      /** For texts: digits sort as letters, or the number of the run of digits that decides, counted from 1. */
      readonly digits?: 'letters' | number
      /** Alternatives of the same kind: the first one in which an object has a value counts. */
      readonly others?: readonly SearchField[]
      /** The value of the object behind these links, along the first link of each. */
      readonly steps?: readonly LinkStep[]
      /** Where one of these leads back: which of the values of all objects that it leads to. */
      readonly which?: Which
    }

export interface SortKey {
  readonly field: SortField
  readonly descending: boolean
}

export type FacetField =
  | {
      readonly kind: 'field'
      readonly field: SearchField
      /** Values of the objects behind these links. */
      readonly steps?: readonly LinkStep[]
      /** Absent: localized texts count in the first database language that they have. */
      readonly text?: TextChoice
    }
  | { readonly kind: 'objecttype' | 'pool' | 'tags' | 'owner' }
  | { readonly kind: 'collections'; readonly seen: VisibleCollections }
  /** By the platforms of publish records. */
  | { readonly kind: 'collectors' }

export interface FacetPlan {
  readonly kind: 'facet'
  readonly name: string
  readonly field: FacetField
}

/** The number of objects within each of several ranges. */
export interface RangesPlan {
  readonly kind: 'ranges'
  readonly name: string
  readonly clauses: readonly Clause[]
}

export type AggregationPlan = FacetPlan | RangesPlan

export interface SearchPlan {
  readonly model: Model
  readonly fields: FieldCatalogue
  /** Database languages, first one first. */
  readonly languages: readonly string[]
  readonly scope: SearchScope
  /** The parts of readable objects that the caller sees. */
  readonly fieldVisibility: FieldVisibility
  readonly score: readonly ScoreTerm[]
  /** Always ends with the id, so that the order is total. */
  readonly sort: readonly SortKey[]
  /** Sort values of the hit after which the page begins. */
  readonly after: readonly unknown[] | null
  readonly offset: number
  readonly limit: number
  readonly aggregations: readonly AggregationPlan[]
  /** State of the index at the beginning of the request (`SearchEngine.momentSql`); null: the engine reads it. */
  readonly moment: number | null
}

export interface Hit {
  readonly id: number
  readonly score: number | null
  /** Values of the sort keys, in the form for `after` of a later plan. */
  readonly sort: readonly unknown[]
}

/**
 * Values of a facet (system object ids, ids of pools, tags or object types, labels), each with its number of matches.
 * There may be tens of thousands, while an answer shows ten.
 */
export interface FacetCounts {
  readonly counts: Int32Array
  /** Size in memory. */
  readonly bytes: number
  /** A value that is in memory. */
  value(index: number): number | string
  /**
   * Reads values from the database, because there are too many for memory: the values at these positions, some thousands at a time.
   */
  read?(q: Queryable, indexes: readonly number[]): Promise<readonly string[]>
}

export const noCounts: FacetCounts = { counts: new Int32Array(0), bytes: 0, value: () => '' }

export interface SearchOutcome {
  /** Exact number of matches. */
  readonly count: number
  readonly hits: readonly Hit[]
  /** By name of the aggregation. */
  readonly facets: ReadonlyMap<string, FacetCounts>
  readonly ranges: ReadonlyMap<string, readonly number[]>
}

/** A window of changes: moments in microseconds since 1970, both ends included. */
export interface ChangesWindow {
  /** null: all matching objects, for a follower that has seen nothing yet. */
  readonly since: number | null
  /** null: up to the current state of the index. */
  readonly until: number | null
  /** The last change of the previous page. */
  readonly after: ChangePosition | null
  readonly limit: number
}

export interface ChangePosition {
  readonly at: number
  readonly id: number
}

/** An object whose searchable data has changed (`there`), or that is not found any more although the caller could see it. */
export interface ChangedObject extends ChangePosition {
  readonly there: boolean
}

export interface ChangesPage {
  /** By moment and id: each object once, with its last change. */
  readonly objects: readonly ChangedObject[]
  /** The moment up to which all changes are reported. The next window begins there. */
  readonly until: number
  /** null: it was the last page. */
  readonly next: ChangePosition | null
}

/** The place of all matches of a search in their order: `search_point_part`, in parts of `partLength`. */
export interface HitCollection {
  readonly id: string
  readonly most: number
  readonly partLength: number
}

/** The interface of a search engine. Only the engine knows how its index is built and queried. */
export interface SearchEngine {
  /** Whether the engine could have given this as the value of a sort key of a hit. Only the engine can interpret the value. */
  isSortValue(key: SortKey, value: unknown): boolean
  /**
   * The state of the index as a number, in SQL: a cached result of an older state may not be used. The same statement reads the
   * data that decides who sees an object. Null: nothing is cached.
   */
  readonly momentSql: string | null
  /** @throws {AppError} when the deadline is over. */
  search(plan: SearchPlan, deadline: Deadline): Promise<SearchOutcome>
  /** Only the page, of any size. Nothing is counted or cached. */
  page(plan: SearchPlan, deadline: Deadline): Promise<readonly Hit[]>
  /** The best hits, as many as the limit says; only objects of the list, where there is one. */
  best(plan: SearchPlan, among: ReadonlySet<number> | null, deadline: Deadline): Promise<readonly number[]>
  /** Some of the objects that it finds, as many as the limit says, in no order; `whole`: whether these are all. */
  some(plan: SearchPlan, deadline: Deadline): Promise<{ readonly ids: readonly number[]; readonly whole: boolean }>
  /** Something of all that is found. */
  measure(plan: SearchPlan, measure: Measure, deadline: Deadline): Promise<Measured>
  /** By field: the given objects whose value of the field the caller sees. */
  shows(
    plan: SearchPlan,
    ids: readonly number[],
    fields: readonly SearchField[],
    deadline: Deadline,
  ): Promise<ReadonlyMap<SearchField, ReadonlySet<number>>>
  /** Terms with which the search finds some object, when they replace the placeholder. */
  terms(plan: SearchPlan, query: TermQuery, deadline: Deadline): Promise<FoundTerms>
  /** The number of objects found with each of some terms, without the terms that there was no time for. */
  counts(
    plan: SearchPlan,
    placeholder: string,
    terms: readonly FoundTerm[],
    deadline: Deadline,
  ): Promise<ReadonlyMap<string, number>>
  /** How many objects it finds with each of some conditions besides. Nothing else is counted, and nothing kept. */
  countEach(plan: SearchPlan, clauses: readonly Clause[], deadline: Deadline): Promise<readonly number[]>
  /** Stores all matches in their order; answers their number. null: there are more than `most`, and none is stored. */
  collect(plan: SearchPlan, into: HitCollection, deadline: Deadline): Promise<number | null>
  /** The changes of the objects of a scope. */
  changes(plan: SearchPlan, window: ChangesWindow, deadline: Deadline): Promise<ChangesPage>
}
