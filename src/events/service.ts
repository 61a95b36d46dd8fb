/**
 * The event log: every logged action is one row, written in the transaction of the change itself. A *type* belongs to
 * a *group*; *user-logged* types may carry the acting user, *pollable* ones are returned by poll and stream.
 *
 * Other capabilities write with `createEventLog`; the endpoints read with `createEventService`.
 */
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { requireRight } from '../platform/http/system-right.ts'
import { currentDeadline, type Deadline, withinDeadline } from '../platform/limits/deadline.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import { deleteEvents, readEvents } from './access.ts'
import type { EventFilter, SortKey } from './filter.ts'
import type { EventLog, ResolvedEvent } from './log.ts'
import { type ParsedEvent, parsePosted } from './posted.ts'
import { countEvents, deleteMatching, pageOfIds, type ResolvedFilter } from './query.ts'
import { admitPosted, type PostQuotas } from './quotas.ts'
import { renderEvent } from './render.ts'
import type { EventRecord } from './schema.ts'
import * as store from './store.ts'
import type { EventTypeDefinition } from './types.ts'
import {
  aboutNothingHidden,
  forPoller,
  forReader,
  readsLog,
  type Seen,
  type Subject,
  visibilityOf,
} from './visibility.ts'

export type { EventFilter } from './filter.ts'
export { causesOfObjects, type FollowedEvent, followEvents } from './follow.ts'
export { type ForgottenPerson, forgetPerson } from './forget.ts'
export { latestEventId } from './inspection.ts'
export { createEventJanitor, type EventJanitor } from './janitor.ts'
export { type JanitorRun, janitorRun } from './janitor-run.ts'
export { createEventLog, type EventActor, type EventLog, type EventLogOptions, type NewEvent } from './log.ts'
export { pollHorizon } from './store.ts'
export type { HeldToken } from './stream/listener.ts'
export { createEventStreams } from './stream/service.ts'
export { type EventGroup, type EventType, eventGroups, eventTypes } from './types.ts'
export type { Seen } from './visibility.ts'

/**
 * The functions about users that the event log needs. `people` comes later in the import order, so the composition root passes them
 * in.
 */
export interface EventUsers {
  ofGroups(groupIds: readonly number[]): Promise<readonly number[]>
  ofTypes(types: readonly string[]): Promise<readonly number[]>
  /** Users by reference, for imported logs; unknown ones are absent. */
  byReference(references: readonly string[]): Promise<ReadonlyMap<string, { id: number; displayname: string }>>
}

export interface EventServiceDeps {
  db: Db
  log: EventLog
  databaseName: string
  users: EventUsers
  seen: Seen
  quotas: PostQuotas
  /** Types that enabled plugins declare. */
  pluginType?: (name: string) => EventTypeDefinition | undefined
}

export interface Page {
  offset: number
  /** 0 is unlimited. */
  limit: number
}

export interface EventPage extends Page {
  count: number
  /** Starts to read at each call; an event that was deleted meanwhile is missing. */
  records: () => AsyncIterable<EventRecord>
}

export type { EventTypeDefinition } from './types.ts'
export type EventService = ReturnType<typeof createEventService>

const largestPoll = 1000
const chunk = 500

export function createEventService(deps: EventServiceDeps) {
  const { db, log, databaseName, users } = deps
  const render = (event: store.StoredEvent): EventRecord => renderEvent(event, databaseName)

  async function resolveFilter(filter: EventFilter): Promise<ResolvedFilter> {
    return {
      ...filter,
      groupUserIds: filter.groupIds ? await users.ofGroups(filter.groupIds) : undefined,
      typeUserIds: filter.userTypes ? await users.ofTypes(filter.userTypes) : undefined,
    }
  }

  async function* recordsOf(actor: Actor, ids: string, deadline: Deadline): AsyncIterable<EventRecord> {
    // The client's reading triggers the next chunk, outside of the request's own context.
    const read = (some: readonly number[]) =>
      withinDeadline(deadline, async () => shownToReader(actor, await store.eventsById(db, some)))
    for (const some of chunksOf(ids)) {
      const events = await read(some)
      const found = new Map(events.map((event) => [event.id, event]))
      for (const id of some) {
        const event = found.get(id)
        if (event) yield render(event)
      }
    }
  }

  /** The events in the view of readers of the log: none is left out. */
  async function shownToReader(actor: Actor, events: readonly store.StoredEvent[]): Promise<store.StoredEvent[]> {
    const visibility = await visibilityOf(deps.seen, events)(actor)
    return events.map((event) => forReader(event, visibility(event)))
  }

  /**
   * An event that a client posts is no proof that it happened. It starts nothing if the client cannot know of it: because it may
   * not see the subject, or because it refers to the subject in a way that is not looked up. The answer is the same.
   */
  async function weighed(actor: Actor, events: readonly ResolvedEvent[]): Promise<ResolvedEvent[]> {
    if (actor.isRoot) return [...events]
    const subjects = events.map(({ systemObjectId = null, basetype = null, objectId = null }) => ({
      system_object_id: systemObjectId,
      basetype,
      object_id: objectId,
    }))
    const visibility = await visibilityOf(deps.seen, subjects)(actor)
    return events.map((event, index) => {
      const named = event.globalObjectId !== undefined || (event.objectId !== undefined && isOfObjects(event))
      const unproven = event.systemObjectId === undefined && named
      const hidden = visibility(subjects[index] as Subject) === 'none'
      return unproven || hidden ? { ...event, inert: true } : event
    })
  }

  /** The pollable events in the view of the actor; some may be left out. */
  async function shown(actor: Actor, events: readonly store.StoredEvent[]): Promise<store.StoredEvent[]> {
    if (readsLog(actor)) return shownToReader(actor, events)
    const visibility = await visibilityOf(deps.seen, events)(actor)
    return events.flatMap((event) => forPoller(event, visibility(event)) ?? [])
  }

  /** A page for a poller. Events that it may not see do not count, so that it never gets stuck behind them. */
  async function polled(actor: Actor, from: number, size: number): Promise<readonly store.StoredEvent[]> {
    const horizon = await store.pollHorizon(db)
    const step = readsLog(actor) ? size : largestPoll
    const page: store.StoredEvent[] = []
    for (let after = from; page.length < size; ) {
      const events = await store.pollableEvents(db, after, horizon, step)
      page.push(...(await shown(actor, events)))
      const last = events.at(-1)
      if (!last || events.length < step) break
      after = last.id
    }
    return page.slice(0, size)
  }

  return {
    /** Pollable events after `from`, ascending, none skipped (EVAPI-009); `limit` out of 1..1000 is 1000 (LIM-004). */
    async poll(actor: Actor, from: number, limit: number): Promise<EventRecord[]> {
      const size = limit <= 0 || limit > largestPoll ? largestPoll : limit
      return (await polled(actor, from, size)).map(render)
    },

    /** @throws {AppError} `EventNotFound`. */
    async get(actor: Actor, id: number): Promise<EventRecord> {
      requireRight(actor, readEvents)
      const [event] = await store.eventsById(db, [id])
      if (!event) throw new AppError('EventNotFound', { _id: id })
      const [told = event] = await shownToReader(actor, [event])
      return render(told)
    },

    /** The latest events about a record, oldest first, for callers who may see the record. */
    async ofRecord(record: Parameters<typeof store.eventsOfRecord>[1]): Promise<EventRecord[]> {
      return (await store.eventsOfRecord(db, record)).map(render)
    },

    /** @throws {AppError} `EventNotFound`. */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, deleteEvents)
      if (!(await store.deleteEvent(db, id))) throw new AppError('EventNotFound', { _id: id })
    },

    async list(actor: Actor, filter: EventFilter, sort: readonly SortKey[], page: Page): Promise<EventPage> {
      requireRight(actor, readEvents)
      const resolved = await resolveFilter(filter)
      const count = await countEvents(db, resolved)
      const ids = await pageOfIds(db, resolved, sort, page)
      const deadline = currentDeadline()
      return { ...page, count, records: () => recordsOf(actor, ids, deadline) }
    },

    /** For searches: readers of the log find all events, but not by data of records that they may not see. */
    records: {
      access(actor: Actor) {
        requireRight(actor, readEvents)
        return { condition: 'true', shown: { managers: actor.isRoot || aboutNothingHidden } }
      },
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, EventRecord>> {
        const events = await shownToReader(actor, await store.eventsById(db, ids))
        return new Map(events.map((event) => [event.id, render(event)]))
      },
    },

    /** Deletes matching events, at most `limit` (0: all), the oldest first. Without a filter: the whole log (EVAPI-034). */
    async removeMatching(actor: Actor, filter: EventFilter, limit: number): Promise<number> {
      requireRight(actor, deleteEvents)
      return deleteMatching(db, await resolveFilter(filter), limit)
    },

    /** Checks the right to use `skip_constraints`, before all other checks, also for background writes. */
    requireSkipConstraints(actor: Actor): void {
      if (!actor.isRoot) {
        throw badRequest('skip_constraints needs system.root.', { param: 'skip_constraints' })
      }
    },

    /** Runs before posted events are written, now or in the background. @throws {AppError} when they exceed the quotas. */
    admit: (actor: Actor, inputs: readonly unknown[]): Promise<void> => admitPosted(db, deps.quotas, actor, inputs),

    /** Writes posted events, all or none; returns them as stored, in order. */
    async write(
      actor: Actor,
      inputs: readonly unknown[],
      { skipConstraints, place }: { skipConstraints: boolean; place: (index: number) => string },
    ): Promise<EventRecord[]> {
      const rules = { actor, skipConstraints, pluginType: deps.pluginType ?? (() => undefined) }
      const parsed = inputs.map((input, index) => parsePosted(input, place(index), rules))
      const events = await weighed(actor, await withUsers(parsed, users))
      return db.transaction(async (tx) => readBack(tx, await log.appendResolved(tx, events)))
    },
  }

  async function readBack(tx: Queryable, ids: readonly number[]): Promise<EventRecord[]> {
    return (await store.eventsById(tx, ids)).map(render)
  }
}

/** Whether its `object_id` refers to an object of the datamodel. */
function isOfObjects({ basetype, objecttype }: ResolvedEvent): boolean {
  return objecttype !== undefined || basetype === undefined || basetype === 'object'
}

/** Splits comma-separated text into ids, in chunks. */
function* chunksOf(ids: string): Iterable<number[]> {
  let some: number[] = []
  for (let start = 0; start < ids.length; ) {
    const comma = ids.indexOf(',', start)
    const end = comma === -1 ? ids.length : comma
    some.push(Number(ids.slice(start, end)))
    start = end + 1
    if (some.length === chunk) {
      yield some
      some = []
    }
  }
  if (some.length > 0) yield some
}

/** Imported events keep their user: old logs may contain deleted users, so an id is stored unchecked. */
async function withUsers(parsed: readonly ParsedEvent[], users: EventUsers): Promise<ResolvedEvent[]> {
  const references = new Set(
    parsed.flatMap(({ user }) => (user && user.id === undefined ? (user.reference ?? []) : [])),
  )
  const known = references.size > 0 ? await users.byReference([...references]) : new Map<string, never>()
  return parsed.map(({ event, user }) => {
    if (!user) return event
    const found = user.id === undefined ? known.get(user.reference ?? '') : undefined
    const id = user.id ?? found?.id
    if (id === undefined) throw new AppError('UserNotFound', { reference: user.reference })
    const displayname = user.displayname ?? found?.displayname ?? ''
    return { ...event, user: { id, displayname, reference: user.reference ?? null } }
  })
}
