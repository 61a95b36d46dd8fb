import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { notThere } from '../query.ts'
import { badge, facts, section, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'
import { eventTable, latestEvents } from './event-rows.ts'

type Deps = Pick<PageDeps, 'backups' | 'events'>

const types = ['BACKUP_DONE', 'BACKUP_FAILED']

/** Existing backups, and the last events about backups. */
export function backupsPage({ backups, events }: Deps): ConsolePage {
  return {
    path: 'migration',
    section: 'backups',
    query: [],
    members: ['Backups'],
    async load({ actor }) {
      const [all, { records }] = await Promise.all([
        backups.list(),
        latestEvents(events, actor, { types }, { offset: 0, limit: 20 }),
      ])
      return {
        json: { Backups: all },
        title: ({ text }) => text('nav.backups'),
        show: (view) => {
          const { text, bytes, when, link } = view
          return joined([
            section(
              text('backups.there'),
              html`<p class="muted">${text('backups.text')}</p>`,
              table(
                view,
                text('backups.caption'),
                [
                  {
                    label: text('name'),
                    kind: 'wide',
                    value: ({ name }) => html`<a href="${link(`migration/${encodeURIComponent(name)}/`)}">${name}</a>`,
                  },
                  { label: text('type'), value: ({ kind }) => kind },
                  { label: text('backups.format'), value: ({ format }) => format },
                  { label: text('state'), value: ({ status }) => badge(view, status) },
                  { label: text('size'), kind: 'number', value: (one) => one.filesize && bytes(one.filesize) },
                  { label: text('created'), kind: 'time', value: (one) => when(one.created_at) },
                ],
                all,
              ),
            ),
            section(text('backups.events'), eventTable(view, text('events.caption'), records)),
          ])
        },
      }
    },
  }
}

const parts = ['tables', 'sequences', 'contents'] as const

/** The contents of a backup, from its own list. */
export function backupPage({ backups }: Deps): ConsolePage {
  return {
    path: 'migration/:backup',
    section: 'backups',
    query: ['path'],
    members: ['Backup', 'Files', 'SubPath'],
    async load({ params, query }) {
      const part = query.choice('path', parts)
      const name = params.backup ?? ''
      const found = await backups.read(name)
      if (!found) throw notThere({ backup: name })
      const files = found.files.filter(({ path }) => part === null || path.startsWith(`${part}/`))
      return {
        json: { Backup: found.backup, Files: files, SubPath: part ?? '' },
        title: ({ text }) => `${text('backup')} ${name}`,
        show: (view) => {
          const { text, bytes, when, here } = view
          return joined([
            section(
              text('details'),
              facts([
                [text('state'), badge(view, found.backup.status)],
                [text('backups.format'), found.backup.format],
                [text('size'), found.backup.filesize && bytes(found.backup.filesize)],
                [text('created'), when(found.backup.created_at)],
                [text('backups.taken'), when(found.backup.taken)],
                [text('backups.release'), found.backup.release],
                [text('backups.instance'), found.backup.instance],
              ]),
            ),
            ...(found.backup.log.length === 0
              ? []
              : [
                  section(
                    text('backups.log'),
                    table(
                      view,
                      text('backups.log.caption'),
                      [
                        { label: text('time'), kind: 'time', value: (line) => when(line.created_at) },
                        { label: text('details'), kind: 'wide', value: ({ msg }) => msg },
                      ],
                      found.backup.log,
                    ),
                  ),
                ]),
            section(
              text('backups.contents'),
              html`<p>${parts.map((one) => html`<a href="${here({ path: one })}">${one}</a> `)}<a href="${here({ path: null })}">${text('all')}</a></p>`,
              table(
                view,
                text('backups.contents.caption'),
                [
                  { label: text('path'), kind: 'wide', value: ({ path }) => path },
                  { label: text('type'), value: ({ kind }) => kind },
                  { label: text('columns'), kind: 'number', value: ({ columns }) => (columns === 0 ? '' : columns) },
                ],
                files,
              ),
            ),
          ])
        },
      }
    },
  }
}
