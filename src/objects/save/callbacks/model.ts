import type { Actor } from '../../../platform/actor.ts'
import type { RequestFacts } from '../../../platform/http/request-facts.ts'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Queryable, Tx } from '../../../platform/postgres/db.ts'
import type { AskingAction } from '../../../transitions/service.ts'
import type { Wire } from '../../masks/reader.ts'
import type { Loaded } from '../../stored/rows.ts'

/** The kind of a change: a save (POST, PATCH, group editing), one of the deletions, a transition that a user runs. */
export type ChangeKind = 'save' | 'remove' | 'undelete' | 'purge' | 'transition'

/**
 * A callback before a change is written: after the check of access rights, and before transitions, constraints and save rights,
 * which its answer has to pass as well. No connection and no lock is held meanwhile, so it may take its time and read data. If
 * another user changes one of the objects in between, the change ends with `VersionMismatch`.
 *
 * Callbacks run in their order, and each sees the objects as the earlier ones have changed them. A callback refuses the change by
 * throwing: an `AppError` goes to the client as it is, any other error as `DbPreSaveFailed`. A change that is confirmed with a
 * second request (202) runs the callbacks twice; so does one that is tried with `dry_run` first.
 */
export interface SaveCallback {
  readonly name: string
  readonly kinds: readonly ChangeKind[]
  /** The callback gets objects of these types, and is not called when there are none; absent: all types. */
  readonly objecttypes?: readonly string[]
  /** Returns the objects to save in another form; an empty list: all stay as they are. */
  call(change: PendingChange): Promise<readonly Replacement[]>
  /** Begins everything that a call for the actor needs besides the objects, which are determined meanwhile. */
  begin?(actor: Actor): BegunCall
}

/** A call that is waiting for its objects. */
export interface BegunCall extends Pick<SaveCallback, 'call'> {
  /** Takes back what was begun, unless the call was made. */
  end(): Promise<void>
}

/** The reason why a callback failed, as text that follows its name and that the client may read. */
export class CallbackFailed extends Error {}

export interface PendingChange {
  readonly kind: ChangeKind
  readonly actor: Actor
  /** Nothing will be written, whatever the callback answers. */
  readonly dryRun: boolean
  /** Ends when the caller no longer waits for the answer. */
  readonly deadline: Deadline
  /** The request that contains the change, as far as callbacks may know it. */
  readonly request?: RequestFacts
  /** Takes what a callback tidies up behind its answer: it is over before the client has an answer. Absent: the callback waits. */
  readonly behind?: (work: Promise<unknown>) => void
  readonly objects: readonly PendingObject[]
}

export interface PendingObject {
  /** Identifies the object in the answer; different in each call. */
  readonly key: string
  readonly operation: 'create' | 'update' | 'delete' | 'undelete'
  readonly objecttype: string
  /** The mask with which the client has sent it. */
  readonly mask: string
  /** The client has sent it, itself or below another one. Other objects change as a consequence, and cannot be replaced here. */
  readonly replaceable: boolean
  /**
   * The object as it would be saved: all fields in the format `full`, independent of the caller, without the objects below it,
   * which are separate entries. New objects have no ids; links among them use `_uuid`.
   */
  readonly object: Wire
  /** Its stored state; null for a new one. */
  readonly current: Wire | null
}

/**
 * A replacement is for the whole object: fields that it lacks are cleared. System fields (`_tags`, `_pool`, `_acl`, `_owner`,
 * `_comment`, parents, of new objects `_uuid`) count where they differ from the shown ones.
 */
export interface Replacement {
  readonly key: string
  readonly object: Wire
}

export interface Callbacks {
  /** The active callbacks, in the order in which they run: looked up once for each change. */
  readonly list: () => readonly SaveCallback[]
  /** The callback for an action of a transition: runs after all of the list, for the objects for which the transition fires. */
  readonly ofAction: (action: AskingAction) => SaveCallback
  /** An actor with the right to see everything. */
  readonly viewer: (from: Tx) => Promise<Actor>
  /** Renders objects for callbacks. */
  readonly show: (
    from: Queryable,
    viewer: Actor,
    objects: readonly Loaded[],
    /** The uuids of objects that the change promises, by their provisional ids. */
    promised?: ReadonlyMap<number, string>,
  ) => AsyncIterable<Wire>
}
