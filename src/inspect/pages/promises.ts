import { inspectPromises, mostLinks } from '../../objects/service.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours } from '../query.ts'
import { pager, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'

/** Objects that links name before they exist (own extension). */
export function promisesPage(deps: Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig'>): ConsolePage {
  return {
    path: 'promises',
    section: 'promises',
    query: ['offset', 'limit'],
    members: ['Promises', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ query }) {
      const page = query.page()
      const found = await inspectPromises(deps.db, page)
      const rows = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      const names = await namesFor(
        deps,
        rows.flatMap(({ users }) => users),
      )
      const { columnsById } = deps.datamodel.current()
      const columnOf = (id: number): string => columnsById.get(id)?.fullName ?? `${id}`
      const promises = rows.map((row) => ({
        system_object_id: row.id,
        objecttype: names.objecttype(row.objecttype),
        uuid: row.uuid,
        users: row.users.map((id) => ({ id, name: names.user(id) })),
        created_at: row.createdAt,
        links: Math.min(row.links, mostLinks),
        objects: row.objects.map(({ id, objecttype, column, deleted }) => ({
          id,
          objecttype: names.objecttype(objecttype),
          field: columnOf(column),
          deleted,
        })),
      }))
      return {
        json: { Promises: promises, ...around },
        title: ({ text }) => text('nav.promises'),
        show: (view) => {
          const { text, when, link, number } = view
          return html`<section>${table(
            view,
            text('promises.caption'),
            [
              { label: text('id'), kind: 'number', value: (one) => one.system_object_id },
              { label: text('objecttype'), value: (one) => one.objecttype },
              { label: text('promises.uuid'), kind: 'wide', value: (one) => one.uuid },
              { label: text('promises.users'), value: (one) => one.users.map(({ name }) => name).join(', ') },
              { label: text('created'), kind: 'time', value: (one) => when(one.created_at) },
              { label: text('promises.links'), kind: 'number', value: (one) => number(one.links) },
              {
                label: text('promises.from'),
                kind: 'wide',
                value: (one) =>
                  joined(
                    one.objects.map(
                      ({ id, field }) => html`<a href="${link(`objects/${id}/`)}">${id}</a> <code>${field}</code> `,
                    ),
                  ),
              },
            ],
            promises,
          )}${pager(view, around, rows.length)}</section>`
        },
      }
    },
  }
}
