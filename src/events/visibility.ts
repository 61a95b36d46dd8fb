import type { Actor } from '../platform/actor.ts'
import { hasRight } from '../platform/http/system-right.ts'
import { readEvents } from './access.ts'
import { redacted } from './render.ts'
import type { StoredEvent } from './store.ts'

/**
 * The subjects of events that callers may see. The capabilities that store them provide the functions. Each reads the necessary
 * data of the subjects once; the returned function can then be called for any number of callers.
 */
export interface Seen {
  /** The value: whether the title may be seen, too. */
  objects(systemObjectIds: readonly number[]): Promise<ForCaller<ReadonlyMap<number, boolean>>>
  pools(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  users(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  groups(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  messages(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  collections(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  exports(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  tasks(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
}

/** Runs without the database. */
export type ForCaller<T> = (actor: Actor) => Promise<T> | T

/** The subject of an event. */
export type Subject = Pick<StoredEvent, 'system_object_id' | 'basetype' | 'object_id'>

/** The visible part of an event: nothing, only its existence, or also the data of its subject. */
export type EventVisibility = 'none' | 'subject' | 'all'

const records = ['pool', 'user', 'group', 'message', 'collection', 'export', 'task'] as const

/** SQL condition for an event `t`: its subject has no readers of its own, so it is visible to everybody. */
export const aboutNothingHidden = (t: string): string =>
  `${t}.system_object_id is null and coalesce(${t}.basetype, '') <> all('{${records.join()}}')`

/**
 * The visibility of the subject of each event for a caller. Objects, pools, collections, users and groups are visible to callers
 * who may see them, messages to their recipients, exports and tasks to their owners, and all other subjects (the datamodel, tags,
 * the configuration, the index) to everybody. Only root sees purged objects, deleted pools and deleted collections. The data is
 * read at the first use, for all callers together.
 */
export function visibilityOf(
  seen: Seen,
  events: readonly Subject[],
): (actor: Actor) => Promise<(event: Subject) => EventVisibility> {
  const ids = (basetype: string) => [
    ...new Set(events.flatMap((event) => (event.basetype === basetype ? (event.object_id ?? []) : []))),
  ]
  const load = () => {
    const objectIds = [...new Set(events.flatMap((event) => event.system_object_id ?? []))]
    const nobody = () => new Set<number>()
    const of = (kind: (typeof records)[number]) => {
      const about = ids(kind)
      return about.length > 0 ? seen[`${kind}s`](about) : nobody
    }
    const objects = objectIds.length > 0 ? seen.objects(objectIds) : () => new Map<number, boolean>()
    return Promise.all([objects, Promise.all(records.map(of))])
  }
  let loading: ReturnType<typeof load> | null = null
  return async (actor) => {
    if (actor.isRoot) return () => 'all'
    loading ??= load()
    const [ofObjects, ofRecords] = await loading
    const objects = await ofObjects(actor)
    const told = new Map<string | null, ReadonlySet<number>>()
    for (const [index, kind] of records.entries()) told.set(kind, (await ofRecords[index]?.(actor)) ?? new Set())
    return ({ system_object_id: object, basetype, object_id: id }) => {
      if (object !== null) {
        const titled = objects.get(object)
        if (titled === undefined) return 'none'
        return titled ? 'all' : 'subject'
      }
      const kind = told.get(basetype)
      return !kind || (id !== null && kind.has(id)) ? 'all' : 'none'
    }
  }
}

/** Readers of the log see every event with its actor, but not the data of subjects that they may not see. */
export function forReader(event: StoredEvent, visibility: EventVisibility): StoredEvent {
  return visibility === 'all' ? event : { ...event, info: null }
}

/** Other callers do not see events about subjects that they may not see, and never see the actor of an event. */
export function forPoller(event: StoredEvent, visibility: EventVisibility): StoredEvent | null {
  return visibility === 'none' ? null : redacted(event, visibility === 'all')
}

/** Whether the caller has the view of readers of the log. */
export function readsLog(actor: Actor): boolean {
  return hasRight(actor, readEvents)
}
