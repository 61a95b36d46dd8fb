/** Sends spans to a collector, by OTLP over HTTP (opentelemetry.io/docs/specs/otlp). */
import { type Context, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { OpenSpan, SpanFacts, Tracer } from './spans.ts'

export interface OtlpOptions {
  /** Address of the collector, without `/v1/traces`. */
  readonly endpoint: string
  /** Share of the traces that are kept, 0 to 1. */
  readonly ratio: number
  readonly version: string
  readonly onTrouble: (reason: string) => void
}

export interface OtlpTracer extends Tracer {
  /** Sends the remaining spans. */
  close(): Promise<void>
}

/** Maximum number of spans that wait to be sent; further ones are dropped. */
const mostWaiting = 8192

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER } as const

interface KnownSpan extends OpenSpan {
  readonly context: Context
}

export function openOtlpTracer({ endpoint, ratio, version, onTrouble }: OtlpOptions): OtlpTracer {
  const ignore = (): void => {}
  diag.setLogger({ error: onTrouble, warn: onTrouble, info: ignore, debug: ignore, verbose: ignore })
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: 3000 })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'strongroom', 'service.version': version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: mostWaiting })],
  })
  const tracer = provider.getTracer('strongroom', version)
  return {
    begin({ name, kind, attributes, caller }: SpanFacts, parent): KnownSpan {
      const above = parent ? (parent as KnownSpan).context : callerContext(caller)
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: { ...attributes } }, above)
      return {
        context: trace.setSpan(ROOT_CONTEXT, span),
        set: (more) => void span.setAttributes({ ...more }),
        fail(reason) {
          span.setStatus({ code: SpanStatusCode.ERROR })
          span.setAttribute('error.type', reason)
        },
        end: () => span.end(),
      }
    },
    async close() {
      try {
        await provider.shutdown()
      } finally {
        diag.disable()
      }
    },
  }
}

const traceparent = /^00-(?<traceId>(?!0{32})[0-9a-f]{32})-(?<spanId>(?!0{16})[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/

function callerContext(caller: string | undefined): Context {
  const said = caller === undefined ? null : traceparent.exec(caller)
  if (!said?.groups) return ROOT_CONTEXT
  const { traceId = '', spanId = '', flags = '' } = said.groups
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  })
}
