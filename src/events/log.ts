import type { Actor } from '../platform/actor.ts'
import { type Cause, currentCause } from '../platform/cause.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { createYielder, mapYielding } from '../platform/process/cooperative-yield.ts'
import { scrubbed } from '../platform/secrets/secrets.ts'
import { type EventRow, insertEvents } from './store.ts'
import { type EventGroup, type EventType, type EventTypeDefinition, eventTypes } from './types.ts'

export type { EventGroup, EventType } from './types.ts'

/** The actor of an event, with the members that the log needs. */
export type EventActor = Pick<Actor, 'userId' | 'displayname' | 'reference' | 'remoteAddr'>

/** An event to be logged. The caller always passes the actor; the log decides whether to store it (EVENT-002). */
export interface NewEvent {
  type: EventType
  actor: EventActor | null
  /** `user`, `pool`, `export`, … for records that are not objects of the datamodel. */
  basetype?: string
  schema?: string
  objecttype?: string
  /** `_id` of the record or object. */
  objectId?: number
  objectVersion?: number
  systemObjectId?: number
  /** Only for objects of other instances; otherwise rendered from `systemObjectId`. */
  globalObjectId?: string
  info?: object
  /** Set if pollers get it although its type is not pollable: by a setting of the instance. */
  pollable?: true
  /** The rules that caused it; if absent, those of the running operation. */
  cause?: Cause
}

export interface EventLogOptions {
  clock?: () => Date
  /** Groups whose user-logged events carry the acting user: base configuration `user_in_event_group`. */
  userInEventGroup?: () => readonly string[]
  /** User fields copied into `info` as `user.<field>`: base configuration `copy_to_event`. */
  copyToEvent?: () => readonly string[]
  /** Values of user fields; asked once per append and only when `copyToEvent` names any. */
  userFields?: (tx: Queryable, userIds: readonly number[]) => Promise<ReadonlyMap<number, Record<string, unknown>>>
}

export type EventLog = ReturnType<typeof createEventLog>

/** An event with its type resolved: built in, or declared by a plugin. */
export interface ResolvedEvent extends Omit<NewEvent, 'type'> {
  type: string
  definition: EventTypeDefinition
  /** Set by imports of old logs (`skip_constraints`): replaces the values of the log itself. */
  at?: Date
  user?: { id: number; displayname: string; reference: string | null } | null
  remoteAddr?: string
  /** Set if its sender cannot know that it happened: it starts nothing. */
  inert?: boolean
}

export function createEventLog(options: EventLogOptions = {}) {
  const clock = options.clock ?? (() => new Date())

  /** Copied fields by user id, for the actors of user-logged events only: other events must not contain data of a person. */
  async function copiedFields(tx: Queryable, events: readonly ResolvedEvent[]) {
    const fields = options.copyToEvent?.() ?? []
    if (fields.length === 0 || !options.userFields) return null
    const ids = new Set<number>()
    for (const { actor, definition } of events) if (actor && definition.userLogged) ids.add(actor.userId)
    if (ids.size === 0) return null
    return { fields, values: await options.userFields(tx, [...ids]) }
  }

  async function appendResolved(tx: Queryable, events: readonly ResolvedEvent[]): Promise<number[]> {
    if (events.length === 0) return []
    const groups = new Set<string>(options.userInEventGroup?.() ?? [])
    const copied = await copiedFields(tx, events)
    const now = clock().toISOString()
    const rows = await mapYielding(events, (event) => toRow(event, now, groups, copied), createYielder())
    return insertEvents(tx, rows)
  }

  return {
    /** Appends all events with one statement, in the caller's transaction. Returns their ids in the same order. */
    append(tx: Queryable, events: readonly NewEvent[]): Promise<number[]> {
      return appendResolved(
        tx,
        events.map((event) => ({ ...event, definition: eventTypes[event.type] })),
      )
    },
    appendResolved,
  }
}

interface Copied {
  fields: readonly string[]
  values: ReadonlyMap<number, Record<string, unknown>>
}

function toRow(event: ResolvedEvent, now: string, groups: ReadonlySet<string>, copied: Copied | null): EventRow {
  const { actor, definition } = event
  const row: EventRow = {
    type: event.type,
    pollable: event.pollable ?? definition.pollable,
    at: event.at?.toISOString() ?? now,
    schema: event.schema,
    basetype: event.basetype,
    objecttype: event.objecttype,
    object_id: event.objectId,
    object_version: event.objectVersion,
    system_object_id: event.systemObjectId,
    global_object_id: event.globalObjectId,
    remote_addr: event.remoteAddr ?? (actor?.remoteAddr || undefined),
    info: scrubbed(event.info),
  }
  const cause = event.cause ?? currentCause()
  if (cause.length > 0) row.cause = cause
  if (event.inert) row.inert = true
  const who = event.user === undefined ? loggedUser(actor, definition, groups) : event.user
  if (who) {
    row.user_id = who.id
    row.user_displayname = who.displayname
    row.user_reference = who.reference
  }
  if (copied && actor && definition.userLogged) row.info = withCopied(row.info, copied, actor.userId)
  return row
}

function loggedUser(actor: EventActor | null, definition: EventTypeDefinition, groups: ReadonlySet<string>) {
  if (!actor) return null
  if (!definition.alwaysUser && !(definition.userLogged && groups.has(definition.group satisfies EventGroup)))
    return null
  return { id: actor.userId, displayname: actor.displayname, reference: actor.reference }
}

function withCopied(info: object | undefined, { fields, values }: Copied, userId: number): object | undefined {
  const user = values.get(userId)
  if (!user) return info
  const merged: Record<string, unknown> = { ...info }
  for (const field of fields) {
    const value = user[field]
    if (value !== undefined && value !== null && value !== '') merged[`user.${field}`] = value
  }
  return merged
}
