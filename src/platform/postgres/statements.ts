/** Listeners to the statements of this process: tests that count them, traces, the watch for slow ones. */
import type { SpanFacts } from '../tracing/spans.ts'

/** A finished statement, whether it failed or not. */
export interface EndedStatement {
  readonly text: string
  readonly name: string | undefined
  /** Milliseconds from here to the database and back. */
  readonly duration: number
}

type Listener<T> = (told: T) => void

const begun = new Set<Listener<string>>()
const ended = new Set<Listener<EndedStatement>>()

/** Calls `listener` with the text of each statement that this process sends, until the returned function is called. */
export function onStatement(listener: Listener<string>): () => void {
  begun.add(listener)
  return () => begun.delete(listener)
}

/** Calls `listener` after each statement of this process, until the returned function is called. */
export function onStatementEnd(listener: Listener<EndedStatement>): () => void {
  ended.add(listener)
  return () => ended.delete(listener)
}

/** Reports a statement that is sent now. The returned function reports its end; null where there is no listener for that. */
export function tellStatement(text: string, name: string | undefined): (() => void) | null {
  for (const listener of begun) listener(text)
  if (ended.size === 0) return null
  const at = performance.now()
  return () => {
    const duration = performance.now() - at
    for (const listener of ended) listener({ text, name, duration })
  }
}

/** A short name with few different values: the name of the statement, or its first words. */
export function summaryOf(text: string, name: string | undefined): string {
  return name ?? text.trimStart().split(/\s+/, 2).join(' ').slice(0, 60)
}

/** The data of a statement for a trace: its text, without parameters. */
export function statementSpan(text: string, name: string | undefined): SpanFacts {
  const summary = summaryOf(text, name)
  return {
    name: summary,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.query.summary': summary,
      'db.query.text': text.slice(0, 4000),
    },
  }
}
