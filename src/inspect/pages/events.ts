import { eventGroups, eventTypes, latestEventId } from '../../events/service.ts'
import { AppError } from '../../platform/errors.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, notThere } from '../query.ts'
import { facts, filter, json, pager, section } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'
import { eventTable, latestEvents } from './event-rows.ts'

type Deps = Pick<PageDeps, 'db' | 'events' | 'runJanitors' | 'config'>

/** The event log, newest first (own extension). */
export function eventsPage({ events }: Deps): ConsolePage {
  return {
    path: 'events',
    section: 'events',
    query: ['id', 'type', 'group', 'system_object_id', 'user', 'offset', 'limit'],
    members: ['Events', 'TotalCount', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, query }) {
      const page = query.page()
      const [id, objectId, user] = [query.id('id'), query.id('system_object_id'), query.id('user')]
      const type = query.text('type', 100)
      const group = query.choice('group', eventGroups)
      const types = type ? [type] : typesOf(group)
      const rows = await latestEvents(
        events,
        actor,
        {
          ...(id === null ? {} : { ids: [[id, id] as const] }),
          ...(types === null ? {} : { types }),
          ...(objectId === null ? {} : { systemObjectIds: [objectId] }),
          ...(user === null ? {} : { userIds: [user] }),
        },
        page,
      )
      const around = neighbours(page, Math.min(page.limit + 1, Math.max(0, rows.count - page.offset)))
      return {
        json: { Events: rows.records, TotalCount: rows.count, ...around },
        title: ({ text }) => text('nav.events'),
        show: (view) =>
          html`${filter(view, 'events/', [
            { name: 'type', label: view.text('events.type'), placeholder: 'OBJECT_UPDATE' },
            { name: 'group', label: view.text('events.group'), choices: eventGroups.map((one) => [one, one] as const) },
            { name: 'system_object_id', label: view.text('object') },
            { name: 'user', label: view.text('events.user'), placeholder: '1' },
          ])}<section>${eventTable(view, view.text('events.caption'), rows.records)}${pager(view, around, rows.records.length, rows.count)}</section>`,
      }
    },
  }
}

function typesOf(group: string | null): readonly string[] | null {
  if (group === null) return null
  return Object.entries(eventTypes).flatMap(([name, type]) => (type.group === group ? [name] : []))
}

/** Names of members with which an updater of a custom type reports its type. */
const updated = {
  types: ['CUSTOM_DATA_TYPE_UPDATER', 'CUSTOM_DATA_TYPE_UPDATER_ERROR'],
  names: ['type', 'custom_type', 'name'],
}

/** The last events of the updater of a custom type. */
export function customDataPage({ db, events }: Deps): ConsolePage {
  return {
    path: 'customdata/:id',
    section: 'plugins',
    query: [],
    members: ['Event'],
    async load({ actor, params }) {
      const type = params.id ?? ''
      const id = await latestEventId(db, updated.types, { names: updated.names, value: type })
      if (id === null) throw notThere({ id: type })
      const record = await events.get(actor, id)
      return {
        json: { Event: record },
        title: ({ text }) => `${text('customdata')} ${type}`,
        show: (view) =>
          section(
            record.event.type,
            facts([
              [view.text('id'), record.event._id],
              [view.text('time'), view.when(record.event.timestamp)],
              [view.text('user'), record.event.user_generated_displayname],
            ]),
            json(record.event.info),
          ),
      }
    },
  }
}

const janitorTypes = ['JANITOR', 'JANITOR_ERROR']

/** The last runs of the janitors. */
export function janitorPage({ db, events, runJanitors }: Deps): ConsolePage {
  return {
    path: 'system/janitor',
    section: 'janitor',
    query: ['type', 'offset', 'limit'],
    members: ['Event', 'Query'],
    async load({ actor, query }) {
      const page = query.page()
      const type = query.choice('type', ['JANITOR', 'JANITOR_ERROR'] as const)
      const types = type ? [type] : janitorTypes
      const [id, rows] = await Promise.all([latestEventId(db, types), latestEvents(events, actor, { types }, page)])
      const event = id === null ? {} : await events.get(actor, id).catch(gone)
      const around = neighbours(page, Math.min(page.limit + 1, Math.max(0, rows.count - page.offset)))
      return {
        json: { Event: event, Query: { type: type ?? '', ...page } },
        title: ({ text }) => text('nav.janitor'),
        show: (view) =>
          joined([
            section(
              view.text('janitor.what'),
              html`<p>${view.text('janitor.text')}</p>${view.button('run', view.text('janitor.run'))}`,
            ),
            section(
              view.text('janitor.runs'),
              eventTable(view, view.text('events.caption'), rows.records),
              pager(view, around, rows.records.length, rows.count),
            ),
          ]),
      }
    },
    actions: {
      async run() {
        runJanitors()
        return { said: 'done.janitor' }
      },
    },
  }
}

/** It was deleted in between. */
function gone(error: unknown): object {
  if (error instanceof AppError && error.code === 'EventNotFound') return {}
  throw error
}
