import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A message of PostgreSQL's protocol: its letter, and what it holds. The first one of a client has none. */
interface Message {
  readonly type: string
  readonly body: Buffer
  readonly bytes: Buffer
}

/** What becomes of a message: it goes on, it is lost, or its whole connection is silent from now on. */
type Fate = 'on' | 'lost' | 'silent' | 'on, then silent'

export type Decide = (message: Message) => Fate

export interface Network extends AsyncDisposable {
  /** Connection string of the database behind it. */
  readonly dsn: string
  /** Connections that were opened so far. */
  readonly opened: number
  /** Connections that are there now lose all that is sent over them, without an end; new ones are as before. */
  silence(): void
  /** The same for one direction. */
  silenceAnswers(): void
  /** New connections are accepted, and nothing comes of them. */
  swallow(swallowed: boolean): void
  /** Decides on each message; null: all go on. */
  toServer: Decide | null
  toClient: Decide | null
  /** New connections lead to another database of the same server. */
  lead(dsn: string): void
}

interface Line {
  readonly client: Socket
  readonly server: Socket
  lost: { toServer: boolean; toClient: boolean }
}

/** A network between a service and its database that loses what networks lose. */
export async function startNetwork(dsn: string): Promise<Network> {
  let target = addressOf(dsn)
  let opened = 0
  let swallowing = false
  const lines = new Set<Line>()
  const network = {
    toServer: null as Decide | null,
    toClient: null as Decide | null,
    get opened() {
      return opened
    },
    silence() {
      for (const { lost } of lines) lost.toServer = lost.toClient = true
    },
    silenceAnswers() {
      for (const { lost } of lines) lost.toClient = true
    },
    swallow(swallowed: boolean) {
      swallowing = swallowed
    },
    lead(other: string) {
      target = addressOf(other)
    },
  }
  const listener = createServer((client) => {
    opened++
    const { path, database } = target
    const server = connect(path)
    const line: Line = { client, server, lost: { toServer: swallowing, toClient: swallowing } }
    lines.add(line)
    carry(client, server, line.lost, 'toServer', (message) =>
      message.type === '' ? { ...message, bytes: withDatabase(message.bytes, database) } : message,
    )
    carry(server, client, line.lost, 'toClient', (message) => message)
    client.on('close', () => {
      server.destroy()
      lines.delete(line)
    })
    // The end of what is silent does not come through either.
    server.on('close', () => {
      if (!line.lost.toClient) client.destroy()
    })
  })

  function carry(
    from: Socket,
    to: Socket,
    lost: Line['lost'],
    way: 'toServer' | 'toClient',
    change: (message: Message) => Message,
  ): void {
    const read = messageReader(way === 'toServer')
    from.on('error', () => {})
    from.on('data', (chunk) => {
      for (const message of read(chunk as Buffer)) {
        if (lost[way]) return
        const fate = network[way]?.(message) ?? 'on'
        if (fate === 'silent') lost.toServer = lost.toClient = true
        if (fate === 'on' || fate === 'on, then silent') to.write(change(message).bytes)
        if (fate === 'on, then silent') lost.toClient = true
      }
    })
  }

  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  const { user, database } = target
  return Object.assign(network, {
    dsn: `postgres://${user}@127.0.0.1:${port}/${database}`,
    async [Symbol.asyncDispose]() {
      for (const { client, server } of lines) {
        client.destroy()
        server.destroy()
      }
      await new Promise((resolve) => listener.close(resolve))
    },
  })
}

/** Cuts what arrives into messages. */
function messageReader(begins: boolean): (chunk: Buffer) => Message[] {
  let rest = Buffer.alloc(0)
  let first = begins
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const messages: Message[] = []
    for (;;) {
      const head = first ? 0 : 1
      if (rest.length < head + 4) return messages
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) return messages
      const bytes = rest.subarray(0, length)
      messages.push({
        type: first ? '' : String.fromCharCode(bytes[0] as number),
        body: bytes.subarray(head + 4),
        bytes,
      })
      rest = rest.subarray(length)
      first = false
    }
  }
}

/** The first message of a client with another name of the database; a cancel request has none. */
function withDatabase(bytes: Buffer, database: string): Buffer {
  if (bytes.readInt32BE(4) !== 196_608) return bytes
  const words = bytes.subarray(8).toString().split('\0')
  words[words.indexOf('database') + 1] = database
  const body = Buffer.from(words.join('\0'))
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + body.length, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, body])
}

function addressOf(dsn: string) {
  const url = new URL(dsn.replace('@/', '@socket/'))
  const folder = url.searchParams.get('host') ?? ''
  const port = url.searchParams.get('port') ?? '5432'
  return { user: url.username, database: url.pathname.slice(1), path: `${folder}/.s.PGSQL.${port}` }
}
