import type { EventRecord } from '../../events/schema.ts'
import type { EventFilter, EventService } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { type Html, html } from '../../platform/values/html.ts'
import { fold, json, table } from '../view/parts.ts'
import type { View } from '../view/view.ts'

export interface EventRows {
  readonly records: readonly EventRecord[]
  readonly count: number
}

/** Events that match, newest first. */
export async function latestEvents(
  events: Pick<EventService, 'list'>,
  actor: Actor,
  filter: EventFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<EventRows> {
  const found = await events.list(actor, filter, [{ field: '_id', descending: true }], page)
  const records: EventRecord[] = []
  for await (const record of found.records()) records.push(record)
  return { records, count: found.count }
}

export function eventTable(view: View, caption: string, records: readonly EventRecord[]): Html {
  const { text, when, link } = view
  return table<EventRecord>(
    view,
    caption,
    [
      {
        label: text('id'),
        kind: 'number',
        value: ({ event }) => html`<a href="${link('events/', { id: event._id })}">${event._id}</a>`,
      },
      { label: text('time'), kind: 'time', value: ({ event }) => when(event.timestamp) },
      { label: text('type'), value: ({ event }) => event.type },
      { label: text('user'), value: ({ event }) => event.user_generated_displayname },
      {
        label: text('events.about'),
        value: ({ event }) =>
          event.system_object_id
            ? html`<a href="${link(`objects/${event.system_object_id}/`)}">${event.objecttype ?? text('object')} ${event.system_object_id}</a>`
            : [event.basetype, event.object_id].filter((one) => one !== undefined).join(' '),
      },
      {
        label: text('details'),
        kind: 'wide',
        value: ({ event }) =>
          Object.keys(event.info ?? {}).length === 0
            ? ''
            : fold(Object.keys(event.info).slice(0, 6).join(', '), json(event.info)),
      },
    ],
    records,
  )
}
