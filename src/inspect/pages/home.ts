import { html, joined } from '../../platform/values/html.ts'
import { version } from '../../platform/version.ts'
import type { FigureName } from '../figures.ts'
import type { ConsolePage } from '../model.ts'
import { badge, facts, section, table, tiles } from '../view/parts.ts'
import { backendsOf } from './backends.ts'
import type { PageDeps } from './deps.ts'
import { eventTable, latestEvents } from './event-rows.ts'

type Deps = Pick<PageDeps, 'config' | 'db' | 'baseConfig' | 'datamodel' | 'events' | 'files'> & {
  readonly figures: { now(): Promise<{ readonly values: Readonly<Partial<Record<FigureName, number>>> }> }
}

/** The first page: the service, the services on which it depends, waiting work, last events. */
export function homePage(deps: Deps): ConsolePage {
  const { baseConfig, config, events, figures } = deps
  const started = new Date(Date.now() - 1000 * process.uptime())
  return {
    path: '',
    section: 'home',
    query: [],
    members: ['BaseConfig', 'Backends'],
    async load({ actor }) {
      const [backends, { values }, { records }] = await Promise.all([
        backendsOf(deps),
        figures.now(),
        latestEvents(events, actor, {}, { offset: 0, limit: 12 }),
      ])
      const base = baseConfig.whole().system.config
      return {
        json: { BaseConfig: base, Backends: backends },
        title: ({ text }) => text('nav.home'),
        show: (view) => {
          const { text, number, bytes, when, link } = view
          const figure = (name: FigureName): number => values[name] ?? 0
          const waiting = figure('index_queue.saved') + figure('index_queue.linked') + figure('index_queue.reindex')
          return joined([
            tiles([
              {
                label: text('home.waiting'),
                value: number(waiting),
                to: link('system/status/'),
                tone: waiting > 0 ? 'busy' : 'good',
              },
              {
                label: text('home.jobs'),
                value: number(figure('jobs.due') + figure('jobs.running')),
                to: link('queues/'),
              },
              {
                label: text('home.givenUp'),
                value: number(figure('jobs.given_up')),
                to: link('queues/', { state: 'given_up' }),
                tone: figure('jobs.given_up') > 0 ? 'bad' : 'good',
              },
              { label: text('home.memory'), value: bytes(figure('memory.rss')), to: link('figures/') },
              { label: text('home.connections'), value: number(figure('connections.used')), to: link('figures/') },
              {
                label: text('home.slow'),
                value: number(figure('slow.count')),
                to: link('figures/'),
                tone: figure('slow.count') > 0 ? 'busy' : 'good',
              },
            ]),
            section(
              text('home.what'),
              facts([
                [text('home.version'), `${version} (Node ${process.versions.node})`],
                [text('home.instance'), config.databaseName],
                [text('home.address'), config.externalUrl],
                [text('home.since'), when(started)],
                [text('home.readOnly'), text(config.readOnly ? 'yes' : 'no')],
                [text('nav.datamodel'), html`<a href="${link('datamodel/')}">${deps.datamodel.current().version}</a>`],
                [text('home.languages'), baseConfig.databaseLanguages().join(', ')],
              ]),
            ),
            section(
              text('home.backends'),
              table(
                view,
                text('home.backends.caption'),
                [
                  { label: text('name'), value: ({ name }) => name },
                  { label: text('state'), value: ({ status }) => badge(view, status) },
                  { label: text('details'), kind: 'wide', value: ({ details }) => details },
                  { label: text('size'), kind: 'number', value: (one) => (one.bytes === null ? '' : bytes(one.bytes)) },
                ],
                backends,
              ),
            ),
            section(text('home.events'), eventTable(view, text('home.events.caption'), records)),
          ])
        },
      }
    },
  }
}
