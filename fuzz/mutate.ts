import { gzipSync } from 'node:zlib'
import { hostileNumber, hostileText, hostileValue, longText } from './hostile.ts'
import type { Random } from './random.ts'
import type { FuzzRequest } from './request.ts'
import { Pairs, type WireRequest } from './wire.ts'

/** Words that make requests worth sending: names of the description, ids and references of the world. */
export interface Dictionary {
  readonly keys: readonly string[]
  readonly parameters: readonly string[]
  readonly values: readonly unknown[]
  readonly paths: readonly string[]
  /** Parts of addresses whose steps are mutated. */
  readonly steps: readonly string[]
}

type Mutation = (request: FuzzRequest, random: Random, words: Dictionary) => void

/** Changes the request at one place; the result depends only on the request, the numbers and the words. */
export function mutate(request: FuzzRequest, random: Random, words: Dictionary): void {
  const kinds: [number, Mutation][] = [
    [request.body === undefined ? 0 : 60, mutateBody],
    [20, mutateQuery],
    [Object.keys(request.path).length === 0 ? 0 : 12, mutatePath],
    [5, mutateHeaders],
    [request.body === undefined ? 1 : 6, mutateBytes],
    [1, mutateMethod],
    [14, mutateLong],
  ]
  let place = random.next() * kinds.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, change] of kinds) {
    place -= weight
    if (place >= 0) continue
    change(request, random, words)
    return
  }
}

type Place = readonly (string | number)[]

function placesOf(value: unknown, path: Place = []): Place[] {
  // Deeper places are all alike.
  if (path.length > 30) return [path]
  if (Array.isArray(value)) return [path, ...value.flatMap((member, index) => placesOf(member, [...path, index]))]
  if (typeof value !== 'object' || value === null || value.constructor !== Object) return [path]
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesOf(member, [...path, key]))]
}

function at(value: unknown, path: Place): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown>)?.[step], value)
}

function replaced(value: unknown, path: Place, change: (old: unknown) => unknown): unknown {
  const [head, ...rest] = path
  if (head === undefined) return change(value)
  if (Array.isArray(value)) return value.map((one, index) => (index === head ? replaced(one, rest, change) : one))
  const record = value as Record<string, unknown>
  return { ...record, [head]: replaced(record[head as string], rest, change) }
}

function mutateBody(request: FuzzRequest, random: Random, words: Dictionary): void {
  const places = placesOf(request.body)
  // The root itself is seldom interesting.
  const place = random.pick(places.length > 1 && random.chance(0.95) ? places.slice(1) : places)
  request.body = replaced(request.body, place, (old) => changed(old, request.body, random, words))
}

function changed(old: unknown, body: unknown, random: Random, words: Dictionary): unknown {
  const choice = random.below(10)
  if (choice < 3) return hostileValue(random)
  if (choice < 5) return random.pick(words.values)
  if (choice === 5) return at(body, random.pick(placesOf(body)))
  if (Array.isArray(old)) return changedArray(old, random)
  if (typeof old === 'object' && old !== null && old.constructor === Object) {
    return changedObject(old as Record<string, unknown>, random, words)
  }
  if (typeof old === 'number')
    return random.chance(0.5) ? old + random.pick([-1, 1, 0.5, 2 ** 32]) : hostileNumber(random)
  if (typeof old === 'string') return changedText(old, random)
  return hostileValue(random)
}

function changedArray(old: unknown[], random: Random): unknown {
  switch (random.below(5)) {
    case 0:
      return []
    case 1:
      return [...old, ...old]
    case 2:
      return old.slice(1)
    case 3:
      return [...old, hostileValue(random)]
    default:
      return Array.from({ length: 300 }, () => old[0] ?? null)
  }
}

const strangeKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
  ' ',
  '\u0000',
  'é',
  '\ud800',
  '0',
  '-1',
  '$ref',
]

function changedObject(old: Record<string, unknown>, random: Random, words: Dictionary): unknown {
  const entries = Object.entries(old)
  const key = (): string =>
    random.chance(0.6) ? random.pick(words.keys) : random.chance(0.9) ? random.pick(strangeKeys) : 'k'.repeat(70_000)
  const value = (): unknown => (random.chance(0.5) ? random.pick(words.values) : hostileValue(random))
  const one = entries.length === 0 ? -1 : random.below(entries.length)
  switch (random.below(6)) {
    case 0:
      return new Pairs(entries.filter((_, index) => index !== one))
    case 1:
      return new Pairs([...entries, [key(), value()]])
    case 2:
      return new Pairs([...entries, [entries[one]?.[0] ?? 'a', value()]])
    case 3:
      return new Pairs(entries.map(([name, member], index) => [index === one ? key() : name, member]))
    case 4:
      return new Pairs(entries.map(([name, member], index) => [index === one ? `${name}x` : name, member]))
    default:
      return new Pairs(entries.flatMap((entry) => [entry, entry]))
  }
}

function changedText(old: string, random: Random): string {
  const place = random.below(old.length + 1)
  const piece = hostileText(random)
  return random.chance(0.5) ? old.slice(0, place) + piece + old.slice(place) : piece
}

/** Characters of a text in a body, and in an address or a header, which have a common limit. */
const [longInBody, longInHead] = [160_000, 7000]

/** A very long text at some place. */
function mutateLong(request: FuzzRequest, random: Random): void {
  const texts = placesOf(request.body).filter((place) => typeof at(request.body, place) === 'string')
  const { query, path } = request
  const names = Object.keys(path)
  const place = random.below(4 * texts.length + query.length + names.length + 1)
  if (place < 4 * texts.length) {
    const text = longText(random, random.pick([longInBody, longInBody, 5000]))
    request.body = replaced(request.body, texts[place % texts.length] ?? [], () => text)
    return
  }
  const text = longText(random, longInHead)
  const index = place - 4 * texts.length
  const parameter = query[index]
  const name = names[index - query.length]
  if (parameter) parameter[1] = text
  else if (name !== undefined) path[name] = text
  else {
    const header = random.pick([
      'cookie',
      'authorization',
      'accept-language',
      'if-none-match',
      'range',
      'content-type',
      'accept',
    ])
    // Only bytes are allowed in a header.
    request.headers = { ...request.headers, [header]: text.replaceAll(/[^\x20-\x7e]/g, '.') }
  }
}

function mutateQuery(request: FuzzRequest, random: Random, words: Dictionary): void {
  const value = (): string =>
    random.chance(0.5)
      ? random.pick(['', '0', '1', '-1', 'true', 'false', 'yes', '1.5', '9007199254740991', '9007199254740993', 'NaN'])
      : random.chance(0.3)
        ? String(random.pick(words.values.filter((one) => typeof one !== 'object')))
        : hostileText(random)
  const { query } = request
  const one = random.below(Math.max(query.length, 1))
  switch (query.length === 0 ? 0 : random.below(5)) {
    case 0:
    case 1:
      query.push([
        random.chance(0.9) && words.parameters.length > 0 ? random.pick(words.parameters) : hostileText(random),
        value(),
      ])
      break
    case 2:
      query.splice(one, 1)
      break
    case 3:
      query.push([query[one]?.[0] ?? 'a', value()])
      break
    default:
      query[one] = [query[one]?.[0] ?? 'a', value()]
  }
}

function mutatePath(request: FuzzRequest, random: Random, words: Dictionary): void {
  const name = random.pick(Object.keys(request.path))
  const text = random.chance(0.4)
    ? random.pick(words.paths)
    : random.pick([hostileText(random), '0', '-1', '1.5', '9007199254740993', '99999999999999999999', ' ', '1 '])
  const steps = (request.path[name] ?? '').split('/')
  const changed = steps.length > 1 && random.chance(0.85) ? changedSteps(steps, text, random, words) : text
  request.path = { ...request.path, [name]: changed }
}

/** An address whose steps have a meaning, such as a part of a picture: one of them is replaced, added, or removed. */
function changedSteps(steps: readonly string[], text: string, random: Random, { steps: known }: Dictionary): string {
  const place = random.below(steps.length)
  const step = random.chance(0.75) ? random.pick(known) : text
  switch (random.below(8)) {
    case 0:
      return steps.toSpliced(place, 1).join('/')
    case 1:
      return steps.toSpliced(place, 0, step).join('/')
    case 2:
      return steps.toSpliced(place, 1, changedText(steps[place] ?? '', random)).join('/')
    default:
      return steps.with(place, step).join('/')
  }
}

const strangeHeaders: [string, string[]][] = [
  [
    'content-type',
    [
      '',
      'application/json; charset=utf-16',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json;;',
      'a'.repeat(5000),
    ],
  ],
  ['content-encoding', ['gzip', 'br', 'identity', 'x']],
  ['accept', ['', 'text/html', 'image/*', '*/*;q=0', 'application/xml']],
  ['accept-encoding', ['gzip', 'br', '*;q=0', 'deflate, gzip;q=1.0, *;q=0.5', 'x'.repeat(3000)]],
  ['accept-language', ['de', '*', 'x'.repeat(3000)]],
  ['if-match', ['*', '"1"', 'W/"x"', '']],
  ['if-none-match', ['*', '"1"']],
  ['range', ['bytes=0-10', 'bytes=5-1', 'x']],
  ['x-request-id', ['', 'ok-1', 'x'.repeat(300), '../..', '<b>']],
  ['x-forwarded-for', ['1.2.3.4', 'x', '::1, 10.0.0.1', '999.999.999.999']],
  ['x-forwarded-proto', ['https', 'x']],
  ['x-forwarded-host', ['evil.example', '']],
  ['host', ['evil.example', '', 'a:99999']],
  ['cookie', ['a=b', '=', ';;;', 'x'.repeat(4000)]],
  ['x-svc-authorization', ['Bearer x', 'Basic eDp5', '']],
  ['authorization', ['', 'Bearer', 'Bearer ', 'Basic eDp5', 'Bearer a b', `Bearer ${'x'.repeat(5000)}`, 'Digest x']],
  ['origin', ['http://evil.example', 'null']],
  ['x-http-method-override', ['DELETE', 'GET']],
  ['content-length', ['0', '1', '5', '99']],
  ['transfer-encoding', ['chunked', 'identity']],
  ['expect', ['100-continue', 'x']],
]

function mutateHeaders(request: FuzzRequest, random: Random): void {
  const [name, values] = random.pick(strangeHeaders)
  const value = random.pick(values)
  // A wrong length needs a separate socket: the client would wait for data that never comes.
  if (name === 'content-length' || name === 'transfer-encoding' || name === 'expect' || name === 'host') {
    request.late.push((wire) => asBytes(wire, (head) => `${head}\r\n${name}: ${value}`))
  } else request.headers = { ...request.headers, [name]: value }
}

/** The request as raw bytes on a separate connection. */
function asBytes(wire: WireRequest, change: (head: string) => string): WireRequest {
  if (wire.bytes) return wire
  const length = wire.body ? { 'content-length': `${wire.body.length}` } : {}
  const headers = { host: 'localhost', connection: 'close', ...length, ...wire.headers }
  const lines = [
    `${wire.method} ${wire.target} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  const head = change(lines.join('\r\n'))
  return { ...wire, bytes: Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), wire.body ?? Buffer.alloc(0)]) }
}

function mutateBytes(request: FuzzRequest, random: Random): void {
  const place = random.next()
  const body = (change: (old: Buffer, place: number) => Buffer) =>
    request.late.push((wire) =>
      wire.body && !wire.bytes ? { ...wire, body: change(wire.body, Math.floor(place * wire.body.length)) } : wire,
    )
  switch (random.below(9)) {
    case 0:
      body((old, end) => old.subarray(0, end))
      break
    case 1: {
      const byte = random.below(256)
      body((old, index) => Buffer.concat([old.subarray(0, index), Buffer.from([byte]), old.subarray(index + 1)]))
      break
    }
    case 2: {
      const bad = random.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0]])
      body((old, index) => Buffer.concat([old.subarray(0, index), Buffer.from(bad), old.subarray(index)]))
      break
    }
    case 3:
      body((old) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), old]))
      break
    case 4:
      body((old) => Buffer.from(old.toString('utf8'), 'utf16le'))
      break
    case 5:
      body(() => Buffer.alloc(0))
      break
    case 6:
      body((old) => Buffer.concat([old, old]))
      break
    case 7: {
      const named = random.chance(0.7)
      body((old) => gzipSync(old))
      if (named) request.headers = { ...request.headers, 'content-encoding': 'gzip' }
      break
    }
    default: {
      const byte = random.below(256)
      request.late.push((wire) =>
        asBytes(wire, (head) => {
          const index = Math.floor(place * head.length)
          return head.slice(0, index) + String.fromCharCode(byte) + head.slice(index + 1)
        }),
      )
    }
  }
}

function mutateMethod(request: FuzzRequest, random: Random): void {
  request.method = random.pick([
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'LOCK',
  ])
}
