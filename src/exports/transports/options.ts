/** Options of transports, by kind. */
import { badRequest } from '../../platform/errors.ts'
import { masked } from '../../platform/secrets/secrets.ts'
import { type PackageKind, packageKinds } from '../deliver/packages/model.ts'

export const transportTypes = ['download', 'email', 'http', 'ftp', 'sftp', 'webdav', 's3'] as const
export type TransportType = (typeof transportTypes)[number]

export const packers = ['zip', 'tar_gz', 'files'] as const
export type Packer = (typeof packers)[number]

export type Options = Readonly<Record<string, unknown>>

type Check = (value: unknown) => string | null

const text =
  (maxLength: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= maxLength && !/[\u0000-\u001f\u007f]/.test(value)
      ? null
      : `one line of at most ${maxLength} characters`
const key: Check = (value) =>
  typeof value === 'string' && value.length <= 20_000 ? null : 'a text of at most 20,000 characters'
const flag: Check = (value) => (typeof value === 'boolean' ? null : 'true or false')
const port: Check = (value) =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536 ? null : 'a port'
const oneOf =
  (...values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? null : `one of ${values.join(', ')}`
const webAddress: Check = (value) => {
  const url = typeof value === 'string' && value.length <= 2000 ? URL.parse(value) : null
  const fits = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return fits ? null : 'an http or https address without a password'
}
const host: Check = (value) =>
  typeof value === 'string' && value.length <= 253 && /^([\w-]+(\.[\w-]+)*\.?|\[?[\da-fA-F:.]+\]?)$/.test(value)
    ? null
    : 'the name or address of a host'
const folder: Check = (value) =>
  text(1000)(value) ?? ((value as string).split('/').includes('..') ? 'a path without ..' : null)

const account = { username: text(255), password: text(1000) }
const packed = { packer: oneOf('zip', 'tar_gz'), package: oneOf(...packageKinds) }
const anyhow = { ...packed, packer: oneOf(...packers) }

const kinds: Readonly<
  Record<TransportType, { readonly options: Readonly<Record<string, Check>>; readonly required: readonly string[] }>
> = {
  download: { options: packed, required: [] },
  email: { options: packed, required: [] },
  http: { options: { url: webAddress, method: oneOf('POST', 'PUT'), ...account, ...packed }, required: ['url'] },
  webdav: { options: { url: webAddress, ...account, ...anyhow }, required: ['url'] },
  ftp: {
    options: { host, port, secure: flag, directory: folder, ...account, ...anyhow },
    required: ['host', 'username'],
  },
  sftp: {
    options: {
      host,
      port,
      host_key: text(200),
      directory: folder,
      private_key: key,
      passphrase: text(1000),
      ...account,
      ...anyhow,
    },
    required: ['host', 'host_key', 'username'],
  },
  s3: {
    options: {
      endpoint: webAddress,
      region: text(100),
      bucket: text(255),
      prefix: folder,
      access_key_id: text(255),
      secret_access_key: text(1000),
      ...anyhow,
    },
    required: ['bucket', 'access_key_id', 'secret_access_key'],
  },
}

const secrets = new Set(['password', 'private_key', 'passphrase', 'secret_access_key'])
/** Prefix of other secret options. */
const secretPrefix = 'pw:'
/** The target: a secret that was entered for another target is not sent there. */
const places = ['type', 'url', 'host', 'port', 'endpoint', 'bucket', 'host_key']

export const isSecret = (name: string): boolean => name.startsWith(secretPrefix) || secrets.has(name)

export const typeOf = (options: Options): TransportType => (options.type ?? 'download') as TransportType

export const packageOf = (options: Options): PackageKind | null => (options.package ?? null) as PackageKind | null

export const packerOf = (options: Options): Packer => (options.packer ?? 'zip') as Packer

/** The value of an option, with or without the prefix. */
export function option(options: Options, name: string): string | undefined {
  const value = options[name] ?? options[`${secretPrefix}${name}`]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Options for answers: secrets are masked. */
export function shownOptions(options: Options): Options {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, isSecret(name) && value !== '' ? masked : value]),
  )
}

/**
 * Options to be stored: a masked value is replaced by the stored one.
 * @throws {AppError} where there is none, or it was for another target
 */
export function mergedOptions(sent: Options, stored: Options | null, path: string): Options {
  const kept = Object.entries(sent).filter(([name, value]) => isSecret(name) && value === masked)
  if (kept.length === 0) return sent
  const known = kept.every(([name]) => stored !== null && Object.hasOwn(stored, name))
  if (!known || !stored) throw badRequest(`${path}: a secret is masked, and none is stored: enter it`, { path })
  if (places.some((name) => (sent[name] ?? null) !== (stored[name] ?? null))) {
    throw badRequest(`${path}: a secret was entered for another place: enter it again`, { path })
  }
  return { ...sent, ...Object.fromEntries(kept.map(([name]) => [name, stored[name]])) }
}

/** Checks the options of a transport without a plugin. @throws {AppError} `ServerGeneric` naming the place */
export function checkOptions(options: Options, path: string): void {
  const fail = (name: string, expected: string) =>
    badRequest(`${path}.${name} must be ${expected}`, { path: `${path}.${name}` })
  const { type = 'download' } = options
  if (!transportTypes.some((known) => known === type)) throw fail('type', `one of ${transportTypes.join(', ')}`)
  const { options: known, required } = kinds[type as TransportType]
  for (const [name, value] of Object.entries(options)) {
    if (name === 'type') continue
    const plain = name.startsWith(secretPrefix) ? name.slice(secretPrefix.length) : name
    const check = Object.hasOwn(known, plain) ? known[plain] : undefined
    if (!check) throw fail(name, `left out: transports of type ${type} do not know it`)
    const expected = check(value)
    if (expected !== null) throw fail(name, expected)
  }
  for (const name of required) if (option(options, name) === undefined) throw fail(name, 'given')
}
