import { once } from 'node:events'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { TLSSocket } from 'node:tls'
import ldap from 'ldapjs'
import { ofServer } from './certificates.ts'

export interface DirectoryEntry {
  readonly dn: string
  readonly password?: string
  readonly attributes: Readonly<Record<string, string | readonly string[]>>
}

export interface LdapTestServer extends AsyncDisposable {
  readonly url: string
  /** Names of those who have tried to sign in, in order; right or wrong. */
  readonly binds: string[]
  /** Outlines of the filters that arrived: what is compared with what, without the values. */
  readonly filters: string[]
  readonly entries: DirectoryEntry[]
  /** Connections that were ever opened. */
  readonly connections: () => number
}

export const searcher = { dn: 'cn=searcher,dc=example,dc=org', password: 's3archer' } as const

/** A directory with these entries. Only its searcher may search. `secure`: `ldaps://localhost`. */
export async function startLdapServer(
  entries: DirectoryEntry[],
  { secure = false }: { secure?: boolean } = {},
): Promise<LdapTestServer> {
  const server = ldap.createServer(secure ? { certificate: ofServer.cert, key: ofServer.key } : {})
  const [binds, filters]: [string[], string[]] = [[], []]
  let connections = 0
  server.on('connection', () => connections++)
  // biome-ignore lint/suspicious/noExplicitAny: the types of the package are those of an older release
  const on = server as any
  // biome-ignore lint/suspicious/noExplicitAny: see above
  on.bind('', (req: any, res: any, next: (error?: unknown) => void) => {
    const dn = req.dn.toString()
    binds.push(dn)
    const known = [...entries, searcher].find((entry) => sameDn(entry.dn, dn))
    // As servers do: no password is nobody, and that is a success (RFC 4513, 5.1.2).
    if (req.credentials !== '' && (known?.password ?? null) !== req.credentials) {
      return next(new ldap.InvalidCredentialsError())
    }
    res.end()
    return next()
  })
  // biome-ignore lint/suspicious/noExplicitAny: see above
  on.search('dc=example,dc=org', (req: any, res: any, next: (error?: unknown) => void) => {
    if (!sameDn(req.connection.ldap.bindDN.toString(), searcher.dn))
      return next(new ldap.InsufficientAccessRightsError())
    filters.push(JSON.stringify(outline(req.filter.json)))
    let sent = 0
    for (const { dn, attributes } of entries) {
      if (!lower(dn).endsWith(lower(req.dn.toString()))) continue
      const folded = Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), value]))
      if (!req.filter.matches(folded, false)) continue
      if (req.sizeLimit > 0 && sent++ >= req.sizeLimit) return next(new ldap.SizeLimitExceededError())
      res.send({ dn, attributes })
    }
    res.end()
    return next()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = on.address() as AddressInfo
  return {
    url: secure ? `ldaps://localhost:${port}` : `ldap://127.0.0.1:${port}`,
    binds,
    filters,
    entries,
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: see above
function outline(filter: any): unknown {
  const { type, attribute, filters } = filter
  return filters ? [type, ...filters.map(outline)] : [type, attribute]
}

const lower = (dn: string): string => dn.toLowerCase().replaceAll(/\s*([,=])\s*/g, '$1')
const sameDn = (a: string, b: string): boolean => lower(a) === lower(b)

/**
 * The same behind StartTLS: what comes in plain is answered by one `yes`, all that follows is encrypted. `drops`: the
 * connection ends right after the handshake.
 */
export async function startTlsProxy(
  target: string,
  { drops = false } = {},
): Promise<AsyncDisposable & { url: string; plain: Buffer[] }> {
  const plain: Buffer[] = []
  const open = new Set<Socket>()
  const server: TcpServer = createTcpServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.once('data', (data) => {
      plain.push(Buffer.from(data))
      // ExtendedResponse (RFC 4511, 4.12) to this message: success.
      socket.write(
        Buffer.from([
          0x30,
          0x0c,
          0x02,
          0x01,
          Buffer.from(data)[4] ?? 1,
          0x78,
          0x07,
          0x0a,
          0x01,
          0x00,
          0x04,
          0x00,
          0x04,
          0x00,
        ]),
      )
      const secure = new TLSSocket(socket, { isServer: true, cert: ofServer.cert, key: ofServer.key })
      secure.on('error', () => {})
      if (drops) {
        secure.once('secure', () => socket.destroy())
        return
      }
      const { hostname, port } = new URL(target)
      const behind = connect(Number(port), hostname)
      behind.on('error', () => secure.destroy())
      secure.on('close', () => behind.destroy())
      secure.pipe(behind).pipe(secure)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `ldap://localhost:${(server.address() as AddressInfo).port}`,
    plain,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
