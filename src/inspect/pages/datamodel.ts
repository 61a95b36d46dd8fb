import { datamodelVersions } from '../../datamodel/service.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { fold, section, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'
import { columnsBelow, columnTable } from './type-content.ts'

const most = 200

/** A committed version of the datamodel with the names of its fields for searches and clients (own extension). */
export function datamodelPage(deps: Pick<PageDeps, 'db' | 'datamodel' | 'pools' | 'baseConfig'>): ConsolePage {
  return {
    path: 'datamodel',
    section: 'datamodel',
    query: ['version'],
    members: ['CurrentDatamodelId', 'DatamodelId', 'Versions', 'Objecttypes'],
    async load({ query }) {
      const current = deps.datamodel.current()
      const wanted = query.integer('version', { least: 0, most: 2 ** 31 - 1 })
      const [model, versions] = await Promise.all([
        wanted === null ? current : deps.datamodel.version(wanted),
        datamodelVersions(deps.db, most),
      ])
      const names = await namesFor(
        deps,
        versions.map((one) => one.committed_by),
      )
      const types = [...model.objecttypes.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      return {
        json: {
          CurrentDatamodelId: current.version,
          DatamodelId: model.version,
          Versions: versions,
          Objecttypes: types.map((type) => ({
            id: type.id,
            name: type.name,
            columns: columnsBelow(type).map(({ id, fullName, typeName }) => ({ id, name: fullName, type: typeName })),
            masks: [...type.masks.values()].map(({ id, name }) => ({ id, name })),
          })),
        },
        title: ({ text }) => text('datamodel.title', { version: model.version }),
        show: (view) => {
          const { text, link, when } = view
          return joined([
            section(
              text('nav.objecttypes'),
              ...types.map((type) =>
                fold(
                  html`${type.name} <span class="muted">${text('datamodel.of', { columns: columnsBelow(type).length, masks: type.masks.size })}</span>`,
                  html`${columnTable(view, type)}<p class="muted">${text('masks')}: ${[...type.masks.keys()].join(', ')}</p>`,
                ),
              ),
            ),
            section(
              text('datamodel.versions'),
              table(
                view,
                text('datamodel.versions.caption'),
                [
                  {
                    label: text('version'),
                    kind: 'number',
                    value: ({ version }) => html`<a href="${link('datamodel/', { version })}">${version}</a>`,
                  },
                  { label: text('datamodel.committed'), kind: 'time', value: (one) => when(one.committed_at) },
                  { label: text('user'), value: (one) => names.user(one.committed_by) },
                ],
                versions,
              ),
            ),
          ])
        },
      }
    },
  }
}
