import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and body as they came. */
  readonly data: string
}

export interface MailServer extends AsyncDisposable {
  readonly address: string
  readonly mails: ReceivedMail[]
  /** Sign-ins, as they were sent. */
  readonly signIns: string[]
  /** Answers to RCPT; 250 when it gives nothing. */
  refuse: ((recipient: string) => string | undefined) | null
}

/** A mail server that takes everything and keeps it: SMTP (RFC 5321) as far as a client needs it. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const signIns: string[] = []
  const server: { refuse: MailServer['refuse'] } = { refuse: null }
  const sockets = new Set<Socket>()
  const net = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    void serve(socket, mails, signIns, (recipient) => server.refuse?.(recipient))
  })
  await new Promise<void>((resolve) => net.listen(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${(net.address() as AddressInfo).port}`,
    mails,
    signIns,
    get refuse() {
      return server.refuse
    },
    set refuse(value) {
      server.refuse = value
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => net.close(resolve))
    },
  }
}

async function serve(
  socket: Socket,
  mails: ReceivedMail[],
  signIns: string[],
  refuse: (recipient: string) => string | undefined,
): Promise<void> {
  const say = (line: string): void => void socket.write(`${line}\r\n`)
  let from = ''
  let to: string[] = []
  let data: string[] | null = null
  say('220 test ESMTP')
  for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (data) {
      if (line !== '.') {
        data.push(line)
        continue
      }
      mails.push({ from, to, data: data.join('\n') })
      data = null
      to = []
      say('250 kept')
      continue
    }
    const command = line.slice(0, 4).toUpperCase()
    if (command === 'EHLO') say('250-test\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME')
    else if (command === 'AUTH') {
      signIns.push(line)
      say('235 welcome')
    } else if (command === 'MAIL') {
      from = addressIn(line)
      say('250 ok')
    } else if (command === 'RCPT') {
      const refusal = refuse(addressIn(line))
      if (refusal === undefined) to.push(addressIn(line))
      say(refusal ?? '250 ok')
    } else if (command === 'DATA') {
      data = []
      say('354 go on')
    } else if (command === 'QUIT') {
      say('221 bye')
      socket.end()
    } else say('250 ok')
  }
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? ''
}
