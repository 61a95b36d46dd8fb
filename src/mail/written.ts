import { badRequest } from '../platform/errors.ts'
import { isMailbox } from '../platform/values/mailbox.ts'
import type { WrittenMail } from './model.ts'
import type { MailInput } from './schema.ts'
import type { Attachment } from './transport.ts'

const mostRecipients = 100
const mostAttached = 10_000_000

/** A mail in the form of the request, checked for everything that could be misread in its headers. */
export function writtenMail(input: MailInput): WrittenMail {
  const { from, to = [], cc = [], bcc = [], subject = '', text = '', html, attachments = [] } = input
  const recipients = { to: addresses(to, 'to'), cc: addresses(cc, 'cc'), bcc: addresses(bcc, 'bcc') }
  const count = to.length + cc.length + bcc.length
  if (count === 0) throw badRequest('The mail has no recipient', { name: 'to' })
  if (count > mostRecipients) throw badRequest(`A mail has at most ${mostRecipients} recipients`, { name: 'to' })
  if (text === '' && (html ?? '') === '') throw badRequest('The mail needs text or html', { name: 'text' })
  assertLine(subject, 'subject')
  const files = attachments.map(attachment)
  const size = files.reduce((sum, { content }) => sum + content.length, 0)
  if (size > mostAttached)
    throw badRequest(`A mail has at most ${mostAttached} bytes attached`, { name: 'attachments' })
  return {
    template: 'sendmail',
    from: from === undefined || from === '' ? undefined : address(from, 'from'),
    ...recipients,
    subject,
    text,
    html: html === '' ? undefined : html,
    attachments: files,
  }
}

function addresses(list: readonly string[], name: string): readonly string[] {
  return list.map((text, index) => address(text, `${name}.${index}`))
}

export function address(text: string, name: string): string {
  if (isMailbox(text)) return text
  throw badRequest(`${name} is no mail address`, { name })
}

function attachment(input: NonNullable<MailInput['attachments']>[number], index: number): Attachment {
  const place = `attachments.${index}`
  const { filename, bytes } = input
  const contentType = input['content-type'] || 'application/octet-stream'
  assertLine(filename, `${place}.filename`)
  if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; *charset=[\w-]+)?$/.test(contentType)) {
    const name = `${place}.content-type`
    throw badRequest(`${name} is no media type`, { name })
  }
  if (bytes.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(bytes)) {
    const name = `${place}.bytes`
    throw badRequest(`${name} is not base64`, { name })
  }
  return { filename, contentType, content: Buffer.from(bytes, 'base64') }
}

/** Checks text for a header: one line, without characters that cannot be sent. */
function assertLine(text: string, name: string): void {
  if (!text.isWellFormed() || /[\u0000-\u001f\u007f\u2028\u2029]/.test(text)) {
    throw badRequest(`${name} must be one line of text`, { name })
  }
}
