import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { leastMemory, ownMemory } from '../memory/shares.ts'
import { bcryptRule } from '../values/client-secrets.ts'
import { isOriginPattern, redirectUriRule } from '../values/redirect-uris.ts'
import { withoutEnd } from '../values/text.ts'
import type { OAuthClientConfig } from './config.ts'

/** A wrong setting; the message is one line that names it. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** The allowed form of a setting's value. */
export interface Form<T> {
  form: string
  check(name: string, value: unknown): T
  fromText?(name: string, text: string): unknown
  show?(value: T): unknown
}

const mask = '***'

function wrong(name: string, must: string, value: unknown): ConfigError {
  return new ConfigError(`${name}: must be ${must}, is ${JSON.stringify(value)}`)
}

export function text(pattern?: RegExp, allowed?: string): Form<string> {
  const form = allowed ? `text of ${allowed}` : 'text'
  return {
    form,
    check: (name, value) => {
      if (typeof value !== 'string' || value === '' || (pattern && !pattern.test(value))) throw wrong(name, form, value)
      return value
    },
  }
}

/** The value is never shown, not even in an error. */
export function secret(least: number): Form<string | null> {
  return {
    form: `text of at least ${least} characters`,
    check: (name, value) => {
      if (typeof value !== 'string') throw new ConfigError(`${name}: must be text`)
      if ([...value].length < least) throw new ConfigError(`${name}: must have at least ${least} characters`)
      return value
    },
    show: (value) => (value === null ? null : mask),
  }
}

const truth = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])

/** Files may also have `yes` and `off`: they were booleans before YAML 1.2. */
export function boolean(): Form<boolean> {
  return {
    form: '`true` or `false`',
    check: (name, value) => {
      const known = typeof value === 'string' ? truth.get(value.toLowerCase()) : value
      if (typeof known !== 'boolean') throw wrong(name, 'true or false (or yes, no, on, off)', value)
      return known
    },
  }
}

export function integer(least: number, most: number): Form<number> {
  return {
    form: `integer, ${least} to ${most}`,
    fromText: (_name, value) => (/^-?\d{1,15}$/.test(value) ? Number(value) : value),
    check: (name, value) => {
      if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
        throw wrong(name, `an integer from ${least} to ${most}`, value)
      }
      return value as number
    },
  }
}

/** Megabytes of the process. */
export function memory(): Form<number> {
  const number = integer(1, 1024 ** 2)
  return {
    ...number,
    form: `integer, at least ${leastMemory}`,
    check: (name, value) => {
      const megabytes = number.check(name, value)
      if (megabytes >= leastMemory) return megabytes
      throw new ConfigError(
        `${name}: ${megabytes} MB cannot hold the service, whose program alone takes ${ownMemory} MB; set at least ${leastMemory}`,
      )
    },
  }
}

export function oneOf<const T extends string>(...names: T[]): Form<T> {
  return {
    form: names.map((name) => `\`${name}\``).join(', '),
    check: (name, value) => {
      const found = names.find((candidate) => candidate === value)
      if (found === undefined) throw wrong(name, `one of ${names.join(', ')}`, value)
      return found
    },
  }
}

export function nullable<T>(inner: Form<T>): Form<T | null> {
  const { show, ...rest } = inner
  return { ...rest, ...(show ? { show: (value: T | null) => (value === null ? null : show(value)) } : {}) }
}

export function list(pattern?: RegExp): Form<readonly string[]> {
  return {
    form: 'list; in the environment separated by commas',
    fromText: (_name, value) =>
      value
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean),
    check: (name, value) => {
      if (!Array.isArray(value)) throw wrong(name, 'a list', value)
      for (const [index, item] of value.entries()) {
        if (typeof item !== 'string' || item === '' || (pattern && !pattern.test(item))) {
          throw wrong(`${name}[${index}]`, pattern ? `text like ${pattern.source}` : 'text', item)
        }
      }
      return value as string[]
    },
  }
}

export function url(): Form<string> {
  return {
    form: '`http` or `https` address',
    check: (name, value) => {
      const parsed = typeof value === 'string' ? URL.parse(value) : null
      if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.search || parsed.hash)
        throw wrong(name, 'an http or https address', value)
      return withoutEnd(value as string, '/')
    },
  }
}

/** A list whose items have a form that is described by a sentence and not by a pattern. */
function listOf(isRight: (item: string) => boolean, form: string): Form<readonly string[]> {
  const plain = list()
  return {
    ...plain,
    check: (name, value) => {
      const items = plain.check(name, value)
      const wrongAt = items.findIndex((item) => !isRight(item))
      if (wrongAt >= 0) throw wrong(`${name}[${wrongAt}]`, form, items[wrongAt])
      return items
    },
  }
}

/** Absolute folders. */
export function folders(): Form<readonly string[]> {
  return listOf(isAbsolute, 'an absolute folder such as /srv/files')
}

/** Origins of pages, as browsers write them in `Origin`. */
export function pageOrigins(): Form<readonly string[]> {
  return listOf(
    (item) => item === '*' || URL.parse(item)?.origin === item,
    'an origin with its scheme and without a path, such as https://portal.example.org, or *',
  )
}

const proxyWords = ['loopback', 'linklocal', 'uniquelocal']

/** Addresses and networks of proxies. */
export function proxies(): Form<readonly string[]> {
  return listOf(isProxy, `an address, a network such as 10.0.0.0/8, or one of ${proxyWords.join(', ')}`)
}

function isProxy(item: string): boolean {
  if (proxyWords.includes(item)) return true
  const [address = '', bits, ...more] = item.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** A connection string; its password is masked wherever it is shown. */
export function dsn(): Form<string> {
  return {
    form: '`postgresql://` connection string',
    check: (name, value) => {
      if (typeof value !== 'string' || !/^postgres(ql)?:\/\//.test(value))
        throw new ConfigError(`${name}: must be a postgresql:// connection string`)
      return value
    },
    show: maskDsn,
  }
}

/** The connection string without its password. */
export function maskDsn(value: string): string {
  return value.replace(/^(\w+:\/\/[^:@/]*):[^@/]*@/, `$1:${mask}@`).replace(/([?&]password=)[^&]*/gi, `$1${mask}`)
}

/** Origins, as patterns. */
export function origins(): Form<readonly string[]> {
  const form = 'an origin such as https://portal.example.org, https://*.example.org, http://localhost:*'
  return listOf(isOriginPattern, `${form} or the scheme org.example.app:`)
}

export function clients(): Form<readonly OAuthClientConfig[]> {
  return {
    form: 'map; in the environment as JSON',
    fromText: (name, value) => {
      try {
        return JSON.parse(value)
      } catch {
        throw new ConfigError(`${name}: must be JSON`)
      }
    },
    check: (name, value) =>
      Object.entries(mapOf(name, value)).map(([id, entry]) =>
        client(`${name}.${id}`, id, mapOf(`${name}.${id}`, entry)),
      ),
    show: (entries) =>
      Object.fromEntries(
        entries.map(({ id, secret, ...rest }) => [id, { ...(secret === null ? {} : { secret: mask }), ...rest }]),
      ),
  }
}

function client(name: string, id: string, entry: Record<string, unknown>): OAuthClientConfig {
  for (const field of Object.keys(entry)) {
    if (!['secret', 'redirectURIs', 'scopes', 'pkce', 'versionConvention'].includes(field))
      throw new ConfigError(`${name}.${field}: there is no such setting`)
  }
  const { secret = null, redirectURIs = [], scopes = null, pkce = 'required', versionConvention = null } = entry
  return {
    id,
    secret: secret === null ? null : bcryptHash(`${name}.secret`, secret),
    redirectURIs: redirects(`${name}.redirectURIs`, redirectURIs),
    scopes: scopes === null ? null : list(/^(offline|read|write)$/).check(`${name}.scopes`, scopes),
    pkce: oneOf('required', 'optional').check(`${name}.pkce`, pkce),
    ...(versionConvention === null
      ? {}
      : { versionConvention: oneOf('stored', 'next').check(`${name}.versionConvention`, versionConvention) }),
  }
}

function redirects(name: string, value: unknown): readonly string[] {
  const uris = list().check(name, value)
  for (const [index, uri] of uris.entries()) {
    const expected = redirectUriRule(uri)
    if (expected !== null) throw wrong(`${name}[${index}]`, expected, uri)
  }
  return uris
}

function bcryptHash(name: string, value: unknown): string {
  const expected = typeof value === 'string' ? bcryptRule(value) : 'a bcrypt hash'
  if (expected !== null) throw new ConfigError(`${name}: must be ${expected}`)
  return value as string
}

function mapOf(name: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(name, 'a map', value)
  return value as Record<string, unknown>
}
