import assert from 'node:assert/strict'
import { type MailServer, type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { startService, type TestService } from '../support/service.ts'

export interface PostedService extends AsyncDisposable {
  readonly svc: TestService
  readonly server: MailServer
  /** Mails to an address, oldest first, once all jobs are done. */
  mailsTo(address: string): Promise<ReceivedMail[]>
}

/** A service that sends its mail to a server of the test. */
export async function startWithMail(): Promise<PostedService> {
  const server = await startMailServer()
  const svc = await startService()
  const root = svc.as('root')
  for (const [path, value] of [
    ['email/from', 'museum@example.org'],
    ['email_server', { server_addr: server.address, type: 'off' }],
    ['name/title', { 'en-US': 'Museum', 'de-DE': 'Haus' }],
  ] as const) {
    assert.equal((await root.post(`/config/system/config/${path}`, value)).status, 200)
  }
  return {
    svc,
    server,
    async mailsTo(address) {
      await svc.drain()
      const wanted = address.toLowerCase()
      return server.mails.filter(({ to }) => to.some((one) => one.toLowerCase() === wanted))
    },
    async [Symbol.asyncDispose]() {
      await svc[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** The text of a mail: quoted-printable or base64 undone. */
export function textOf({ data }: ReceivedMail): string {
  const [head = '', ...body] = data.split('\n\n')
  const text = body.join('\n\n')
  if (/^content-transfer-encoding: base64/im.test(head)) return Buffer.from(text, 'base64').toString()
  if (!/^content-transfer-encoding: quoted-printable/im.test(head)) return text
  const bytes = text
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

/** The link in a mail, as a path of the service. */
export function linkOf(mail: ReceivedMail | undefined): string {
  const [link] =
    (mail ? textOf(mail) : '').match(/http:\/\/localhost:8080\/\S+/g)?.filter((one) => one.includes('token=')) ?? []
  assert.ok(link, 'there is no link')
  return link.slice('http://localhost:8080'.length)
}
