import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse, YAMLParseError } from 'yaml'
import { divideMemory, type Memory, memoryFor, standardMemory } from '../memory/shares.ts'
import { nearestName } from '../values/nearest.ts'
import { isRecord } from '../values/records.ts'
import { invalidUtf8At } from '../values/utf8.ts'
import type { Config } from './config.ts'
import { ConfigError } from './forms.ts'
import type { Key } from './key.ts'
import { keys } from './keys.ts'

export interface ConfigSources {
  /** Path given by `--config`. */
  file?: string | undefined
  env: NodeJS.ProcessEnv
  /** Base folder of relative paths. */
  cwd: string
}

type Environment = NodeJS.ProcessEnv
type Tree = Record<string, unknown>

/** Variables with our prefix that are not settings. */
const otherVariables = new Set(['SVC_CONFIG'])

/**
 * Reads the configuration.
 * @throws {ConfigError} with one line that names the key or variable.
 */
export function loadConfig({ file, env, cwd }: ConfigSources): Config {
  const path = file ?? env.SVC_CONFIG
  const tree = path ? readTree(resolve(cwd, path)) : (readTreeIfThere(resolve(cwd, 'svc.yml')) ?? {})
  refuseUnknownKeys(tree)
  refuseUnknownVariables(env)
  const memory = divideMemory(settingOf(keys.memory, tree, env, divideMemory(standardMemory)))
  const values = Object.fromEntries(
    (Object.entries(keys) as [string, Key<unknown>][]).map(([name, key]) => [name, settingOf(key, tree, env, memory)]),
  )
  // The table has a key of the right type for each property: `keys` is typed so.
  const config = values as unknown as Config
  refuseSamePort(config)
  return Object.freeze({
    ...config,
    dataDir: resolve(cwd, config.dataDir),
    hotfolderPath: config.hotfolderPath === null ? null : resolve(cwd, config.hotfolderPath),
    externalUrl: config.externalUrl || `http://localhost:${config.port}`,
  })
}

/** Two servers on one address: the error of the system would name the port as taken, but not the other setting. */
function refuseSamePort({ host, port, backendHost, backendPort }: Config): void {
  if (backendPort === null || backendPort === 0 || backendPort !== port) return
  const everywhere = [host, backendHost].some((address) => address === '0.0.0.0' || address === '::')
  if (host !== backendHost && !everywhere) return
  throw new ConfigError(
    `${keys.backendPort.path} (${keys.backendPort.env}): is the port of the service itself, ${port}`,
  )
}

/** The effective configuration in the structure of the file; secrets are masked unless they are not set. */
export function describeConfig(config: Config): Tree {
  const tree: Tree = {}
  for (const [name, key] of Object.entries(keys) as [keyof Config, Key<unknown>][]) {
    const steps = key.path.split('.')
    const last = steps.pop() ?? ''
    const place = steps.reduce<Tree>((parent, step) => {
      parent[step] ??= {}
      return parent[step] as Tree
    }, tree)
    place[last] = key.show(config[name])
  }
  return tree
}

function readTreeIfThere(path: string): Tree | null {
  try {
    return readTree(path)
  } catch (error) {
    if ((error as { cause?: NodeJS.ErrnoException }).cause?.code === 'ENOENT') return null
    throw error
  }
}

function readTree(path: string): Tree {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${(cause as Error).message}`, { cause })
  }
  const invalid = invalidUtf8At(bytes)
  if (invalid !== -1) throw new ConfigError(`${path}: is not UTF-8 at byte ${invalid}`)
  const tree = parseYaml(path, bytes.toString()) ?? {}
  if (!isRecord(tree)) throw new ConfigError(`${path}: must be a map with the key svc`)
  return tree
}

function parseYaml(path: string, text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 20, uniqueKeys: true, logLevel: 'error' })
  } catch (cause) {
    const line = cause instanceof YAMLParseError ? cause.linePos?.[0].line : undefined
    const reason = (cause as Error).message.split('\n')[0]?.replace(/ at line .*/, '')
    throw new ConfigError(`${path}${line ? `, line ${line}` : ''}: ${reason}`, { cause })
  }
}

function settingOf<T>(key: Key<T>, tree: Tree, env: Environment, memory: Memory): T {
  const text = env[key.env]
  // An empty variable counts as not set: that is how compose files pass a variable through.
  if (text) return withinMemory(key, key.env, key.check(key.env, key.fromText(key.env, text)), memory)
  const value = key.path.split('.').reduce<unknown>((place, step) => (isRecord(place) ? place[step] : undefined), tree)
  if (value !== undefined && value !== null) return withinMemory(key, key.path, key.check(key.path, value), memory)
  return key.bound?.isDefault ? (memory[key.bound.share] as T) : key.default
}

/** @throws {ConfigError} for a value that exceeds its share of the memory. */
function withinMemory<T>(key: Key<T>, name: string, value: T, memory: Memory): T {
  if (key.bound === undefined || typeof value !== 'number') return value
  const { share } = key.bound
  const [most, needed] = [memory[share], memoryFor(share, value)]
  if (value <= most) return value
  throw new ConfigError(
    `${name}: ${value} bytes are more than memory holds: ${keys.memory.env} (${memory.megabytes} MB) leaves ${most} for it; ` +
      `set at most that, or ${keys.memory.env} to at least ${needed}`,
  )
}

/** Walks the file along the known paths; below a key whose value is a map, the check of that key takes over. */
function refuseUnknownKeys(tree: Tree): void {
  const known = Object.values(keys).map((key) => key.path)
  const walk = (place: Tree, prefix: string): void => {
    for (const [name, value] of Object.entries(place)) {
      const path = prefix ? `${prefix}.${name}` : name
      if (known.includes(path)) continue
      if (!known.some((candidate) => candidate.startsWith(`${path}.`))) throw new ConfigError(unknownKey(path, known))
      if (value === null) continue
      if (!isRecord(value)) throw new ConfigError(`${path}: must be a map`)
      walk(value, path)
    }
  }
  walk(tree, '')
}

function refuseUnknownVariables(env: Environment): void {
  const known = Object.values(keys).map((key) => key.env)
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || otherVariables.has(name) || known.includes(name)) continue
    throw new ConfigError(unknownKey(name, known))
  }
}

function unknownKey(name: string, known: readonly string[]): string {
  const below = `svc.${name}`
  if (known.some((candidate) => candidate === below || candidate.startsWith(`${below}.`))) {
    return `${name}: stands below svc, as ${below}`
  }
  const nearest = nearestName(name, known)
  return `${name}: there is no such setting${nearest === null ? '' : `; did you mean ${nearest}?`}`
}
