import type { Actor } from '../platform/actor.ts'
import { hasRight } from '../platform/http/system-right.ts'
import { readEvents } from './access.ts'
import { redacted } from './render.ts'
import type { StoredEvent } from './store.ts'

/**
 * Which of the things that events are about callers may see; given by the capabilities that keep them. Each reads what
 * it must know of the things once; what it returns is then asked for any number of callers.
 */
export interface Seen {
  /** With whether the title may be seen, too. */
  objects(systemObjectIds: readonly number[]): Promise<ForCaller<ReadonlyMap<number, boolean>>>
  pools(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  users(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  groups(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  messages(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  collections(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  exports(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
  tasks(ids: readonly number[]): Promise<ForCaller<ReadonlySet<number>>>
}

/** Asks the database for nothing. */
export type ForCaller<T> = (actor: Actor) => Promise<T> | T

/** What an event is about. */
export type Subject = Pick<StoredEvent, 'system_object_id' | 'basetype' | 'object_id'>

/** How much of an event may be told: nothing, that it was, or all that it says of its subject. */
export type EventVisibility = 'none' | 'subject' | 'all'

const records = ['pool', 'user', 'group', 'message', 'collection', 'export', 'task'] as const

/** In SQL, of an event `t`: it is about nothing that some may see and others not. */
export const aboutNothingHidden = (t: string): string =>
  `${t}.system_object_id is null and coalesce(${t}.basetype, '') <> all('{${records.join()}}')`

/**
 * What callers may know of the subject of each event. Objects, pools, collections, users and groups are told to those who may
 * see them, messages to those whom they are for, exports and tasks to those whose they are, all else (the datamodel, tags, the
 * configuration, the index) to everybody.
 * Purged objects, deleted pools and collections can be seen by nobody but root. What is needed is read when it is asked for first, for
 * all callers together.
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

/** Who may read the log sees all that happened and who did it, but not what is said of things that it may not see. */
export function forReader(event: StoredEvent, visibility: EventVisibility): StoredEvent {
  return visibility === 'all' ? event : { ...event, info: null }
}

/** Everybody else sees nothing of events on what they may not see, and of the others not who did it. */
export function forPoller(event: StoredEvent, visibility: EventVisibility): StoredEvent | null {
  return visibility === 'none' ? null : redacted(event, visibility === 'all')
}

/** Whether the caller is told of the log as its readers are. */
export function readsLog(actor: Actor): boolean {
  return hasRight(actor, readEvents)
}
