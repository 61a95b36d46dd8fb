import { countJobsByName, dropJobs, inspectJobs, jobStates, retryJobs } from '../../jobs/service.ts'
import type { Form } from '../../platform/http/form.ts'
import { scrubText } from '../../platform/secrets/secrets.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { idIn, neighbours, notThere } from '../query.ts'
import { badge, facts, filter, fold, json, pager, section, table, tiles, yesNo } from '../view/parts.ts'
import { stateText } from '../view/view.ts'
import type { PageDeps } from './deps.ts'

/** Jobs of the queue (own extension); their payload is not shown, since it may be any data. */
export function queuesPage({ db }: Pick<PageDeps, 'db'>): ConsolePage {
  return {
    path: 'queues',
    section: 'queues',
    query: ['state', 'offset', 'limit'],
    members: ['Queues', 'Jobs', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ query }) {
      const page = query.page()
      const state = query.choice('state', jobStates)
      const [counts, found] = await Promise.all([countJobsByName(db), inspectJobs(db, { state, ...page })])
      const rows = found
        .slice(0, page.limit)
        .map((job) => ({ ...job, last_error: job.last_error && scrubText(job.last_error) }))
      const around = neighbours(page, found.length)
      return {
        json: { Queues: counts, Jobs: rows, ...around },
        title: ({ text }) => text('nav.queues'),
        show: (view) => {
          const { text, number, when, button, link } = view
          const total = (one: (typeof jobStates)[number]) => counts.reduce((sum, count) => sum + count[one], 0)
          const givenUp = total('given_up')
          return joined([
            tiles(
              jobStates.map((one) => ({
                label: stateText(view, one),
                value: number(total(one)),
                to: link('queues/', { state: one }),
                ...(one === 'given_up' ? { tone: givenUp > 0 ? ('bad' as const) : ('good' as const) } : {}),
              })),
            ),
            section(
              text('queues.names'),
              table(
                view,
                text('queues.names.caption'),
                [
                  { label: text('name'), value: ({ name }) => name },
                  ...jobStates.map((one) => ({
                    label: stateText(view, one),
                    kind: 'number' as const,
                    value: (row: (typeof counts)[number]) => number(row[one]),
                  })),
                ],
                counts,
              ),
            ),
            filter(view, 'queues/', [
              {
                name: 'state',
                label: text('state'),
                choices: jobStates.map((one) => [one, stateText(view, one)] as const),
              },
            ]),
            section(
              text('queues.jobs'),
              table(
                view,
                text('queues.jobs.caption'),
                [
                  { label: text('id'), kind: 'number', value: ({ id }) => id },
                  { label: text('name'), value: ({ name }) => name },
                  { label: text('state'), value: (job) => badge(view, job.state) },
                  { label: text('queues.attempts'), value: (job) => `${job.attempts} / ${job.max_attempts}` },
                  { label: text('queues.runAt'), kind: 'time', value: (job) => when(job.run_at) },
                  { label: text('created'), kind: 'time', value: (job) => when(job.created_at) },
                  { label: text('problem'), kind: 'wide', value: (job) => job.last_error },
                  ...(view.acts
                    ? [
                        {
                          label: text('actions'),
                          value: ({ id, state: one }: (typeof rows)[number]) =>
                            one === 'given_up'
                              ? html`${button('retry', text('queues.retry'), { id: `${id}` })}${button('drop', text('queues.drop'), { id: `${id}` }, 'danger')}`
                              : '',
                        },
                      ]
                    : []),
                ],
                rows,
              ),
              pager(view, around, rows.length),
            ),
          ])
        },
      }
    },
    actions: {
      async retry(_, form) {
        const id = jobOf(form)
        if (!(await db.transaction((tx) => retryJobs(tx, [id])))) throw notThere({ id })
        return { said: 'done.retry' }
      },
      async drop(_, form) {
        const id = jobOf(form)
        if (!(await db.transaction((tx) => dropJobs(tx, [id])))) throw notThere({ id })
        return { said: 'done.drop' }
      },
    },
  }
}

function jobOf(form: Form): number {
  const id = idIn(form.get('id') ?? '')
  if (id === null) throw notThere({ id: form.get('id') })
  return id
}

/** The locations of file contents, each tested now (own extension). */
export function locationsPage({ files }: Pick<PageDeps, 'files'>): ConsolePage {
  return {
    path: 'locations',
    section: 'locations',
    query: [],
    members: ['Locations', 'Fixity', 'Moves'],
    async load() {
      const [locations, fixity, moves] = await Promise.all([
        files.locations.list(),
        files.fixity.report(),
        files.moves.list(),
      ])
      const read = new Map(fixity.locations.map((one) => [one.location_id, one]))
      return {
        json: { Locations: locations, Fixity: fixity, Moves: moves },
        title: ({ text }) => text('nav.locations'),
        show: (view) => {
          const { text, number, bytes, when, link } = view
          return joined([
            ...locations.map((one) => {
              const contents = read.get(one.id)
              return section(
                one.name,
                facts([
                  [text('state'), badge(view, one.status)],
                  [text('problem'), one.status_msg],
                  [text('type'), one.kind],
                  [text('locations.prefix'), one.prefix],
                  [text('locations.contents'), number(contents?.count ?? 0)],
                  [text('size'), bytes(contents?.size ?? 0)],
                  [text('state.damaged'), number(contents?.damaged ?? 0)],
                  [text('state.missing'), number(contents?.missing ?? 0)],
                  [text('locations.verified'), when(contents?.verified_since)],
                  [text('locations.readOnly'), yesNo(view, one.read_only)],
                  [text('locations.purge'), yesNo(view, one.allow_purge)],
                ]),
                fold(text('details'), json(one.config)),
              )
            }),
            section(
              text('locations.harmed'),
              table(
                view,
                text('locations.harmed.caption', { days: fixity.round_days }),
                [
                  { label: text('state'), value: (row) => badge(view, row.fixity) },
                  { label: 'SHA-256', kind: 'code', value: (row) => row.hash },
                  { label: text('size'), kind: 'number', value: (row) => bytes(row.size) },
                  {
                    label: text('files'),
                    value: (row) =>
                      html`${row.file_ids.map((id) => html`<a href="${link(`files/${id}/`)}">${id}</a> `)}`,
                  },
                  { label: text('locations.verified'), kind: 'time', value: (row) => when(row.verified_at) },
                ],
                fixity.contents,
              ),
            ),
            section(
              text('locations.moves'),
              table(
                view,
                text('locations.moves.caption'),
                [
                  { label: text('locations.from'), value: (row) => row.from },
                  { label: text('locations.to'), value: (row) => row.to },
                  { label: text('state'), value: (row) => badge(view, row.status) },
                  { label: text('locations.done'), kind: 'number', value: (row) => `${row.percent_done} %` },
                  { label: text('state.failed'), kind: 'number', value: (row) => number(row.failed) },
                  { label: text('problem'), kind: 'wide', value: (row) => row.error },
                  { label: text('status.began'), kind: 'time', value: (row) => when(row.started_at) },
                  { label: text('status.ended'), kind: 'time', value: (row) => when(row.finished_at) },
                ],
                moves,
              ),
            ),
          ])
        },
      }
    },
  }
}
