/** Sends a result with a plugin. */
import { CallbackFailed } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import { type ExportPrograms, linesOf, NoPlace } from '../../plugins/service.ts'
import type { StoredTransport } from '../model.ts'
import type { Running } from '../run/model.ts'
import { readState } from '../run/plugin-answer.ts'
import { type DocumentDeps, documentOf } from '../run/plugin-document.ts'
import type { Options } from './options.ts'

export interface PluginTransportDeps extends DocumentDeps {
  readonly plugins: Pick<ExportPrograms, 'ask'>
}

export interface TransportOutcome {
  readonly log: readonly string[]
  readonly state: 'done' | 'done_with_warnings' | 'failed'
  readonly error: string | null
}

export interface PluginTransport {
  readonly transport: StoredTransport
  /** The options with their secrets in plain text. */
  readonly options: Options
  readonly url: string
  readonly secrets: readonly string[]
}

/** Calls the plugin only once: even after a failure it has seen the export. @throws {AppError} where it could not be called */
export async function sendByPlugin(
  deps: PluginTransportDeps,
  { stored, run, actor }: Running,
  { transport: { plugin: name, uuid }, options, url, secrets }: PluginTransport,
  signal: AbortSignal,
): Promise<TransportOutcome> {
  const transport = { plugin: name, options, uuid, external_url: url }
  const document = () => documentOf(deps, { stored, runId: run.id, owner: actor })
  try {
    const body = await deps.plugins.ask('transport', { name, actor, document, transport, secrets, signal })
    const state = readState(body, (text) => new CallbackFailed(text))
    const { _transport_log: log } = body as { readonly _transport_log?: unknown }
    return { log: linesOf(log), state, error: state === 'failed' ? 'it says that it has failed' : null }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof NoPlace) {
      throw new AppError('ServiceUnavailable', {}, { message: `The plugin ${name} ${error.message}`, cause: error })
    }
    if (error instanceof CallbackFailed) return { log: [], state: 'failed', error: error.message }
    throw error
  }
}
