import { type IndexState, indexStates, inspectObjects, inspectTypes } from '../../objects/service.ts'
import { badRequest } from '../../platform/errors.ts'
import { html } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, notThere, type Query } from '../query.ts'
import { badge, filter, pager, table } from '../view/parts.ts'
import { stateText } from '../view/view.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'
import { typeContent } from './type-content.ts'

type Deps = Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig' | 'objecttypes'>

const trash = ['live', 'deleted'] as const
const orders = ['id', '-id'] as const

/** Objects, by object type, pool, trash and state of the index, or by their ids. */
export function objectsPage(deps: Deps): ConsolePage {
  return {
    path: 'objects',
    section: 'objects',
    query: ['objecttype', 'pool', 'ids', 'trash', 'index', 'order', 'offset', 'limit'],
    members: [
      'SystemObjectIds',
      'Objecttype',
      'Filter',
      'Versions',
      'Index',
      'Order',
      'Offset',
      'Limit',
      'Prev',
      'Next',
      'ParseErr',
    ],
    async load({ query }) {
      const page = query.page()
      const order = query.choice('order', orders) ?? 'id'
      const index = query.choice('index', indexStates)
      const type = objecttypeOf(deps, query.text('objecttype'))
      const { ids, problem } = idsOf(query)
      const pool = query.id('pool')
      const state = query.choice('trash', trash)
      const found = problem
        ? []
        : await inspectObjects(
            deps.db,
            { ids, objecttype: type?.id ?? null, pool, index, deleted: state && state === 'deleted' },
            { ...page, descending: order === '-id', languages: deps.baseConfig.databaseLanguages() },
          )
      const rows = found.slice(0, page.limit)
      const names = await namesFor(
        deps,
        rows.map((row) => row.ownerUser),
      )
      const around = neighbours(page, found.length)
      return {
        json: {
          SystemObjectIds: rows.map(({ id }) => id),
          Objecttype: type?.name ?? '',
          Filter: { ids, pool, trash: state },
          Versions: Object.fromEntries(rows.map(({ id, version }) => [id, version])),
          Index: index ?? '',
          Order: order,
          ...around,
          ParseErr: problem ?? '',
        },
        title: ({ text }) => text('nav.objects'),
        show: (view) => {
          const { text, link, when } = view
          const types = [...deps.datamodel.current().objecttypes.keys()].sort()
          return html`${filter(view, 'objects/', [
            { name: 'ids', label: text('objects.ids'), placeholder: '12, 13' },
            { name: 'objecttype', label: text('objecttype'), choices: types.map((name) => [name, name] as const) },
            { name: 'pool', label: text('objects.pool'), placeholder: '1' },
            {
              name: 'trash',
              label: text('objects.trash'),
              choices: trash.map((one) => [one, stateText(view, one)] as const),
            },
            {
              name: 'index',
              label: text('objects.index'),
              choices: indexStates.map((one) => [one, stateText(view, one)] as const),
            },
            {
              name: 'order',
              label: text('order'),
              blank: text('collections.by.id'),
              choices: [['-id', text('order.newest')] as const],
            },
          ])}${problem ? html`<p class="problem" role="alert">${problem}</p>` : ''}<section>${table(
            view,
            text('objects.caption'),
            [
              {
                label: text('id'),
                kind: 'number',
                value: ({ id }) => html`<a href="${link(`objects/${id}/`)}">${id}</a>`,
              },
              { label: text('title'), kind: 'wide', value: (row) => row.title },
              {
                label: text('objecttype'),
                value: (row) =>
                  html`<a href="${link(`objecttypes/${names.objecttype(row.objecttype)}/`)}">${names.objecttype(row.objecttype)}</a>`,
              },
              {
                label: text('pool'),
                value: ({ poolId }) => poolId && html`<a href="${link(`pools/${poolId}/`)}">${names.pool(poolId)}</a>`,
              },
              { label: text('owner'), value: (row) => names.user(row.ownerUser) },
              { label: text('version'), kind: 'number', value: (row) => row.version },
              { label: text('modified'), kind: 'time', value: (row) => when(row.modifiedAt) },
              {
                label: text('state'),
                value: (row) => html`${badge(view, row.index)}${row.deletedAt ? html` ${badge(view, 'deleted')}` : ''}`,
              },
            ],
            rows,
          )}${pager(view, around, rows.length)}</section>`
        },
      }
    },
  }
}

/** An error in `ids` is shown on the page, beside the form with the typed text. */
function idsOf(query: Query): { readonly ids: readonly number[] | null; readonly problem: string | null } {
  try {
    return { ids: query.ids('ids'), problem: null }
  } catch (error) {
    return { ids: null, problem: (error as Error).message }
  }
}

/** The object type by its name or its number. @throws {AppError} */
function objecttypeOf({ datamodel }: Deps, wanted: string | null) {
  if (wanted === null) return null
  const found = findType({ datamodel }, wanted)
  if (!found) throw badRequest(`There is no object type ${wanted}.`, { name: 'objecttype' })
  return found
}

export function findType({ datamodel }: Pick<PageDeps, 'datamodel'>, wanted: string) {
  const model = datamodel.current()
  const byId = /^\d{1,9}$/.test(wanted) ? model.tablesById.get(Number(wanted)) : undefined
  return model.objecttypes.get(wanted) ?? (byId?.kind === 'object' ? byId : undefined)
}

/** All object types, with the state of the index for their objects. */
export function typesPage(deps: Deps): ConsolePage {
  return {
    path: 'objects/list',
    section: 'objecttypes',
    query: [],
    members: ['IndexedByTableNameRead'],
    async load() {
      const counts = new Map((await inspectTypes(deps.db)).map((row) => [row.objecttype, row]))
      const types = [...deps.datamodel.current().objecttypes.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      const rows = types.map(({ id, name, columns, masks }) => {
        const { live = 0, deleted = 0, waiting = 0, failed = 0 } = counts.get(id) ?? {}
        const objects = live + deleted
        return {
          id,
          name,
          columns: columns.length,
          masks: masks.size,
          live,
          deleted,
          waiting,
          failed,
          objects,
          indexed: Math.max(0, objects - waiting - failed),
        }
      })
      return {
        json: {
          IndexedByTableNameRead: Object.fromEntries(
            rows.map(({ name, id, live, deleted, indexed, waiting, failed }) => [
              name,
              { objecttype_id: id, live, deleted, indexed, waiting, failed },
            ]),
          ),
        },
        title: ({ text }) => text('nav.objecttypes'),
        show: (view) => {
          const { text, link, number } = view
          const objects = (name: string, count: number, index: IndexState) =>
            count === 0 ? '0' : html`<a href="${link('objects/', { objecttype: name, index })}">${number(count)}</a>`
          return html`<section>${table(
            view,
            text('types.caption'),
            [
              {
                label: text('objecttype'),
                value: ({ name }) => html`<a href="${link(`objecttypes/${name}/`)}">${name}</a>`,
              },
              {
                label: text('objects'),
                kind: 'number',
                value: (row) => html`<a href="${link('objects/', { objecttype: row.name })}">${number(row.live)}</a>`,
              },
              { label: text('state.deleted'), kind: 'number', value: (row) => number(row.deleted) },
              { label: text('state.indexed'), kind: 'number', value: (row) => number(row.indexed) },
              {
                label: text('state.waiting'),
                kind: 'number',
                value: (row) => objects(row.name, row.waiting, 'waiting'),
              },
              { label: text('state.failed'), kind: 'number', value: (row) => objects(row.name, row.failed, 'failed') },
              { label: text('columns'), kind: 'number', value: (row) => row.columns },
              { label: text('masks'), kind: 'number', value: (row) => row.masks },
            ],
            rows,
          )}</section>`
        },
      }
    },
  }
}

/** One object type: its files, its columns. */
export function typePage(deps: Deps): ConsolePage {
  return {
    path: 'objecttypes/:objecttype',
    section: 'objecttypes',
    query: [],
    members: ['OtStats'],
    async load({ actor, params }) {
      const type = findType(deps, params.objecttype ?? '')
      if (!type) throw notThere({ objecttype: params.objecttype })
      const [{ files }, counts] = await Promise.all([deps.objecttypes.stats(actor, type.id), inspectTypes(deps.db)])
      const { live = 0, deleted = 0, waiting = 0, failed = 0 } = counts.find((row) => row.objecttype === type.id) ?? {}
      return {
        json: { OtStats: { objecttype_id: type.id, name: type.name, live, deleted, waiting, failed, files } },
        title: ({ text }) => `${text('objecttype')} ${type.name}`,
        show: (view) => typeContent(view, { type, live, deleted, waiting, failed, files }),
      }
    },
  }
}
