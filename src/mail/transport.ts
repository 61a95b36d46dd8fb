import { Socket } from 'node:net'
import type { BaseConfig } from '../config/service.ts'
import type { OutgoingLimits } from '../platform/outgoing/limits.ts'
import { opened, type Secret } from '../platform/secrets/sealed-texts.ts'

type Server = BaseConfig['email_server']

/** A message for SMTP. */
export interface Message {
  from: string
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  subject: string
  text: string
  html: string | undefined
  messageId: string
  attachments?: readonly Attachment[]
}

export interface Attachment {
  readonly filename: string
  readonly contentType: string
  readonly content: Buffer
}

/** Sends a message to the configured server. One connection per message: mail is rare, and servers hang up. */
export async function deliver(server: Server, message: Message, limits: OutgoingLimits): Promise<void> {
  // Loaded with the first mail: many processes never send any.
  const { createTransport } = await import('nodemailer')
  const socket = new Socket()
  const transport = createTransport({ ...transportOptions(server), socket, maxResponseSize: limits.answer })
  const late = setTimeout(
    () => socket.destroy(new Error(`the mail server takes more than ${limits.time} ms`)),
    limits.time,
  )
  try {
    await transport.sendMail({
      ...message,
      attachments: [...(message.attachments ?? [])],
      ...recipients(message),
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  } finally {
    clearTimeout(late)
    socket.destroy()
    transport.close()
  }
}

/** As separate addresses, never as header text, in which a comma, a comment or a name has a meaning. */
function recipients({ from, to, cc, bcc }: Message) {
  const addressed = (addresses: readonly string[]) => addresses.map((address) => ({ name: '', address }))
  return {
    from: { name: '', address: from },
    to: addressed(to),
    cc: addressed(cc),
    bcc: addressed(bcc),
    envelope: { from, to: [...to, ...cc, ...bcc] },
  }
}

function transportOptions(server: Server) {
  const separator = server.server_addr.lastIndexOf(':')
  return {
    host: server.server_addr.slice(0, separator),
    port: Number(server.server_addr.slice(separator + 1)),
    secure: server.type === 'tls',
    requireTLS: server.type === 'starttls',
    ignoreTLS: server.type === 'off',
    tls: { rejectUnauthorized: !server.insecure_skip_verify },
    ...(server.helo_domain === '' ? {} : { name: server.helo_domain }),
    connectionTimeout: 15_000,
    greetingTimeout: 15_000,
    socketTimeout: 60_000,
    ...authOptions(server),
  }
}

/** At most one way to sign in is configured. */
function authOptions({ plain_auth: plain, login_auth: login, cram_md5_auth: cramMd5 }: Server) {
  if (cramMd5.username !== '') return nativeAuth('CRAM-MD5', cramMd5)
  if (login.username !== '') return nativeAuth('LOGIN', login)
  if (plain.username === '') return {}
  return plain.identity === '' ? nativeAuth('PLAIN', plain) : actingAuth(plain.identity, plain)
}

interface Credentials {
  username: string
  password: Secret
}

function nativeAuth(authMethod: string, { username, password }: Credentials) {
  return { authMethod, auth: { user: username, pass: passwordOf(password) } }
}

const passwordOf = (password: Secret): string => opened(password, 'The password of the mail server')

interface AuthSession {
  sendCommand(command: string): Promise<{ status: number; text: string }>
}

/** PLAIN on behalf of another identity (RFC 4616), which the library leaves out. */
function actingAuth(identity: string, { username, password: stored }: Credentials) {
  const password = passwordOf(stored)
  const response = Buffer.from(`${identity}\0${username}\0${password}`).toString('base64')
  return {
    auth: { type: 'custom' as const, method: 'PLAIN-IDENTITY', user: username, pass: password },
    customAuth: {
      'PLAIN-IDENTITY': async (session: AuthSession): Promise<boolean> => {
        const { status, text } = await session.sendCommand(`AUTH PLAIN ${response}`)
        if (status < 200 || status >= 300) throw new Error(`the mail server refuses the sign-in: ${text}`)
        return true
      },
    },
  }
}
