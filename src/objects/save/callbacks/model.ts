import type { Actor } from '../../../platform/actor.ts'
import type { RequestFacts } from '../../../platform/http/request-facts.ts'
import type { Deadline } from '../../../platform/limits/deadline.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import type { AskingAction } from '../../../transitions/service.ts'
import type { Wire } from '../../masks/reader.ts'
import type { Loaded } from '../../stored/rows.ts'

/** What is about to happen: a save (POST, PATCH, group editing), one of the deletions, a transition that is run. */
export type ChangeKind = 'save' | 'remove' | 'undelete' | 'purge' | 'transition'

/**
 * Somebody who is asked before a change is written: behind the access rights, before transitions, constraints and save
 * rights, which its answer has to pass as well. Nothing is held meanwhile, neither a connection nor a lock, so it may take
 * its time and read what it likes; what somebody else changes in between ends the change with `VersionMismatch`.
 *
 * Callbacks are asked in their order, each with what those before it have made of the objects. It refuses by throwing: an
 * `AppError` goes to the client as it is, anything else as `DbPreSaveFailed`. A change that is confirmed with a second
 * request (202) asks twice; so does one that is tried with `dry_run` first.
 */
export interface SaveCallback {
  readonly name: string
  readonly kinds: readonly ChangeKind[]
  /** It is given objects of these types, and not called when there are none; absent: of all. */
  readonly objecttypes?: readonly string[]
  /** The objects that are to be saved otherwise; none: all stay as they are. */
  call(change: PendingChange): Promise<readonly Replacement[]>
}

/** Why a callback has failed, in words that go on from its name and that the client may read. */
export class CallbackFailed extends Error {}

export interface PendingChange {
  readonly kind: ChangeKind
  readonly actor: Actor
  /** Nothing will be written, whatever the answer. */
  readonly dryRun: boolean
  /** As long as somebody waits for the answer. */
  readonly deadline: Deadline
  /** The request that it is part of, as far as callbacks may know it. */
  readonly request?: RequestFacts
  /** Takes what a callback tidies up behind its answer: it is over before the client has an answer. Absent: the callback waits. */
  readonly behind?: (work: Promise<unknown>) => void
  readonly objects: readonly PendingObject[]
}

export interface PendingObject {
  /** Names the object in the answer; another one in each call. */
  readonly key: string
  readonly operation: 'create' | 'update' | 'delete' | 'undelete'
  readonly objecttype: string
  /** The mask that the client has sent it with. */
  readonly mask: string
  /** The client has sent it, itself or below another one. Others change with these, and stay as they are here. */
  readonly replaceable: boolean
  /**
   * As it would be saved: all fields in the format `full`, whoever the caller is, without what stands below it, which is
   * an entry of its own. New objects have no ids; links among them go by `_uuid`.
   */
  readonly object: Wire
  /** As it is stored; null for a new one. */
  readonly current: Wire | null
}

/**
 * A replacement stands for the whole object: fields that it lacks are cleared. System fields (`_tags`, `_pool`, `_acl`,
 * `_owner`, `_comment`, parents, of new objects `_uuid`) count where they differ from what was shown.
 */
export interface Replacement {
  readonly key: string
  readonly object: Wire
}

export interface Callbacks {
  /** Those that are on now, in the order in which they are asked: looked up once for each change. */
  readonly list: () => readonly SaveCallback[]
  /** Whoever an action of a transition asks: behind all of the list, of the objects for which the transition fires. */
  readonly ofAction: (action: AskingAction) => SaveCallback
  /** Somebody who may see everything. */
  readonly viewer: () => Promise<Actor>
  /** The objects as callbacks are shown them. */
  readonly show: (from: Queryable, viewer: Actor, objects: readonly Loaded[]) => AsyncIterable<Wire>
}
