/**
 * Mail: queued with the change that is its cause, sent by a job, logged as sent or failed.
 */

import type { BaseConfigService } from '../config/service.ts'
import type { EventLog } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import { AppError } from '../platform/errors.ts'
import type { OutgoingLimits } from '../platform/outgoing/limits.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import type { Seal } from '../platform/secrets/seal.ts'
import { withoutSecrets } from '../platform/secrets/secret-forms.ts'
import { textIn } from '../platform/values/localized.ts'
import { mailboxOf } from '../platform/values/mailbox.ts'
import { escapeMarkup } from '../platform/values/markup.ts'
import { createBatches, type FindReaders } from './batches.ts'
import type { Mail, WrittenMail } from './model.ts'
import { type Attachment, deliver } from './transport.ts'

export type { WaitingMail } from './batches.ts'
export type { Mail } from './model.ts'
export { createMailQuota, type MailQuota } from './quota.ts'

export interface MailOptions {
  db: Db
  seal: Pick<Seal, 'seal' | 'open'>
  jobs: Pick<Jobs, 'enqueueAll' | 'register'>
  events: EventLog
  baseConfig: Pick<BaseConfigService, 'get'>
  /** Address of this service, for message ids. */
  externalUrl: string
  readers: FindReaders
  limits: OutgoingLimits
}

export type MailService = ReturnType<typeof createMailService>

const job = 'mail.send'
const attempts = 10
/** The purpose under which mails are sealed. */
const about = 'queued mail'

type Content = Pick<Mail, 'subject' | 'text' | 'html' | 'secret'>

/** A mail in the queue. */
type QueuedMail = Omit<Mail, keyof Content> & Partial<Content> & { readonly sealed?: string }

/** A failure for which another attempt does not help. */
class Undeliverable extends Error {}

export function createMailService({ db, seal, jobs, events, baseConfig, externalUrl, readers, limits }: MailOptions) {
  jobs.register<QueuedMail>(job, async (queued, { jobId }) => {
    let mail: Mail = { ...queued, subject: '', text: '' }
    try {
      mail = await unsealed(queued)
      await send(mail, jobId)
    } catch (error) {
      const info = { ...logged(mail), Error: withoutSecrets(passwords())(messageOf(error)) }
      await events.append(db, [{ type: 'EMAIL_SENT_FAILED', actor: null, info }])
      if (!isFinal(error)) throw error
      return
    }
    await events.append(db, [{ type: 'EMAIL_SENT', actor: null, info: logged(mail) }])
  })

  /** A server may quote what it received when it refuses it. */
  function passwords(): string[] {
    const { plain_auth, login_auth, cram_md5_auth } = baseConfig.get().email_server
    return [plain_auth, login_auth, cram_md5_auth].flatMap(({ password }) =>
      typeof password === 'string' ? password : [],
    )
  }

  async function send(mail: Mail, jobId: number): Promise<void> {
    const { email, server } = configured()
    if (mail.to.length === 0) throw new Undeliverable('the mail has no recipient')
    const signature = textIn(email.signature, mail.languages)
    const message = {
      from: addressed(email.from),
      to: mail.to.map(addressed),
      cc: (mail.cc ?? []).map(addressed),
      bcc: (mail.bcc ?? []).map(addressed),
      subject: mail.subject,
      text: signature === '' ? mail.text : `${mail.text}\n\n-- \n${signature}`,
      html: mail.html === undefined ? undefined : mail.html + htmlSignature(signature),
      // The same for every attempt, so that a mail that was sent twice by accident can be recognized.
      messageId: `<job-${jobId}@${new URL(externalUrl).hostname}>`,
    }
    await deliver(server, message, limits)
  }

  /** @throws {Undeliverable} */
  function configured() {
    const { email, email_server: server } = baseConfig.get()
    if (server.server_addr === '') throw new Undeliverable('no mail server is configured')
    if (email.from === '') throw new Undeliverable('no sender is configured')
    return { email, server }
  }

  /**
   * Sends a mail that a user has written to the mail server, and waits for its answer: no second attempt, since the sender gets the
   * error. @throws {AppError} `EmailSent` with the answer of the server.
   */
  async function sendNow(mail: WrittenMail, cause: Readonly<Record<string, unknown>>): Promise<void> {
    const { template, from, attachments } = mail
    const info = { ...logged({ ...mail, cause }), Attachments: attachments.map(describeAttachment) }
    const messageId = `<${crypto.randomUUID()}@${new URL(externalUrl).hostname}>`
    try {
      const { email, server } = configured()
      const { to, cc, bcc, subject, text, html } = mail
      const message = { to, cc, bcc, subject, text, html, attachments, messageId, from: from ?? addressed(email.from) }
      await deliver(server, message, limits)
    } catch (error) {
      await events.append(db, [{ type: 'EMAIL_SENT_FAILED', actor: null, info: { ...info, Error: messageOf(error) } }])
      const why = error instanceof Undeliverable ? error.message : 'the mail server did not take it'
      throw new AppError(
        'EmailSent',
        { template, reason: why },
        { message: `The mail could not be sent: ${why}.`, cause: error },
      )
    }
    await events.append(db, [{ type: 'EMAIL_SENT', actor: null, info }])
  }

  /** @throws {Undeliverable} when no key here opens it. */
  async function unsealed({ sealed, ...open }: QueuedMail): Promise<Mail> {
    // A mail that an earlier release has queued.
    if (sealed === undefined) return open as Mail
    const content = await seal.open(Buffer.from(sealed, 'base64url'), about)
    if (!content) throw new Undeliverable('what the mail says is sealed with a key that is not here')
    return { ...open, ...(JSON.parse(content.toString()) as Content) }
  }

  async function queued({ subject, text, html, secret, ...open }: Mail): Promise<QueuedMail> {
    const content: Content = { subject, text, ...(html === undefined ? {} : { html }), ...(secret ? { secret } : {}) }
    return { ...open, sealed: (await seal.seal(Buffer.from(JSON.stringify(content)), about)).toString('base64url') }
  }

  /** Queues mails in the caller's transaction. Their content may open an account, so it is sealed while it waits. */
  async function queue(tx: Tx, mails: readonly (Mail & { readonly key?: string })[]): Promise<void> {
    const jobOf = async ({ key, ...mail }: (typeof mails)[number]) => {
      return { name: job, payload: await queued(mail), maxAttempts: attempts, ...(key ? { key } : {}) }
    }
    await jobs.enqueueAll(tx, await Promise.all(mails.map(jobOf)))
  }

  /** Informs the administrators (`email.admin_emails`) of a problem; without a mail server nobody is informed. */
  const alarm = (subject: string, text: string): Promise<void> => db.transaction((tx) => alarmWithin(tx, subject, text))

  async function alarmWithin(tx: Tx, subject: string, text: string): Promise<void> {
    const { admin_emails: admins, from } = baseConfig.get().email
    if (admins.length === 0 || from === '' || baseConfig.get().email_server.server_addr === '') return
    const { host } = new URL(externalUrl)
    const mails = admins.map(
      ({ email }): Mail => ({
        template: 'alarm',
        to: [email],
        subject: `${host}: ${subject}`,
        text,
        languages: ['en-US'],
      }),
    )
    await queue(tx, mails)
  }

  const batches = createBatches({
    db,
    jobs,
    readers,
    send: queue,
    active: () => baseConfig.get().notification_scheduler.active,
    async onFailure(error) {
      await events.append(db, [{ type: 'NOTIFICATION_SCHEDULER_FAILED', actor: null, info: { Error: error.message } }])
    },
  })
  return {
    alarm,
    alarmWithin,
    sendNow,
    sender: () => baseConfig.get().email.from,
    /** Whether mail can be sent at all. */
    isConfigured: () => baseConfig.get().email.from !== '' && baseConfig.get().email_server.server_addr !== '',
    send: queue,
    sendWhenWanted: batches.sendWhenWanted,
  }
}

/** Keys of EMAIL_SENT and EMAIL_SENT_FAILED (specification, Events). */
function logged(mail: Omit<Mail, 'languages' | 'text'>): Record<string, unknown> {
  return {
    Template: mail.template,
    To: mail.to,
    Cc: mail.cc ?? [],
    Bcc: mail.bcc ?? [],
    Subject: mail.secret ? withoutSecrets([mail.secret])(mail.subject) : mail.subject,
    Attachments: [],
    ...mail.cause,
  }
}

function describeAttachment({ filename, contentType, content }: Attachment) {
  return { ContentType: contentType, Filename: filename, Size: content.length, Filesize: content.length }
}

/** A value that was stored before addresses were checked like this may be no address. */
function addressed(text: string): string {
  const mailbox = mailboxOf(text)
  if (mailbox === null) throw new Undeliverable(`${JSON.stringify(text)} is no mail address`)
  return mailbox
}

function isFinal(error: unknown): boolean {
  if (error instanceof Undeliverable) return true
  // 5yz: the server will not accept this message (RFC 5321 section 4.2.1); a failed sign-in may be corrected.
  const { responseCode, code } = error as { responseCode?: number; code?: string }
  return responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function htmlSignature(signature: string): string {
  if (signature === '') return ''
  return `<p style="white-space: pre-line">-- \n${escapeMarkup(signature)}</p>`
}
