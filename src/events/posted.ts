import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { parseMoment } from '../platform/values/moments.ts'
import { storedReference } from '../platform/values/system-references.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { ResolvedEvent } from './log.ts'
import { builtInType, type EventTypeDefinition, openGroups } from './types.ts'

/** The actor of an imported event; the directory resolves it when it has only a reference. */
export interface PostedUser {
  id?: number
  reference?: string
  displayname?: string
}

export interface ParsedEvent {
  event: ResolvedEvent
  user: PostedUser | null
}

export interface PostRules {
  actor: Actor
  /** `system.root` with `skip_constraints`: every type, a top-level `user`, and the old time and address. */
  skipConstraints: boolean
  /** Types that plugins declare, by name (group PLUGIN). */
  pluginType: (name: string) => EventTypeDefinition | undefined
}

/**
 * Parses a posted event (EVAPI-003 to 007). `place` is used in errors: `event`, `events[3]`.
 * @throws {AppError} `EventTypeNotAllowed`, or `ServerGeneric` with the name of the field.
 */
export function parsePosted(input: unknown, place: string, rules: PostRules): ParsedEvent {
  const envelope = asRecord(input, place)
  if (envelope._basetype !== undefined && envelope._basetype !== 'event') {
    throw wrong(`${place}._basetype`, 'must be "event"', envelope._basetype)
  }
  const body = asRecord(envelope.event, `${place}.event`)
  if (!rules.skipConstraints) refuseUser(envelope, body, place)
  const name = textField(body, 'type', `${place}.event`)
  if (name === undefined) throw wrong(`${place}.event.type`, 'is missing', undefined)
  return {
    event: { ...fields(body, place, rules), type: name, definition: allowedType(name, rules), actor: rules.actor },
    user: rules.skipConstraints ? postedUser(envelope, body, place) : null,
  }
}

function refuseUser(envelope: Record<string, unknown>, body: Record<string, unknown>, place: string): void {
  for (const [holder, at] of [
    [envelope, place],
    [body, `${place}.event`],
  ] as const) {
    for (const key of ['user', 'user_id']) {
      if (key in holder)
        throw wrong(`${at}.${key}`, 'is allowed only for system.root with skip_constraints', holder[key])
    }
  }
}

function allowedType(name: string, { skipConstraints, pluginType }: PostRules): EventTypeDefinition {
  const definition = builtInType(name) ?? pluginType(name)
  if (definition && (skipConstraints || openGroups.has(definition.group))) return definition
  throw new AppError('EventTypeNotAllowed', { type: name, ...(definition ? { group: definition.group } : {}) })
}

function fields(body: Record<string, unknown>, place: string, { skipConstraints }: PostRules) {
  const at = `${place}.event`
  const info = body.info === undefined || body.info === null ? undefined : asRecord(body.info, `${at}.info`)
  if (info) assertStorable(info, `${at}.info`)
  return {
    basetype: textField(body, 'basetype', at),
    schema: textField(body, 'schema', at),
    objecttype: textField(body, 'objecttype', at),
    objectId: idField(body, 'object_id', at),
    objectVersion: idField(body, 'object_version', at),
    systemObjectId: idField(body, 'system_object_id', at),
    globalObjectId: textField(body, 'global_object_id', at),
    info,
    ...(skipConstraints ? importedFields(body, at) : {}),
  }
}

function importedFields(body: Record<string, unknown>, place: string) {
  const text = textField(body, 'timestamp', place)
  const at = text === undefined ? undefined : parseMoment(text)
  if (at === null) throw wrong(`${place}.timestamp`, 'is no ISO 8601 timestamp', text)
  return { at, remoteAddr: textField(body, 'remote_addr', place) }
}

function postedUser(
  envelope: Record<string, unknown>,
  body: Record<string, unknown>,
  place: string,
): PostedUser | null {
  const displayname = textField(body, 'user_generated_displayname', `${place}.event`)
  if (envelope.user === undefined || envelope.user === null) {
    const id = idField(body, 'user_id', `${place}.event`) ?? idField(envelope, 'user_id', place)
    return id === undefined ? null : { id, displayname }
  }
  const wrapper = asRecord(envelope.user, `${place}.user`)
  const user = asRecord(wrapper.user ?? wrapper, `${place}.user.user`)
  const id = idField(user, '_id', `${place}.user.user`)
  const lookup = user['lookup:_id']
  const named =
    lookup === undefined ? undefined : textField(asRecord(lookup, `${place}.user.user.lookup:_id`), 'reference', place)
  const reference = named === undefined ? undefined : storedReference('user', named)
  if (id === undefined && reference === undefined) throw wrong(`${place}.user.user`, 'needs _id or lookup:_id', user)
  return { id, reference, displayname: textField(user, '_generated_displayname', `${place}.user.user`) ?? displayname }
}

function asRecord(value: unknown, place: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(place, 'must be an object', value)
  return value as Record<string, unknown>
}

function textField(record: Record<string, unknown>, key: string, place: string): string | undefined {
  const value = record[key]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw wrong(`${place}.${key}`, 'must be text', value)
  assertStorable(value, `${place}.${key}`)
  return value
}

function idField(record: Record<string, unknown>, key: string, place: string): number | undefined {
  const value = record[key]
  if (value === undefined || value === null) return undefined
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw wrong(`${place}.${key}`, 'must be an integer from 0 to 2^53-1', value)
  }
  return value as number
}

function wrong(place: string, reason: string, got: unknown): AppError {
  const shown = typeof got === 'object' ? undefined : got
  return badRequest(`${place} ${reason}.`, { name: place, ...(shown === undefined ? {} : { got: shown }) })
}
