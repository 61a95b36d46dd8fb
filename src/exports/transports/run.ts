/** Brings what a run has made to where its transports say, and tells people of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Mail } from '../../mail/service.ts'
import { type AddressRules, RefusedAddress } from '../../platform/outgoing/addresses.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { withoutSecrets } from '../../platform/secrets/secret-forms.ts'
import { scrubText } from '../../platform/secrets/secrets.ts'
import { withoutEnds } from '../../platform/values/text.ts'
import { archiveOf, archives } from '../deliver/archive.ts'
import type { Deliveries, Fetched } from '../deliver/service.ts'
import { about } from '../log.ts'
import type { Recipient, StoredTransport } from '../model.ts'
import { transportUrl } from '../render.ts'
import { inRun } from '../run/list.ts'
import type { Done, Running } from '../run/model.ts'
import { RunOver } from '../run/over.ts'
import { openedOptions } from './draft.ts'
import { sendByFtp } from './ftp.ts'
import { sendByHttp, sendByWebdav } from './http.ts'
import { exportMail } from './mail.ts'
import { isSecret, type Options, packerOf, type TransportType, typeOf } from './options.ts'
import type { Parcel, Send } from './parcel.ts'
import { sendByS3 } from './s3.ts'
import { sendBySftp } from './sftp.ts'

export interface TransportDeps {
  readonly db: Db
  readonly events: EventLog
  readonly seal: Pick<Seal, 'open'>
  readonly deliveries: Pick<Deliveries, 'entriesOf'>
  readonly rules: AddressRules
  /** Milliseconds that the other side has for an answer. */
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
  /** Milliseconds between two attempts; as many attempts and one. */
  readonly pauses?: readonly number[]
}

export interface TransportRunner {
  /** The next transport of a run that has made everything. */
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
    // Of a run that found nothing nobody is told.
    if (!transport || run.total === 0) return { step: 'over', position: run.position }
    await inRun(deps, run.id, async (tx) => {
      await events.append(tx, [{ ...about(actor, stored), type: 'EXPORT_TRANSPORT', info: { state: stored.state } }])
    })
    const options = await openedOptions(seal, transport)
    const outcome = await attempt(running, transport, options, signal)
    const shown = { type: options ? typeOf(options) : '', plugin: transport.plugin, uuid: masked(transport.uuid) }
    return {
      step: 'transport',
      position: run.position + 1,
      warnings: outcome.error === null ? [] : [`transport ${run.position + 1} (${shown.type}): ${outcome.error}`],
      async write(tx) {
        const told =
          outcome.error === null ? await sendMails(tx, running, transport, options ?? {}) : { sent: [], problem: null }
        const info = {
          transport: shown,
          transport_state: outcome.error === null ? 'done' : 'failed',
          transport_log: outcome.log,
          email_sent_to: told.sent,
          ...(told.problem === null ? {} : { email_sent_error: told.problem }),
        }
        const failed: Partial<NewEvent> = { type: 'EXPORT_TRANSPORT_FAILED', info: { ...info, error: outcome.error } }
        const event = { ...about(actor, stored), type: 'EXPORT_TRANSPORT_FINISH' as const, info }
        await events.append(tx, [outcome.error === null ? event : { ...event, ...failed }])
      },
    }
  }

  /** Tries again what fails, until it was tried often enough. */
  async function attempt(running: Running, transport: StoredTransport, options: Options | null, signal: AbortSignal) {
    if (!options) return { log: [], error: 'its options are sealed with a key that is not here' }
    if (transport.plugin !== '') return { log: [], error: 'the plugin is not there any more' }
    const type = typeOf(options)
    if (type === 'download' || type === 'email') return { log: [], error: null }
    const hide = withoutSecrets(secretsOf(options))
    const log: string[] = []
    for (const pause of [...pauses, null]) {
      try {
        const lines = await sendOnce(running, options, senders[type], signal)
        return { log: [...log, ...lines].map(hide), error: null }
      } catch (error) {
        if (signal.aborted || error instanceof RunOver) throw error
        const message = hide(scrubText((error as Error).message || 'it broke off')).slice(0, 1000)
        log.push(message)
        // An address that is not allowed will not be.
        if (pause === null || error instanceof RefusedAddress) return { log, error: message }
        // Stopped meanwhile, it is not tried again.
        await inRun(deps, running.run.id, async () => {})
        await sleep(pause, undefined, { signal })
      }
    }
    return { log, error: 'it was not tried' }
  }

  async function sendOnce({ stored, run, actor }: Running, options: Options, send: Send, signal: AbortSignal) {
    const stop = new AbortController()
    const given = AbortSignal.any([signal, stop.signal])
    const from: Fetched = { stored, runId: run.id, owner: actor, caller: actor }
    const packer = packerOf(options)
    const kind = packer === 'files' ? 'zip' : packer
    const { extension, contentType } = archives[kind]
    const entries = () => deps.deliveries.entriesOf(from, '', given)
    const parcel: Parcel = {
      options,
      name: packer === 'files' ? fileName(stored.name, stored.id) : `${fileName(stored.name, stored.id)}.${extension}`,
      contentType,
      archive: () => archiveOf(kind, entries()),
      entries,
      rules: deps.rules,
      patience: deps.patience,
      signal: given,
    }
    try {
      return await send(parcel)
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

/** The log does not say what opens the result. */
const masked = (uuid: string): string => `${uuid.slice(0, 8)}…`

function secretsOf(options: Options): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    isSecret(name) && typeof value === 'string' && value !== '' ? [value] : [],
  )
}

/** A name that is safe at any server. */
function fileName(name: string, id: number): string {
  const safe = name.normalize('NFC').replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
  const plain = withoutEnds(safe, '._').slice(0, 100)
  return plain === '' ? `export-${id}` : plain
}
