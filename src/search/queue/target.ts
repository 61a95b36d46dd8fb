import type pg from 'pg'
import type { Logger } from 'pino'
import type { Model } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { IndexSource, LinkTarget, ObjectChange } from '../document/source.ts'

/** The connection that holds the indexer's lock, as the store and as COPY see it. */
export interface IndexConnection {
  readonly client: pg.PoolClient
  readonly db: Queryable
}

/** What stays the same for a batch. */
export interface BatchSettings {
  readonly model: Model
  /** Database languages, first one first. */
  readonly languages: readonly string[]
}

/** Objects to be indexed, and what is known around them. */
export interface SourceBatch extends BatchSettings {
  /** All that are asked for; those that are not among the sources are gone. */
  readonly ids: readonly number[]
  readonly sources: readonly IndexSource[]
  /** Objects that are linked to, as far as they exist. */
  readonly target: (id: number) => LinkTarget | undefined
  /** All ancestors of an object. */
  readonly ancestors: (id: number) => readonly number[]
  /** Ids from the root pool down to the pool; none when it does not exist. */
  readonly poolPath: (id: number) => readonly number[]
  /** All changes of the objects by their ids: for an index that cannot ask the database when it searches. */
  readonly history: () => Promise<ReadonlyMap<number, readonly ObjectChange[]>>
  /** Milliseconds since 1970. */
  readonly now: number
}

/** Documents that are ready to be put in the place of those that the index has of the objects. */
export interface DocumentBatch {
  /** Objects of which others show something else now than what the index was made from. */
  readonly changed: readonly number[]
  /** Those of them that stand below other objects now, with all that is below them. */
  readonly rehung: readonly number[]
  /**
   * In the transaction that takes the objects out of the queue. Gives the generation of the index: a number that ascends
   * with everything that is changed in it, so that whoever keeps results knows whether they are current.
   */
  apply(connection: IndexConnection): Promise<number>
  /** Of which objects the index has no document, or another one. */
  compare(connection: IndexConnection): Promise<{
    readonly missing: readonly number[]
    readonly different: readonly number[]
  }>
}

/** What the index has of an object that is not there any more. */
export interface Leftover {
  readonly id: number
  readonly objecttype: number
}

/** A backlog that is larger than what is indexed may be taken in otherwise than what trickles in. */
export interface Backlog {
  /** To be called before each batch of `size` entries. */
  before(size: number, fullSize: number): Promise<void>
  /** Whether it pays to wait for `more` entries before the run ends. */
  awaits(more: () => Promise<boolean>): Promise<boolean>
  end(): Promise<void>
}

/**
 * Where the index is kept. The queue decides what is indexed and when, one process at a time; what a document is made of,
 * and where it goes, is known here alone. The other half, which finds, is `SearchEngine` (plan/plan.ts).
 */
export interface IndexTarget {
  /** How documents are made, as numbers that ascend from release to release: when it changes, all is indexed anew. */
  readonly builder: string
  /** Makes ready what a first batch would have to wait for. */
  warm(languages: readonly string[]): Promise<void>
  generation(db: Queryable): Promise<number>
  /** Outside of any transaction. */
  make(db: Queryable, batch: SourceBatch): Promise<DocumentBatch>
  /** Takes objects out of the index; as `DocumentBatch.apply`. */
  forget(connection: IndexConnection, ids: readonly number[]): Promise<number>
  /** Objects whose documents are out of date by themselves: a grant on them has begun or ended. */
  expired(db: Queryable, now: Date): Promise<readonly number[]>
  /** What the index has of objects that are not there any more; null: of all types. */
  leftovers(db: Queryable, objecttypes: readonly number[] | null): Promise<readonly Leftover[]>
  /** Some documents of objects that are not there any more, between two ids; null: to the end. */
  surplus(db: Queryable, after: number, upto: number | null, limit: number): Promise<readonly number[]>
  /** Documents that are written anew the next time, even if they seem to be what they should be. */
  distrust(db: Queryable, ids: readonly number[]): Promise<void>
  /** Forgets who could see objects in a place that they left before this moment. */
  forgetTombstones(db: Queryable, before: Date): Promise<void>
  /** Since when it is known which objects went out of whose sight, in microseconds since 1970; null: ever since. */
  followedSince(db: Queryable): Promise<number | null>
  /** How many live objects are found, by object type. */
  count(db: Queryable): Promise<ReadonlyMap<number, number>>
  /** Bytes that the index takes. */
  size(db: Queryable): Promise<number>
  openBacklog(db: Queryable, log: Logger): Promise<Backlog>
  /** Searches are slow for a while, since a backlog is taken in. */
  isRebuilding(db: Queryable): Promise<boolean>
  /** After some hundred documents, when the queue is empty. */
  settle(db: Queryable): Promise<void>
}
