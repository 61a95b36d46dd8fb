import type { EventRecord } from './schema.ts'
import type { StoredEvent } from './store.ts'

/** The wire form of an event (EVT-001..004). Fields without a value are left out; `info` is always present. */
export function renderEvent(event: StoredEvent, databaseName: string): EventRecord {
  const globalId = event.global_object_id ?? globalObjectId(event, databaseName)
  const record: EventRecord = {
    _basetype: 'event',
    event: {
      _id: event.id,
      type: event.type,
      timestamp: event.at.toISOString(),
      pollable: event.pollable,
      ...given('schema', event.schema),
      ...given('basetype', event.basetype),
      ...given('objecttype', event.objecttype),
      ...given('object_id', event.object_id),
      ...given('object_version', event.object_version),
      ...given('system_object_id', event.system_object_id),
      ...given('global_object_id', globalId),
      ...given('remote_addr', event.remote_addr),
      ...given('user_generated_displayname', event.user_displayname),
      info: event.info ?? {},
    },
  }
  if (event.user_id !== null) record.user = renderUser(event.user_id, event)
  return record
}

function globalObjectId(event: StoredEvent, databaseName: string): string | null {
  return event.system_object_id === null ? null : `${event.system_object_id}@${databaseName}`
}

function renderUser(id: number, event: StoredEvent): NonNullable<EventRecord['user']> {
  return {
    _basetype: 'user',
    user: {
      _id: id,
      ...(event.user_reference === null ? {} : { 'lookup:_id': { reference: event.user_reference } }),
      ...given('_generated_displayname', event.user_displayname),
    },
  }
}

function given<K extends string, V>(key: K, value: V | null): { [P in K]?: V } {
  return value === null ? {} : ({ [key]: value } as { [P in K]?: V })
}

/** The view of a poller without `system.api.event[get]`: what changed, but neither the actor nor the address. */
export function redacted(event: StoredEvent, withInfo: boolean): StoredEvent {
  return {
    ...event,
    user_id: null,
    user_displayname: null,
    user_reference: null,
    remote_addr: null,
    info: withInfo ? event.info : null,
  }
}
