/**
 * Spans of the work of the service: one for each request, statement, job and outgoing call. They form a tree that shows where a
 * request spent its time. While tracing is off, no span is created or kept.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export type SpanKind = 'server' | 'client' | 'consumer'

export type Attributes = Readonly<Record<string, string | number>>

export interface SpanFacts {
  /** A name with few different values: `GET /api/v1/db/:objecttype`, never an address or a value. */
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  /** `traceparent` of a trusted caller (W3C Trace Context, 3.2). */
  readonly caller?: string | undefined
}

export interface OpenSpan {
  set(attributes: Attributes): void
  /** The name of the failure: messages may contain values. */
  fail(reason: string): void
  end(): void
}

export interface Tracer {
  /** A span below `parent`, or one that starts a new trace. */
  begin(facts: SpanFacts, parent: OpenSpan | undefined): OpenSpan
}

let tracer: Tracer | null = null
const current = new AsyncLocalStorage<OpenSpan>()

/** Starts creating spans, until the returned function is called. There is one tracer for the process. */
export function useTracer(wanted: Tracer): () => void {
  if (tracer) throw new Error('spans are traced already')
  tracer = wanted
  return () => {
    tracer = null
  }
}

export const isTracing = (): boolean => tracer !== null

/** Does the work within a span, below the current one. */
export async function traced<T>(facts: () => SpanFacts, work: (span?: OpenSpan) => Promise<T>): Promise<T> {
  if (!tracer) return work()
  const span = tracer.begin(facts(), current.getStore())
  try {
    return await current.run(span, () => work(span))
  } catch (error) {
    span.fail(nameOf(error))
    throw error
  } finally {
    span.end()
  }
}

/** A span that the caller ends. */
export function beginSpan(facts: () => SpanFacts): OpenSpan | undefined {
  return tracer?.begin(facts(), current.getStore())
}

/** The calls of `next` are within the span. */
export function withinSpan(span: OpenSpan, next: () => void): void {
  current.run(span, next)
}

function nameOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'Error'
}
