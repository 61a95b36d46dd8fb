import type pg from 'pg'
import type { Logger } from 'pino'
import type { Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { IndexSource, LinkTarget, ObjectChange } from '../document/source.ts'

/** The connection that holds the indexer's lock, in the forms for the store and for COPY. */
export interface IndexConnection {
  readonly client: pg.PoolClient
  readonly db: Queryable
}

/** The settings of a batch, which stay the same for its duration. */
export interface BatchSettings {
  readonly model: Model
  /** Database languages, first one first. */
  readonly languages: readonly string[]
}

/** Objects to be indexed, with the data that their documents need. */
export interface SourceBatch extends BatchSettings {
  /** All requested objects. An object that is missing in the sources no longer exists. */
  readonly ids: readonly number[]
  readonly sources: readonly IndexSource[]
  /** Gives a linked object, as far as it exists. */
  readonly target: (id: number) => LinkTarget | undefined
  /** All ancestors of an object. */
  readonly ancestors: (id: number) => readonly number[]
  /** Ids from the root pool down to the pool; none when it does not exist. */
  readonly poolPath: (id: number) => readonly number[]
  /** All changes of the objects by their ids, for an index that cannot read the database when it searches. */
  readonly history: () => Promise<ReadonlyMap<number, readonly ObjectChange[]>>
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Documents that are ready to replace the documents in the index. */
export interface DocumentBatch {
  /** Objects of which others now show other data than the index was made from. */
  readonly changed: readonly number[]
  /** The changed objects that moved in a hierarchy, with all objects below them. */
  readonly rehung: readonly number[]
  /**
   * To be called in the transaction that takes the objects out of the queue. Returns the generation of the index: a number that
   * increases with every change, so that a cache knows whether its results are current.
   */
  apply(connection: IndexConnection): Promise<number>
  /** Tells which objects have no document in the index, or a different one. */
  compare(connection: IndexConnection): Promise<{
    readonly missing: readonly number[]
    readonly different: readonly number[]
  }>
}

/** Index data of an object that no longer exists. */
export interface Leftover {
  readonly id: number
  readonly objecttype: number
}

/** Lets an index handle a backlog that is larger than the index itself differently from ordinary changes. */
export interface Backlog {
  /** To be called before each batch of `size` entries. */
  before(size: number, fullSize: number): Promise<void>
  /** Whether it pays to wait for `more` entries before the run ends. */
  awaits(more: () => Promise<boolean>): Promise<boolean>
  end(): Promise<void>
}

/**
 * The place of the index. The queue decides which objects are indexed and when, one process at a time. Only the target knows how a
 * document is built and where it is stored. The counterpart that searches is `SearchEngine` (plan/plan.ts).
 */
export interface IndexTarget {
  /**
   * The version of the document builder, as numbers that increase from release to release. When it changes, all objects are indexed
   * anew.
   */
  readonly builder: string
  /** Prepares data in advance that a first batch would have to wait for. */
  warm(languages: readonly string[]): Promise<void>
  generation(db: Queryable): Promise<number>
  /** Builds documents, outside of any transaction. */
  make(db: Queryable, batch: SourceBatch): Promise<DocumentBatch>
  /** Removes objects from the index; otherwise like `DocumentBatch.apply`. */
  forget(connection: IndexConnection, ids: readonly number[]): Promise<number>
  /** Objects whose documents are outdated without a change: a grant on them has begun or ended. */
  expired(db: Queryable, now: Date): Promise<readonly number[]>
  /** Index data of objects that no longer exist; `objecttypes` null: of all types. */
  leftovers(db: Queryable, objecttypes: readonly number[] | null): Promise<readonly Leftover[]>
  /** Some documents of objects that no longer exist, between two ids; `upto` null: to the end. */
  surplus(db: Queryable, after: number, upto: number | null, limit: number): Promise<readonly number[]>
  /** Marks documents to be written anew the next time, even if they seem to be up to date. */
  distrust(db: Queryable, ids: readonly number[]): Promise<void>
  /** Forgets who could see objects in places that they left before this moment. */
  forgetTombstones(db: Queryable, before: Date): Promise<void>
  /**
   * The moment since which the index has a record of objects that became invisible to callers, in microseconds since 1970; null:
   * there is no such limit.
   */
  followedSince(db: Queryable): Promise<number | null>
  /** The number of searchable live objects, by object type. */
  count(db: Queryable): Promise<ReadonlyMap<number, number>>
  /** Size of the index in bytes. */
  size(db: Queryable): Promise<number>
  openBacklog(db: Queryable, log: Logger): Promise<Backlog>
  /** Whether searches are slow for a while, because a backlog is being indexed. */
  isRebuilding(db: Queryable): Promise<boolean>
  /** To be called after some hundred documents, when the queue is empty. */
  settle(db: Queryable): Promise<void>
}
