import { html, joined } from '../../platform/values/html.ts'
import type { ConsolePage } from '../model.ts'
import { notThere } from '../query.ts'
import { askSql, type SqlAnswer } from '../sql-query.ts'
import { section, table } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

const longestQuery = 10_000
const none: SqlAnswer = { query: '', columns: [], rows: [], cut: false, milliseconds: 0, error: '' }

/** SQL queries on the database, if `svc.debug.sqlQuery` allows it; otherwise the page does not exist. */
export function sqlPage({ db, config }: Pick<PageDeps, 'db' | 'config'>): ConsolePage {
  return {
    path: 'sqlquery',
    section: 'sql',
    query: ['query'],
    members: ['SqlQuery'],
    async load({ query }) {
      if (!config.debugSqlQuery) throw notThere({ path: 'sqlquery' })
      const text = query.text('query', longestQuery)
      const answer = text === null ? none : await askSql(db, text)
      return {
        json: { SqlQuery: answer },
        title: (view) => view.text('nav.sql'),
        show: (view) =>
          joined([
            html`<section><p class="warning">${view.text('sql.warning')}</p><form class="query" method="get" action="${view.link('sqlquery/')}"><label for="f-query">${view.text('sql.query')}</label><textarea id="f-query" name="query" spellcheck="false" maxlength="${longestQuery}">${answer.query}</textarea><button>${view.text('sql.ask')}</button></form></section>`,
            ...(answer.error ? [html`<p class="problem" role="alert">${answer.error}</p>`] : []),
            ...(text === null || answer.error
              ? []
              : [
                  section(
                    view.text('sql.answer'),
                    table(
                      view,
                      view.text(answer.cut ? 'sql.cut' : 'sql.rows', {
                        count: answer.rows.length,
                        ms: answer.milliseconds,
                      }),
                      answer.columns.map((name, index) => ({
                        label: name,
                        kind: 'code' as const,
                        value: (row: readonly (string | null)[]) => row[index],
                      })),
                      answer.rows,
                    ),
                  ),
                ]),
          ]),
      }
    },
  }
}
