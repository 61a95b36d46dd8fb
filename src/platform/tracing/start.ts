import { isInstalled } from '../process/optional-packages.ts'
import { useTracer } from './spans.ts'

/** Additional packages that are needed to send spans. */
export const tracingPackages = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const

export interface TracingOptions {
  readonly endpoint: string
  readonly ratio: number
  readonly version: string
  /** Called when spans cannot be sent; they are lost. */
  readonly onTrouble: (reason: string) => void
}

/**
 * Spans are sent from now on. The returned function stops this, and sends the remaining spans.
 * @throws {Error} whose message is one readable line, when a package is missing
 */
export async function startTracing(options: TracingOptions): Promise<() => Promise<void>> {
  const missing = tracingPackages.filter((name) => !isInstalled(name))
  if (missing.length > 0)
    throw new Error(`SVC_TRACING_ENDPOINT needs packages that are not installed: npm install ${missing.join(' ')}`)
  const { openOtlpTracer } = await import('./otlp.ts')
  const tracer = openOtlpTracer(options)
  const end = useTracer(tracer)
  return async () => {
    end()
    await tracer.close().catch((error: Error) => options.onTrouble(error.message))
  }
}
