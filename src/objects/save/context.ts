import type { Model } from '../../datamodel/model.ts'
import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Config } from '../../platform/config/config.ts'
import type { ConventionOf } from '../../platform/config/versions.ts'
import type { RequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Yielder } from '../../platform/process/cooperative-yield.ts'
import type { CallerRights, Guarded, StoredGrant } from '../../rights/service.ts'
import type { EffectiveTag, TagSnapshot } from '../../tags/service.ts'
import type { TransitionService } from '../../transitions/service.ts'
import type { MaskFilters } from '../masks/filter.ts'
import type { Callbacks } from './callbacks/model.ts'
import type { ExistingObject } from './existing-object.ts'
import { noPromises, type Promises } from './promises/model.ts'
import type { OwnerRef } from './request/refs.ts'

export interface PoolInfo {
  readonly id: number
  readonly reference: string | null
  /** The root pool holds other pools only. */
  readonly holdsObjects: boolean
  /** Preferred masks of object types, best first. */
  readonly effectiveMasks: Readonly<Record<string, readonly number[]>>
}

export interface Pools {
  byId(id: number): PoolInfo | undefined
  byReference(reference: string): PoolInfo | undefined
  /** Prevents deletion of the pools until the transaction ends. */
  lockForUse(tx: Tx, ids: readonly number[]): Promise<void>
}

export interface Tags {
  snapshot(): TagSnapshot
  /** Tags usable for an object type in a pool; null when no settings narrow them. */
  available(objecttypeId: number, poolId: number | null): ReadonlyMap<number, EffectiveTag> | null
  /** The tags that exist, out of the given ones; they cannot be deleted until the transaction ends. */
  lockForUse(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>>
}

/** Finds users and groups named as owners; absent from the result: not found. One statement for all. */
export type FindOwners = (tx: Tx, actor: Actor, refs: readonly OwnerRef[]) => Promise<ReadonlyMap<OwnerRef, number>>

/** Checks grants of objects and brings them to stored form, for all objects at once; one result per entry. */
export type ValidateAcls = (
  tx: Tx,
  actor: Actor,
  entries: readonly { wire: unknown; previous: readonly StoredGrant[] | null; shown: boolean; place: string }[],
) => Promise<readonly (readonly StoredGrant[] | null)[]>

/** The transitions of a change (transitions engine): tags and owners are changed in the items. */
export type RunTransitions = TransitionService['runOnItems']

/** Actions of transitions that call a receiver before the write. */
export type TransitionAsks = Pick<TransitionService, 'asks' | 'asksFor'>

/** Sends the messages of a transition that rejects the save; after the rollback, with the error that ended the save. */
export type AfterRefusal = (error: unknown) => Promise<void>

/** The properties of a file that rights on an object depend on. */
export interface LinkableFile {
  readonly class: string
  readonly extension: string
  readonly size: number
}

export interface Files {
  /** Days for which addresses of files are valid; undefined: the default. @throws {AppError} when it is longer than allowed. */
  expiry(days: number | undefined): number | undefined
  /** The files that exist and that the caller may add to an object, out of the given ones; they stay until the transaction ends. */
  linkable(tx: Tx, actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, LinkableFile>>
  byReference(from: Queryable, references: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Called for objects with files that have another content, pool or place: renditions may need another watermark or caption. */
  renewMarks(tx: Tx, systemObjectIds: readonly number[]): Promise<void>
}

/** An object before and after a change; null: it is new. */
export interface ReviewedChange {
  readonly before: Guarded | null
  readonly after: Guarded
}

/** A collection whose grants would share too much, and the changes, by index, that cause this. */
export interface TooWideShare {
  readonly collectionId: number
  readonly changes: readonly number[]
}

/** The collections to which objects are added when they are changed. */
export interface Collections {
  /** Appends new objects to a collection; `path` is its place in the request. */
  add(tx: Tx, actor: Actor, id: number, systemObjectIds: readonly number[], path: string): Promise<void>
  /** Finds changes that would make a grant of a collection share more of an object than the owner of the collection may pass on. */
  readonly review: {
    find(tx: Tx, changes: readonly ReviewedChange[], into: number | null): Promise<readonly TooWideShare[]>
    settle(
      tx: Tx,
      actor: Actor,
      found: readonly TooWideShare[],
      changes: readonly ReviewedChange[],
      policy: 'setinvalid' | 'remove',
    ): Promise<void>
  }
  /** Creates a collection of objects for the actor; returns its id. */
  collect(tx: Tx, actor: Actor, systemObjectIds: readonly number[]): Promise<number>
  /** Objects that are moved to the trash are removed from all collections. */
  leave(tx: Tx, systemObjectIds: readonly number[]): Promise<void>
}

export interface ObjectDeps {
  readonly db: Db
  readonly config: Pick<Config, 'allowPurge' | 'databaseName' | 'quotaPromises'>
  readonly conventionOf: ConventionOf
  readonly datamodel: { current(): Model; assertCurrent(tx: Tx, model: Model): Promise<void> }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  /** The actors of users who may sign in now, out of the given ones. */
  readonly actorsOf: (from: Queryable, userIds: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
  readonly validateAcls: ValidateAcls
  readonly pools: Pools
  /** Standard masks from the settings of an object type, best first; null: no preference. */
  readonly objecttypeMasks: (tableId: number) => readonly number[] | null
  /** Tag filters of the masks of an object type. */
  readonly maskFilters: (tableId: number) => MaskFilters
  readonly tags: Tags
  readonly files: Files
  readonly collections: Collections
  readonly findOwners: FindOwners
  readonly runTransitions: RunTransitions
  readonly transitionAsks: TransitionAsks
  readonly afterRefusal: AfterRefusal
  /** The callbacks that run before a change is written. */
  readonly callbacks: Callbacks
  readonly events: EventLog
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  /** Limits the number of large saves that run at the same time. */
  readonly heavyRequests: RequestLimiter
  /** Tells the indexer that there is work. */
  readonly wakeIndex: () => void
  /** Waits until the objects are indexed; false when that took longer. */
  readonly awaitIndexed: (systemObjectIds: readonly number[], seconds: number) => Promise<boolean>
  readonly clock: () => Date
}

/** One save or delete on its way through its phases. */
export interface SaveContext {
  /** Resolves when PostgreSQL has confirmed that `model` is the current one; nothing is written before. */
  readonly current: Promise<void>
  /** False in the pass before callbacks, which finds, decides and merges like the second pass, but locks nothing. */
  readonly locks: boolean
  readonly deps: ObjectDeps
  readonly tx: Tx
  readonly model: Model
  readonly actor: Actor
  readonly rights: CallerRights
  readonly at: Date
  /**
   * Targets of links, as far as they were looked up after `at`; those in the request cannot be deleted until the transaction ends.
   */
  readonly targets: Map<number, ExistingObject>
  readonly promises: Promises
  /** Ten thousand objects keep each phase busy long enough to delay other requests. */
  readonly yielder: Yielder
}

export function newContext(parts: Omit<SaveContext, 'at' | 'targets' | 'promises'>): SaveContext {
  return { ...parts, at: parts.deps.clock(), targets: new Map(), promises: noPromises() }
}
