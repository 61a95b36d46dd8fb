import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import type { Db } from './db.ts'
import { type EndedStatement, onStatementEnd, summaryOf } from './statements.ts'

export interface SlowStatement {
  /** UTC. */
  readonly at: string
  readonly name: string
  /** Without parameters. */
  readonly text: string
  readonly milliseconds: number
  /** The generic plan of PostgreSQL, independent of the parameters; null: it was logged before, or there is none. */
  readonly plan: string | null
}

export interface SlowStatements {
  /** The last ones, the latest first. */
  list(): readonly SlowStatement[]
  close(): Promise<void>
}

interface Options {
  readonly db: Db
  readonly log: Pick<Logger, 'warn'>
  /** Milliseconds from which a statement counts as slow; 0: no statement does. */
  readonly from: number
}

/** Slow statements that are kept in memory. */
const mostKept = 50
/** Characters of a text, and of a plan. */
const longest = 10_000
/** Number of statements whose plan was logged: it is logged again when others have displaced it. */
const mostTold = 500
/** Only these have a plan. */
const planned = /^\s*(?:select|insert|update|delete|merge|with|values)\b/i

/**
 * Logs slow statements, the first time with their plan: never with their parameters, which are users' data. Plans are requested one
 * after the other, so that a slow database does not get more load.
 */
export function watchSlowStatements({ db, log, from }: Options): SlowStatements {
  if (from === 0) return { list: () => [], close: async () => {} }
  const kept: SlowStatement[] = []
  const told = new Set<string>()
  let telling: Promise<void> | null = null
  let closed = false
  // The slow statement may be within a transaction and a deadline, but the statement for its plan is not.
  const outside = AsyncLocalStorage.snapshot()

  const stop = onStatementEnd((statement) => {
    if (closed || statement.duration < from || statement.text.startsWith(explain)) return
    const at = new Date().toISOString()
    if (told.has(statement.text) || telling || !planned.test(statement.text)) return keep(at, statement, null)
    told.add(statement.text)
    const [oldest] = told
    if (oldest !== undefined && told.size > mostTold) told.delete(oldest)
    telling = outside(() => planOf(statement.text))
      .then((plan) => keep(at, statement, plan))
      .finally(() => {
        telling = null
      })
  })

  function keep(at: string, { text, name, duration }: EndedStatement, plan: string | null): void {
    const one = {
      at,
      name: summaryOf(text, name),
      text: text.slice(0, longest),
      milliseconds: Math.round(duration),
      plan,
    }
    kept.unshift(one)
    if (kept.length > mostKept) kept.pop()
    log.warn(one, 'a slow statement')
  }

  /** On a separate connection, which does not wait long for locks. */
  async function planOf(text: string): Promise<string | null> {
    try {
      const { rows } = await db.query<{ 'QUERY PLAN': string }>(`${explain}${text}`)
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      return plan.slice(0, longest)
    } catch {
      // A statement that cannot be planned without its parameters, or a database that is busy.
      return null
    }
  }

  return {
    list: () => kept,
    async close() {
      closed = true
      stop()
      await telling
    },
  }
}

const explain = 'explain (generic_plan) '
