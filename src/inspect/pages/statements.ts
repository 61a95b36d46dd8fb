import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { facts, fold, section, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

/** The last slow statements of this process, with their plans (own extension); their parameters are not recorded. */
export function statementsPage({ slowStatements }: Pick<PageDeps, 'slowStatements'>): ConsolePage {
  return {
    path: 'statements',
    section: 'statements',
    query: [],
    members: ['From', 'Statements'],
    async load() {
      const { from } = slowStatements
      const statements = slowStatements.list()
      return {
        json: { From: from, Statements: statements },
        title: ({ text }) => text('nav.statements'),
        show: (view) => {
          const { text, number, when } = view
          return joined([
            section(
              text('statements.what'),
              html`<p class="muted">${text('statements.text')}</p>`,
              facts([[text('statements.from'), from === 0 ? text('state.off') : `${number(from)} ms`]]),
            ),
            section(
              text('statements.last'),
              table(
                view,
                text('statements.caption'),
                [
                  { label: text('time'), kind: 'time', value: ({ at }) => when(at) },
                  { label: text('statements.took'), kind: 'number', value: (one) => `${number(one.milliseconds)} ms` },
                  { label: text('name'), value: ({ name }) => name },
                  {
                    label: text('details'),
                    kind: 'wide',
                    value: (one) =>
                      fold(
                        text('statements.show'),
                        html`<pre class="json">${one.text}</pre>${one.plan === null ? '' : html`<pre class="json">${one.plan}</pre>`}`,
                      ),
                  },
                ],
                statements,
              ),
            ),
          ])
        },
      }
    },
  }
}
