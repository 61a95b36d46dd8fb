import { inspectFileDetails, inspectFiles, renditionStates } from '../../files/service.ts'
import { scrubText } from '../../platform/secrets/secrets.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, notThere, pathId } from '../query.ts'
import { badge, facts, filter, pager, section, table } from '../view/parts.ts'
import { stateText, type View } from '../view/view.ts'
import type { PageDeps } from './deps.ts'
import { namesFor } from './names.ts'

type Deps = Pick<PageDeps, 'db' | 'files' | 'datamodel' | 'pools' | 'baseConfig'>

const classes = ['image', 'video', 'audio', 'office', 'vector', 'archive', 'other', 'unknown'] as const
const most = 200

const states = (view: View, renditions: Readonly<Record<string, number>>) =>
  html`${Object.entries(renditions).map(([state, count]) => html`${badge(view, state)} ${view.number(count)} `)}`

/** Files with the states of their renditions (own extension). */
export function filesPage(deps: Deps): ConsolePage {
  return {
    path: 'files',
    section: 'files',
    query: ['ids', 'search', 'state', 'class', 'offset', 'limit'],
    members: ['Files', 'Resyncs', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, query }) {
      const page = query.page()
      const [found, resyncs] = await Promise.all([
        inspectFiles(deps.db, {
          ids: query.ids('ids'),
          words: query.text('search'),
          state: query.choice('state', renditionStates),
          class: query.choice('class', classes),
          ...page,
        }),
        deps.files.renditions.resyncs(actor),
      ])
      const rows = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      const names = await namesFor(
        deps,
        rows.map((row) => row.upload_user),
      )
      return {
        json: { Files: rows, Resyncs: resyncs, ...around },
        title: ({ text }) => text('nav.files'),
        show: (view) => {
          const { text, number, bytes, when, link, button } = view
          return joined([
            filter(view, 'files/', [
              { name: 'search', label: text('files.name') },
              { name: 'ids', label: text('files.ids'), placeholder: '12, 13' },
              {
                name: 'state',
                label: text('files.state'),
                choices: renditionStates.map((one) => [one, stateText(view, one)] as const),
              },
              { name: 'class', label: text('files.class'), choices: classes.map((one) => [one, one] as const) },
            ]),
            html`<section>${table(
              view,
              text('files.list.caption'),
              [
                {
                  label: text('id'),
                  kind: 'number',
                  value: ({ id }) => html`<a href="${link(`files/${id}/`)}">${id}</a>`,
                },
                { label: text('files.name'), kind: 'wide', value: (row) => row.filename },
                { label: text('files.class'), value: (row) => `${row.class} · ${row.extension}` },
                { label: text('size'), kind: 'number', value: (row) => bytes(row.size) },
                { label: text('files.renditions'), value: (row) => states(view, row.renditions) },
                { label: text('files.content'), value: (row) => badge(view, row.fixity) },
                { label: text('files.location'), value: (row) => row.location },
                { label: text('objects'), kind: 'number', value: (row) => row.objects },
                { label: text('files.uploaded'), kind: 'time', value: (row) => when(row.uploaded_at) },
                { label: text('user'), value: (row) => names.user(row.upload_user) },
              ],
              rows,
            )}${pager(view, around, rows.length)}</section>`,
            section(
              text('files.resyncs'),
              html`<p>${text('files.resync.text')}</p><p>${button('resync', text('files.resync'))}</p>`,
              table(
                view,
                text('files.resyncs.caption'),
                [
                  { label: text('status.began'), kind: 'time', value: (row) => when(row.startedAt) },
                  { label: text('status.ended'), kind: 'time', value: (row) => when(row.finishedAt) },
                  { label: text('files'), kind: 'number', value: (row) => number(row.total) },
                  { label: text('status.checked'), kind: 'number', value: (row) => number(row.checked) },
                  { label: text('files.queued'), kind: 'number', value: (row) => number(row.queued) },
                  { label: text('files.removed'), kind: 'number', value: (row) => number(row.removed) },
                ],
                resyncs,
              ),
            ),
          ])
        },
      }
    },
    actions: {
      async resync({ actor }) {
        await deps.files.renditions.resync(actor)
        return { said: 'done.resync' }
      },
    },
  }
}

/** One file: its contents with their locations, its renditions, and the objects that have it (own extension). */
export function filePage(deps: Deps): ConsolePage {
  return {
    path: 'files/:file',
    section: 'files',
    query: [],
    members: ['File', 'Versions', 'Renditions', 'Objects'],
    async load({ params }) {
      const id = pathId(params.file, 'file')
      const filter = { ids: [id], words: null, state: null, class: null, offset: 0, limit: 1 }
      const [[file], details] = await Promise.all([
        inspectFiles(deps.db, filter),
        inspectFileDetails(deps.db, id, most),
      ])
      if (!file) throw notThere({ file: id })
      const renditions = details.renditions.map((one) => ({ ...one, reason: one.reason && scrubText(one.reason) }))
      const names = await namesFor(deps, [file.upload_user])
      const columns = deps.datamodel.current().columnsById
      return {
        json: { File: file, Versions: details.versions, Renditions: renditions, Objects: details.objects },
        title: ({ text }) => `${text('file')} ${id}`,
        show: (view) => {
          const { text, bytes, when, link, button } = view
          return joined([
            section(
              file.filename,
              facts([
                [text('files.class'), `${file.class} · ${file.extension}`],
                [text('size'), bytes(file.size)],
                [text('files.uploaded'), when(file.uploaded_at)],
                [text('user'), names.user(file.upload_user)],
                [text('files.unlinked'), when(file.unlinked_at)],
              ]),
              html`<p>${button('verify', text('files.verify'))}</p>`,
            ),
            section(
              text('files.versions'),
              table(
                view,
                text('files.versions.caption'),
                [
                  { label: text('name'), value: (row) => row.name },
                  { label: text('type'), value: (row) => row.mime_type },
                  { label: text('size'), kind: 'number', value: (row) => bytes(row.size) },
                  { label: text('files.location'), value: (row) => row.location },
                  { label: text('files.content'), value: (row) => badge(view, row.fixity) },
                  { label: text('locations.verified'), kind: 'time', value: (row) => when(row.verified_at) },
                  { label: 'SHA-256', kind: 'code', value: (row) => row.sha256 },
                ],
                details.versions,
              ),
            ),
            section(
              text('files.renditions'),
              table(
                view,
                text('files.renditions.caption'),
                [
                  { label: text('name'), value: (row) => row.name },
                  { label: text('state'), value: (row) => badge(view, row.status) },
                  { label: text('locations.done'), kind: 'number', value: (row) => `${row.percent} %` },
                  { label: text('queues.attempts'), kind: 'number', value: (row) => row.attempts },
                  { label: text('time'), kind: 'time', value: (row) => when(row.status_at) },
                  { label: text('problem'), kind: 'wide', value: (row) => row.reason },
                ],
                renditions,
              ),
            ),
            section(
              text('objects'),
              table(
                view,
                text('files.objects.caption'),
                [
                  {
                    label: text('object'),
                    kind: 'number',
                    value: (row) =>
                      html`<a href="${link(`objects/${row.system_object_id}/`)}">${row.system_object_id}</a>`,
                  },
                  {
                    label: text('column'),
                    value: (row) => columns.get(row.column_id)?.fullName ?? `#${row.column_id}`,
                  },
                  { label: text('files.latest'), value: (row) => text(row.latest ? 'yes' : 'no') },
                ],
                details.objects,
              ),
            ),
          ])
        },
      }
    },
    actions: {
      async verify({ params }) {
        const id = pathId(params.file, 'file')
        const results = await deps.files.fixity.ofFile(id)
        if (results.length === 0) throw notThere({ file: id })
        const wrong = results.some(({ fixity }) => fixity !== 'ok')
        return { said: wrong ? 'done.verify.bad' : 'done.verify' }
      },
    },
  }
}
