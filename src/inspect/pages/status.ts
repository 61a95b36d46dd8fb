import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { badge, facts, section, table, tiles, yesNo } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

/** The amount of stored data, the progress of the index, and whether it agrees with the stored data. */
export function statusPage({ status, search }: Pick<PageDeps, 'status' | 'search'>): ConsolePage {
  return {
    path: 'system/status',
    section: 'status',
    query: [],
    members: ['Stats'],
    async load({ actor }) {
      const [stats, check] = await Promise.all([status(actor), search.indexCheck(actor)])
      const { objecttypes } = stats
      const sum = (member: 'total_count' | 'indexed_count' | 'error_count'): number =>
        objecttypes.reduce((all, type) => all + type[member], 0)
      return {
        json: { Stats: stats },
        title: ({ text }) => text('nav.status'),
        show: (view) => {
          const { text, number, bytes, when, link, button } = view
          const [index] = stats.indices_stats
          return joined([
            tiles([
              { label: text('objects'), value: number(sum('total_count')), to: link('objects/list/') },
              { label: text('state.indexed'), value: number(sum('indexed_count')) },
              {
                label: text('state.waiting'),
                value: number(stats.total_not_indexed),
                to: link('objects/', { index: 'waiting' }),
                tone: stats.total_not_indexed > 0 ? 'busy' : 'good',
              },
              {
                label: text('state.failed'),
                value: number(sum('error_count')),
                to: link('objects/', { index: 'failed' }),
                tone: sum('error_count') > 0 ? 'bad' : 'good',
              },
              { label: text('status.index'), value: bytes(Number(index?.size ?? 0)) },
              {
                label: text('status.files'),
                value: number(stats.pending_files),
                tone: stats.pending_files > 0 ? 'busy' : 'good',
                to: link('files/', { state: 'pending' }),
              },
            ]),
            section(
              text('status.check'),
              facts([
                [text('state'), text(`check.${check.status}`)],
                [text('status.began'), when(check.began_at)],
                [text('status.ended'), when(check.ended_at)],
                [text('status.checked'), number(check.checked)],
                [text('status.missing'), number(check.missing)],
                [text('status.surplus'), number(check.surplus)],
                [text('status.different'), number(check.different)],
                [text('status.rebuilding'), yesNo(view, index?.rebuilding ?? false)],
              ]),
              html`<p>${check.status === 'off' ? '' : button('check', text('status.check.begin'))}${button('reindex', text('status.reindex'), {}, 'danger')}</p>`,
            ),
            section(
              text('status.types'),
              table(
                view,
                text('status.types.caption'),
                [
                  { label: text('objecttype'), value: (type) => type.type_name },
                  { label: text('count'), kind: 'number', value: (type) => number(type.total_count) },
                  { label: text('state.indexed'), kind: 'number', value: (type) => number(type.indexed_count) },
                  { label: text('state.waiting'), kind: 'number', value: (type) => number(type.not_indexed_count) },
                  { label: text('state.failed'), kind: 'number', value: (type) => number(type.error_count) },
                ],
                [...objecttypes, ...stats.basetypes],
              ),
            ),
            section(
              text('status.renditions'),
              table(
                view,
                text('status.renditions.caption'),
                [
                  { label: text('state'), value: (row) => badge(view, row.status) },
                  { label: text('count'), kind: 'number', value: (row) => number(row.count) },
                ],
                stats.file_stats,
              ),
            ),
            section(
              text('status.certificates'),
              table(
                view,
                text('status.certificates.caption'),
                [
                  { label: text('status.of'), value: (row) => row.of },
                  { label: text('status.subject'), kind: 'wide', value: (row) => row.subject },
                  { label: text('status.until'), kind: 'time', value: (row) => when(row.valid_to) },
                  { label: text('status.expiring'), value: (row) => yesNo(view, row.expiring) },
                ],
                stats.certificates,
              ),
            ),
          ])
        },
      }
    },
    actions: {
      async reindex({ actor }) {
        await search.reindex(actor, { block: false })
        return { said: 'done.reindexAll' }
      },
      async check({ actor }) {
        await search.beginIndexCheck(actor)
        return { said: 'done.check' }
      },
    },
  }
}

/** The full-text indexes, which are rebuilt when most documents have changed, or on request. */
export function wordsPage({ index }: Pick<PageDeps, 'index'>): ConsolePage {
  return {
    path: 'recalcterms',
    section: 'words',
    query: [],
    members: ['RecalcTerms'],
    async load() {
      const state = (await index.words?.read()) ?? null
      return {
        json: { RecalcTerms: state ?? {} },
        title: ({ text }) => text('nav.words'),
        show: (view) => {
          const { text, number, bytes, button } = view
          if (state === null) return section(text('nav.words'), html`<p>${text('words.none')}</p>`)
          return joined([
            section(
              text('words.what'),
              html`<p>${text('words.text')}</p>`,
              facts([
                [text('state'), badge(view, state.state)],
                [text('words.documents'), number(state.documents)],
                [text('words.rewritten'), number(state.rewritten)],
                [text('words.due'), yesNo(view, state.due)],
              ]),
              html`<p>${button('renew', text('words.renew'))}</p>`,
            ),
            section(
              text('words.indexes'),
              table(
                view,
                text('words.indexes.caption'),
                [
                  { label: text('name'), value: (one) => one.name },
                  { label: text('size'), kind: 'number', value: (one) => bytes(one.bytes) },
                ],
                state.indexes,
              ),
            ),
          ])
        },
      }
    },
    actions: {
      async renew() {
        await index.words?.begin()
        return { said: 'done.words' }
      },
    },
  }
}
