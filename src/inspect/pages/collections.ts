import { inspectCollectionMarks, inspectCollections } from '../../collections/service.ts'
import { html } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours } from '../query.ts'
import { filter, pager, table, tiles, yesNo } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

const orders = ['id', 'objects', 'updated'] as const

/** The collections of all owners. */
export function collectionsPage({ db, baseConfig }: Pick<PageDeps, 'db' | 'baseConfig'>): ConsolePage {
  return {
    path: 'collections',
    section: 'collections',
    query: ['search', 'owner', 'user_type', 'order', 'load_parents', 'load_children', 'offset', 'limit'],
    members: [
      'ColInfos',
      'Filter',
      'Markers',
      'UserType',
      'Order',
      'Offset',
      'Limit',
      'TotalCount',
      'LoadParents',
      'LoadChildren',
      'Prev',
      'Next',
    ],
    async load({ query }) {
      const page = query.page()
      const asked = {
        words: query.text('search'),
        owner: query.text('owner'),
        userType: query.text('user_type', 50),
        loadParents: query.flag('load_parents'),
        loadChildren: query.flag('load_children'),
        order: query.choice('order', orders) ?? 'id',
      }
      const [{ rows, total }, marks] = await Promise.all([
        inspectCollections(db, { ...asked, ...page }),
        inspectCollectionMarks(db),
      ])
      const around = neighbours(page, Math.min(page.limit + 1, Math.max(0, total - page.offset)))
      return {
        json: {
          ColInfos: rows,
          Filter: { search: asked.words, owner: asked.owner },
          Markers: marks,
          UserType: asked.userType ?? '',
          Order: asked.order,
          TotalCount: total,
          LoadParents: asked.loadParents,
          LoadChildren: asked.loadChildren,
          ...around,
        },
        title: ({ text }) => text('nav.collections'),
        show: (view) => {
          const { text, number, when, link } = view
          const languages = baseConfig.databaseLanguages()
          return html`${tiles([
            { label: text('collections.all'), value: number(marks.all ?? 0), to: link('collections/') },
            { label: text('collections.shared'), value: number(marks.shared ?? 0) },
            { label: text('collections.links'), value: number(marks.links ?? 0) },
            { label: text('collections.pin'), value: number(marks.with_pin ?? 0) },
            {
              label: text('collections.invalid'),
              value: number(marks.invalid_grants ?? 0),
              tone: (marks.invalid_grants ?? 0) > 0 ? 'bad' : 'good',
            },
          ])}${filter(view, 'collections/', [
            { name: 'search', label: text('collections.search') },
            { name: 'owner', label: text('collections.owner'), placeholder: 'login' },
            {
              name: 'order',
              label: text('order'),
              blank: text('collections.by.id'),
              choices: orders.filter((one) => one !== 'id').map((one) => [one, text(`collections.by.${one}`)] as const),
            },
          ])}<section>${table(
            view,
            text('collections.caption'),
            [
              { label: text('id'), kind: 'number', value: ({ id }) => id },
              {
                label: text('title'),
                kind: 'wide',
                value: (row) => textIn(row.displayname, languages) || row.reference,
              },
              { label: text('type'), value: (row) => row.type },
              { label: text('owner'), value: (row) => row.owner },
              { label: text('collections.parent'), kind: 'number', value: (row) => row.parent_id },
              { label: text('objects'), kind: 'number', value: (row) => number(row.objects) },
              { label: text('collections.children'), kind: 'number', value: (row) => number(row.children) },
              { label: text('grants'), kind: 'number', value: (row) => row.grants },
              { label: text('collections.links'), kind: 'number', value: (row) => row.shares },
              { label: 'PIN', value: (row) => yesNo(view, row.has_pin) },
              { label: text('modified'), kind: 'time', value: (row) => when(row.updated_at) },
            ],
            rows,
          )}${pager(view, around, rows.length, total)}</section>`
        },
      }
    },
  }
}
