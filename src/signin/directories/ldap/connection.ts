import { connect, isIP, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectSecure } from 'node:tls'
import type { Client, Entry, SearchOptions } from 'ldapts'
import type { BaseConfig } from '../../../config/service.ts'
import { closedBeyond, type OutgoingLimits } from '../../../platform/outgoing/limits.ts'
import { attributesOf, DirectoryUnavailable, type Steps } from '../model.ts'

type LdapConfig = BaseConfig['ldap']
type Server = LdapConfig['connections'][number]

/** Milliseconds for one answer of a server, and for all answers of one sign-in. */
const [perAnswer, perSignIn] = [5_000, 15_000]
/** Milliseconds for which a server without an answer is tried last. */
const rest = 30_000
/** Characters of a value; a longer one is left out, since a part of it could be the name of another entry. */
const longestValue = 10_000

export interface FoundEntry {
  readonly dn: string
  readonly valuesOf: ReturnType<typeof attributesOf>
  /** Names of the attributes in the server's answer. */
  readonly names: readonly string[]
}

/** An open connection to one server. */
export interface LdapConnection {
  /** Whether these are the credentials of an entry. Without a clear answer of the server the result is an error. */
  bind(dn: string, password: string): Promise<boolean>
  search(request: LdapSearch): Promise<FoundEntry[]>
}

export interface LdapSearch {
  readonly base: string
  readonly filter: string
  readonly attributes: readonly string[]
  /** Maximum number of entries; the total is not determined. */
  readonly most: number
}

export type LdapServers = ReturnType<typeof createServers>

/** The servers of one directory. They are tried in turn; the first one that can be reached answers. */
export function createServers({ limits, now = () => Date.now() }: { limits: OutgoingLimits; now?: () => number }) {
  const failedAt = new Map<string, number>()

  return {
    /** @throws {DirectoryUnavailable} when none of them can be reached */
    async use<T>(config: LdapConfig, steps: Steps, work: (connection: LdapConnection) => Promise<T>): Promise<T> {
      const resting = ({ url }: Server): number => ((failedAt.get(url) ?? -rest) > now() - rest ? 1 : 0)
      const end = now() + Math.min(perSignIn, limits.time)
      for (const server of config.connections.toSorted((a, b) => resting(a) - resting(b))) {
        if (now() >= end) break
        try {
          const result = await withConnection(config, server, steps, { ...limits, time: end - now() }, work)
          failedAt.delete(server.url)
          return result
        } catch (error) {
          if (!(error instanceof Unreachable)) throw error
          failedAt.set(server.url, now())
          steps.note(`${server.url} cannot be used: ${error.message}`)
        }
      }
      throw new DirectoryUnavailable('No server of the directory can be reached.')
    },
  }
}

/** Makes the next server be tried. */
class Unreachable extends Error {}

async function withConnection<T>(
  config: LdapConfig,
  server: Server,
  steps: Steps,
  limits: OutgoingLimits,
  work: (connection: LdapConnection) => Promise<T>,
): Promise<T> {
  const end = performance.now() + limits.time
  // Loaded at the first sign-in that needs it.
  const ldap = await import('ldapts')
  const { Client, ResultCodeError } = ldap
  const isSaid = (error: unknown): error is Error => error instanceof ResultCodeError
  const host = (URL.parse(server.url)?.hostname ?? '').replaceAll(/[[\]]/g, '')
  const tls: ConnectionOptions = {
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: !server.tls_insecure,
    minVersion: 'TLSv1.2',
    ...(server.tls_ca_cert === '' ? {} : { ca: server.tls_ca_cert }),
  }
  const secure = server.url.startsWith('ldaps:')
  const client = new Client({
    url: server.url,
    timeout: perAnswer,
    connectTimeout: perAnswer,
    strictDN: false,
    ...(secure ? { tlsOptions: tls } : {}),
    createConnection: once(connect, limits),
    createSecureConnection: once(connectSecure, limits),
  })
  /** Failures other than answers of the server are failures of the connection. */
  const ask = async <R>(act: () => Promise<R>): Promise<R> => {
    try {
      return await within(Math.min(perAnswer, end - performance.now()), act)
    } catch (error) {
      const busy = error instanceof ldap.BusyError || error instanceof ldap.UnavailableError
      if (isSaid(error) && !busy) throw error
      throw new Unreachable(error instanceof Error ? error.message : String(error))
    }
  }
  const bind = async (dn: string, password: string): Promise<boolean> => {
    // A bind without a password is anonymous, and succeeds (RFC 4513, 5.1.2).
    if (dn === '' || password === '') return false
    try {
      await ask(() => client.bind(dn, password))
      return true
    } catch (error) {
      if (!isSaid(error)) throw error
      return false
    }
  }
  const asSearcher = async (): Promise<void> => {
    if (config.bindusername === '') return
    const { bindpassword } = config
    if (typeof bindpassword !== 'string') {
      throw new DirectoryUnavailable('The password of the bind user is sealed with a key that is not here.')
    }
    if (!(await bind(config.bindusername, bindpassword))) {
      throw new DirectoryUnavailable('The directory refuses the bind user.')
    }
  }
  try {
    if (server.tls_start) await ask(() => client.startTLS(tls))
    await asSearcher()
    steps.note(`connected to ${server.url}${secure || server.tls_start ? ', encrypted' : ''}`)
    return await work({
      async bind(dn, password) {
        const right = await bind(dn, password)
        // Later searches use the same account as before; a refused bind leaves the connection anonymous (RFC 4513, 4).
        await asSearcher()
        return right
      },
      search: (request) => search(client, request, ask, (error) => error instanceof ldap.SizeLimitExceededError),
    })
  } catch (error) {
    if (isSaid(error)) throw new DirectoryUnavailable(`The directory refuses the search: ${error.message}`)
    throw error
  } finally {
    await within(perAnswer, () => client.unbind()).catch(() => {})
  }
}

/**
 * Connects only once: when the connection is lost, the client would open another one by itself, in the middle of a sign-in and
 * without the encryption of the first one. It is closed when more bytes arrive than allowed.
 */
function once<Open extends (...given: never[]) => Socket>(open: Open, limits: OutgoingLimits): Open {
  let opened = false
  return ((...given: Parameters<Open>) => {
    if (opened) throw new Error('the connection was lost')
    opened = true
    return closedBeyond(open(...given), limits.answer)
  }) as Open
}

async function within<R>(milliseconds: number, act: () => Promise<R>): Promise<R> {
  if (milliseconds <= 0) throw new Error('there is no time left')
  const timer = new AbortController()
  const late = wait(milliseconds, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`no answer within ${Math.round(milliseconds)} ms`)
  })
  try {
    return await Promise.race([act(), late])
  } finally {
    timer.abort()
    late.catch(() => {})
  }
}

async function search(
  client: Client,
  { base, filter, attributes, most }: LdapSearch,
  ask: <R>(act: () => Promise<R>) => Promise<R>,
  isTooMany: (error: unknown) => boolean,
): Promise<FoundEntry[]> {
  const options: SearchOptions = { scope: 'sub', derefAliases: 'never', filter, attributes: [...attributes] }
  try {
    // References to other servers are not followed: they are not configured.
    const { searchEntries } = await ask(() =>
      client.search(base, { ...options, sizeLimit: most, timeLimit: perAnswer / 1000 }),
    )
    return searchEntries.slice(0, most).map(asFound)
  } catch (error) {
    // The client then returns no entries; a search for a single entry has no valid result.
    if (isTooMany(error)) throw new TooManyEntries('The filter finds more entries than it may.')
    throw error
  }
}

/** A filter for a single entry finds several. */
export class TooManyEntries extends Error {}

function asFound({ dn, ...attributes }: Entry): FoundEntry {
  const entries = Object.entries(attributes).map(([name, values]): [string, string[]] => [
    name,
    [values].flat().filter((value) => typeof value === 'string' && value.length <= longestValue) as string[],
  ])
  const given = entries.filter(([, values]) => values.length > 0)
  return { dn, names: given.map(([name]) => name), valuesOf: attributesOf([...given, ['DN', [dn]], ['dn', [dn]]]) }
}
