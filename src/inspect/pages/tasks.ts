import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, pathId } from '../query.ts'
import { badge, facts, fold, json, pager, section, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

type Deps = Pick<PageDeps, 'tasks'>

/** Tasks of all users (own extension). */
export function tasksPage({ tasks }: Deps): ConsolePage {
  return {
    path: 'tasks',
    section: 'tasks',
    query: ['offset', 'limit'],
    members: ['Tasks', 'TotalCount', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, query }) {
      const page = query.page()
      const { objects, count } = await tasks.list(actor, page)
      const around = neighbours(page, Math.min(page.limit + 1, Math.max(0, count - page.offset)))
      return {
        json: { Tasks: objects, TotalCount: count, ...around },
        title: ({ text }) => text('nav.tasks'),
        show: (view) => {
          const { text, when, link } = view
          return html`<section>${table(
            view,
            text('tasks.caption'),
            [
              {
                label: text('id'),
                kind: 'number',
                value: ({ task }) => html`<a href="${link(`tasks/${task._id}/`)}">${task._id}</a>`,
              },
              { label: text('tasks.module'), value: ({ task }) => task.task_module },
              { label: text('title'), kind: 'wide', value: ({ task }) => firstLine(task.description) },
              { label: text('user'), value: ({ _user }) => _user._generated_displayname },
              { label: text('state'), value: ({ task }) => badge(view, task.status) },
              { label: text('tasks.percent'), kind: 'number', value: ({ task }) => percent(task.status_percent) },
              { label: text('tasks.said'), kind: 'wide', value: ({ task }) => task.status_msg },
              { label: text('tasks.started'), kind: 'time', value: ({ task }) => when(task.run_started_at) },
              { label: text('tasks.next'), kind: 'time', value: ({ task }) => when(task.next_run_at) },
            ],
            objects,
          )}${pager(view, around, objects.length, count)}</section>`
        },
      }
    },
  }
}

/** One task with the log of its latest run. */
export function taskPage({ tasks }: Deps): ConsolePage {
  return {
    path: 'tasks/:task',
    section: 'tasks',
    query: ['offset', 'limit'],
    members: ['Task', 'Log', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, params, query }) {
      const page = query.page()
      const id = pathId(params.task, 'task')
      const record = await tasks.read(actor, id)
      const found = await tasks.log(actor, id, { ...page, limit: page.limit + 1 })
      const lines = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      const { task, _user } = record
      return {
        json: { Task: record, Log: lines, ...around },
        title: ({ text }) => `${text('tasks.task')} ${id}`,
        show: (view) => {
          const { text, number, when, button } = view
          return joined([
            section(
              text('details'),
              facts([
                [text('tasks.module'), task.task_module],
                [text('title'), task.description],
                [text('user'), _user._generated_displayname],
                [text('state'), badge(view, task.status)],
                [text('tasks.percent'), percent(task.status_percent)],
                [text('tasks.said'), task.status_msg],
                [text('tasks.started'), when(task.run_started_at)],
                [text('tasks.finished'), when(task.run_finished_at)],
                [text('tasks.next'), when(task.next_run_at)],
                [text('tasks.timeout'), number(task.task_timeout_sec)],
                [text('tasks.mails'), task.email.recipients.map(({ email }) => email).join(', ')],
                [text('created'), when(record.created_at)],
              ]),
              task.status === 'running' ? html`<p>${button('cancel', text('tasks.cancel'), {}, 'danger')}</p>` : html``,
              fold(text('tasks.params'), json(task.task_params)),
              fold(text('tasks.schedules'), json(task.schedules)),
            ),
            section(
              text('tasks.log'),
              table(
                view,
                text('tasks.log.caption'),
                [
                  { label: text('time'), kind: 'time', value: (line) => when(line.timestamp) },
                  { label: text('tasks.level'), value: (line) => line.level },
                  { label: text('tasks.percent'), kind: 'number', value: (line) => percent(line.status_percent) },
                  { label: text('tasks.said'), kind: 'wide', value: (line) => line.msg },
                ],
                lines,
              ),
              pager(view, around, lines.length),
            ),
          ])
        },
      }
    },
    actions: {
      async cancel({ actor, params }) {
        await tasks.cancel(actor, pathId(params.task, 'task'))
        return { said: 'done.cancel' }
      },
    },
  }
}

const percent = (value: number | null): string => (value === null ? '' : `${value} %`)

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
