/** Sends the result of a run to the targets of its transports, and notifies recipients by mail. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Mail } from '../../mail/service.ts'
import { type AddressRules, RefusedAddress } from '../../platform/outgoing/addresses.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { withoutSecrets } from '../../platform/secrets/secret-forms.ts'
import { scrubText } from '../../platform/secrets/secrets.ts'
import { archiveOf, archives } from '../deliver/archive.ts'
import type { Fetched } from '../deliver/model.ts'
import type { Deliveries } from '../deliver/service.ts'
import { about } from '../log.ts'
import type { Recipient, StoredTransport } from '../model.ts'
import { archiveName, transportUrl } from '../render.ts'
import { inRun, whileRunning } from '../run/hold.ts'
import type { Done, Running } from '../run/model.ts'
import { RunOver } from '../run/over.ts'
import { openedOptions } from './draft.ts'
import { sendByFtp } from './ftp.ts'
import { sendByHttp, sendByWebdav } from './http.ts'
import { exportMail } from './mail.ts'
import { isSecret, type Options, packageOf, packerOf, type TransportType, typeOf } from './options.ts'
import type { Parcel, Send } from './parcel.ts'
import { type PluginTransportDeps, sendByPlugin, type TransportOutcome } from './plugin.ts'
import { sendByS3 } from './s3.ts'
import { sendBySftp } from './sftp.ts'

export interface TransportDeps extends PluginTransportDeps {
  readonly db: Db
  readonly events: EventLog
  readonly seal: Pick<Seal, 'open'>
  readonly deliveries: Pick<Deliveries, 'entriesOf' | 'packageOf'>
  readonly rules: AddressRules
  /** Milliseconds that the other side may take for an answer. */
  readonly patience: number
  readonly externalUrl: string
  readonly mail: {
    isConfigured(): boolean
    send(tx: Tx, mails: readonly (Mail & { readonly key: string })[]): Promise<void>
  }
  readonly recipients: (
    from: Queryable,
    people: readonly Recipient[],
  ) => Promise<readonly { readonly userId: number; readonly email: string; readonly languages: readonly string[] }[]>
  readonly instanceName: () => string
  /** Milliseconds between two attempts; there is one attempt more than pauses. */
  readonly pauses?: readonly number[]
}

export interface TransportRunner {
  /** The next transport of a run that has made all its files. */
  next(running: Running, signal: AbortSignal): Promise<Done>
}

const senders: Readonly<Record<Exclude<TransportType, 'download' | 'email'>, Send>> = {
  http: sendByHttp,
  webdav: sendByWebdav,
  ftp: sendByFtp,
  sftp: sendBySftp,
  s3: sendByS3,
}

export function createTransports(deps: TransportDeps): TransportRunner {
  const { events, seal } = deps
  const pauses = deps.pauses ?? [1000, 5000]

  async function next(running: Running, signal: AbortSignal): Promise<Done> {
    const { stored, run, actor } = running
    const transport = stored.transports[run.position]
    // A run without results sends no notice.
    if (!transport || run.total === 0) return { step: 'over', position: run.position }
    await inRun(deps, run, async (tx) => {
      await events.append(tx, [{ ...about(actor, stored), type: 'EXPORT_TRANSPORT', info: { state: stored.state } }])
    })
    const options = await openedOptions(seal, transport)
    const outcome = await attempt(running, transport, options, signal)
    const type = options && transport.plugin === '' ? typeOf(options) : ''
    const shown = { type, plugin: transport.plugin, uuid: masked(transport.uuid) }
    const problem = outcome.error ?? (outcome.state === 'done' ? null : 'it has warnings, which are in its log')
    return {
      step: 'transport',
      position: run.position + 1,
      warnings: problem === null ? [] : [`transport ${run.position + 1} (${type || transport.plugin}): ${problem}`],
      async write(tx) {
        const told =
          outcome.error === null ? await sendMails(tx, running, transport, options ?? {}) : { sent: [], problem: null }
        const info = {
          transport: shown,
          transport_state: outcome.state,
          transport_log: outcome.log,
          email_sent_to: told.sent,
          ...(told.problem === null ? {} : { email_sent_error: told.problem }),
        }
        const failure: Partial<NewEvent> = { type: 'EXPORT_TRANSPORT_FAILED', info: { ...info, error: outcome.error } }
        const event = { ...about(actor, stored), type: 'EXPORT_TRANSPORT_FINISH' as const, info }
        await events.append(tx, [outcome.error === null ? event : { ...event, ...failure }])
      },
    }
  }

  /** Tries again after a failure, up to a number of times; a plugin is called once. */
  async function attempt(
    running: Running,
    transport: StoredTransport,
    options: Options | null,
    signal: AbortSignal,
  ): Promise<TransportOutcome> {
    if (!options) return failed([], 'its options are sealed with a key that is not here')
    if (transport.plugin !== '') return byPlugin(running, transport, options, signal)
    const type = typeOf(options)
    if (type === 'download' || type === 'email') return { log: [], state: 'done', error: null }
    const hide = withoutSecrets(secretsOf(options))
    const log: string[] = []
    for (const pause of [...pauses, null]) {
      try {
        const lines = await sendOnce(running, options, senders[type], signal)
        return { log: [...log, ...lines].map(hide), state: 'done', error: null }
      } catch (error) {
        if (signal.aborted || error instanceof RunOver) throw error
        const message = hide(scrubText((error as Error).message || 'it broke off')).slice(0, 1000)
        log.push(message)
        // Trying again cannot help for a refused address.
        if (pause === null || error instanceof RefusedAddress) return failed(log, message)
        // If the run was stopped meanwhile, it is not tried again.
        await inRun(deps, running.run, async () => {})
        await sleep(pause, undefined, { signal })
      }
    }
    return failed(log, 'it was not tried')
  }

  async function byPlugin(running: Running, transport: StoredTransport, options: Options, signal: AbortSignal) {
    using going = whileRunning(deps, running.run, signal)
    const secrets = secretsOf(options)
    const url = transportUrl(deps.externalUrl, running.stored.id, transport, options)
    const hide = withoutSecrets(secrets)
    try {
      const { log, state, error } = await sendByPlugin(
        deps,
        running,
        { transport, options, url, secrets },
        going.signal,
      )
      return { log: log.map(hide), state, error: error === null ? null : hide(error) }
    } catch (error) {
      going.assertGoesOn()
      throw error
    }
  }

  async function sendOnce({ stored, run, actor }: Running, options: Options, send: Send, signal: AbortSignal) {
    using going = whileRunning(deps, run, signal)
    const stop = new AbortController()
    const given = AbortSignal.any([going.signal, stop.signal])
    const from: Fetched = { stored, runId: run.id, owner: actor, caller: actor }
    const packer = packerOf(options)
    const kind = packer === 'files' ? 'zip' : packer
    const { extension, contentType } = archives[kind]
    const packed = packageOf(options)
    const entries = () =>
      packed
        ? deps.deliveries.packageOf(
            from,
            { kind: packed, folder: packer === 'files' ? null : archiveName(stored) },
            given,
          )
        : deps.deliveries.entriesOf(from, '', given)
    const parcel: Parcel = {
      options,
      name: packer === 'files' ? archiveName(stored) : `${archiveName(stored)}.${extension}`,
      contentType,
      archive: () => archiveOf(kind, entries()),
      entries,
      rules: deps.rules,
      patience: deps.patience,
      signal: given,
    }
    try {
      return await send(parcel)
    } catch (error) {
      going.assertGoesOn()
      throw error
    } finally {
      stop.abort(new Error('the transport is over'))
    }
  }

  /** Queues mails to all recipients with the address of the result. */
  async function sendMails(tx: Tx, { stored, run }: Running, transport: StoredTransport, options: Options) {
    const { email } = transport
    if (!email || email.recipients.length === 0) return { sent: [] as string[], problem: null }
    if (!deps.mail.isConfigured()) return { sent: [], problem: 'no mail server or no sender is configured' }
    const url = transportUrl(deps.externalUrl, stored.id, transport, options)
    const readers = new Map((await deps.recipients(tx, email.recipients)).map((reader) => [reader.userId, reader]))
    const mails = [...readers.values()].map((reader) => ({
      ...exportMail({
        name: stored.name,
        message: email.message,
        url,
        instance: deps.instanceName(),
        languages: reader.languages,
      }),
      to: [reader.email],
      languages: reader.languages,
      key: `export:${run.id}:${run.position}:${reader.userId}`,
    }))
    await deps.mail.send(tx, mails)
    return { sent: mails.flatMap(({ to }) => to), problem: null }
  }

  return { next }
}

const failed = (log: readonly string[], error: string): TransportOutcome => ({ log, state: 'failed', error })

/** The uuid opens the result, so the log has only its beginning. */
const masked = (uuid: string): string => `${uuid.slice(0, 8)}…`

function secretsOf(options: Options): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    isSecret(name) && typeof value === 'string' && value !== '' ? [value] : [],
  )
}
