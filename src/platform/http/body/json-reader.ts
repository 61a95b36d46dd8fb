import { AppError, badRequest } from '../../errors.ts'
import { parseExact } from '../../values/exact-json.ts'
import { utf8Text } from '../../values/utf8.ts'

/** The limits of a JSON text. */
export interface JsonLimits {
  /** Values of any kind, containers and their members. */
  readonly values: number
  /** Depth of nested containers. */
  readonly depth: number
  /** Bytes of one key as sent. */
  readonly keyBytes: number
  /** Bytes of one text as sent. */
  readonly stringBytes: number
}

type Container = unknown[] | Record<string, unknown>

/** Maximum length of a number. */
const longestScalar = 1000

const array = 1
const object = 2

const quote = 0x22
const backslash = 0x5c
/** Number of bytes of a string that are checked one by one: most strings are short, and the native search has a fixed cost. */
const nearBytes = 24

/** The tokens that may come next. */
const Expect = { value: 0, valueOrEnd: 1, keyOrEnd: 2, key: 3, colon: 4, commaOrEnd: 5, text: 6, keyText: 7, scalar: 8 }

const Kind = { other: 0, space: 1, quote: 2, openObject: 3, openArray: 4, closeObject: 5, closeArray: 6, comma: 7 }
const colonKind = 8
const scalarKind = 9
const kindOf = kindsOfBytes()

/**
 * Reads JSON while it arrives: counts, and refuses at the byte where a limit is exceeded or the syntax is invalid. It never works
 * on more than a piece at a time, however long the text is. The structure is checked here, byte by byte; the values of a piece are
 * made by `JSON.parse`, which gets it with its open brackets closed. The containers of these brackets are then in `#open`, and the
 * members of the next piece are added to them. Duplicate keys: the last one counts, as always.
 */
export class JsonReader {
  readonly #limits: JsonLimits
  #expect = Expect.value
  #depth = 0
  /** For each open container, from 1: whether array or object; the position of its current key; whether it is "constructor". */
  readonly #kinds: number[] = [0]
  readonly #keyStart: number[] = [0]
  readonly #keyEnd: number[] = [0]
  readonly #underConstructor: boolean[] = [false, false]
  #values = 0
  /** Bytes read before the current chunk. */
  #offset = 0
  /** Position in the whole text where the current key, string or number begins. */
  #tokenStart = 0
  #escaped = false
  /** 1: the chunk ended after a backslash. */
  #skip = 0
  /** Position of the first backslash after the last search. */
  #nextBackslash = -1
  /** Bytes that have been read but not parsed into values: a list of members of the innermost of `#open`, or of nothing. */
  #pending: Buffer[] = []
  #pendingStart = 0
  readonly #open: Container[] = []
  /** One of `#open` has been closed: its value is already in its container, so the comma behind it is dropped. */
  #closedOpen = false
  #root: Container | undefined

  readonly #pieceBytes: number
  readonly #valueOf: (text: string) => unknown

  /**
   * `pieceBytes`: the number of bytes after which the input is parsed into values; that takes the event loop a millisecond.
   * `exact`: numbers that do not fit into a double are kept as their text (exact-json.ts).
   */
  constructor(limits: JsonLimits, { pieceBytes = 64 * 1024, exact = false } = {}) {
    this.#limits = limits
    this.#pieceBytes = pieceBytes
    this.#valueOf = exact ? parseExact : JSON.parse
  }

  /** Values read so far. */
  get values(): number {
    return this.#values
  }

  /** @throws {AppError} `PayloadTooLarge` for too many values, `ServerGeneric` for anything else that is not accepted. */
  write(chunk: Buffer): void {
    const end = chunk.length
    let index = this.#skip
    let from = 0
    this.#skip = 0
    this.#nextBackslash = -1
    if (this.#offset === 0 && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) {
      index = 3
      from = 3
      this.#pendingStart = 3
    }
    while (index < end) {
      const expect = this.#expect
      if (expect === Expect.text || expect === Expect.keyText) {
        index = this.#endOfText(chunk, index)
        if (index >= end) break
        if (expect === Expect.keyText) this.#endKey(chunk, from, index)
        else this.#endText(index)
        index++
        continue
      }
      if (expect === Expect.scalar) {
        while (index < end && kindOf[chunk[index] as number] === scalarKind) index++
        this.#checkScalar(index)
        if (index < end) this.#expect = Expect.commaOrEnd
        continue
      }
      const kind = kindOf[chunk[index] as number]
      if (kind === Kind.space) {
        index++
        continue
      }
      if (expect === Expect.commaOrEnd && kind === Kind.comma && this.#depth > 0) {
        if (this.#closedOpen) from = this.#dropPending(index)
        else if (this.#offset + index - this.#pendingStart >= this.#pieceBytes) from = this.#flushAt(chunk, from, index)
        this.#expect = this.#kinds[this.#depth] === array ? Expect.value : Expect.key
      } else if (kind === Kind.closeObject || kind === Kind.closeArray) from = this.#close(kind, chunk, from, index)
      else this.#begin(kind as number, index)
      index++
    }
    this.#skip = index - end
    this.#checkUnfinished(end)
    if (from < end) this.#pending.push(from === 0 ? chunk : chunk.subarray(from))
    this.#offset += end
  }

  /** The value. @throws {AppError} `ServerGeneric` when the text is not complete. */
  end(): unknown {
    const complete = this.#expect === Expect.commaOrEnd || this.#expect === Expect.scalar
    if (this.#depth > 0 || !complete) throw badJson('it ends too early', this.#offset)
    if (this.#root) return this.#root
    return this.#parse('', this.#takePending(), '')
  }

  /** The index of the closing quote, or, without one, the index where reading continues: the end, or one behind it. */
  #endOfText(chunk: Buffer, start: number): number {
    const end = chunk.length
    let index = start
    for (const near = Math.min(end, start + nearBytes); index < near; index++) {
      const byte = chunk[index]
      if (byte === quote) return index
      if (byte === backslash) {
        this.#escaped = true
        index++
      }
    }
    while (index < end) {
      const next = chunk.indexOf(quote, index)
      const stop = next === -1 ? end : next
      if (this.#nextBackslash < index) {
        const found = chunk.indexOf(backslash, index)
        this.#nextBackslash = found === -1 ? end : found
      }
      if (stop <= this.#nextBackslash) return stop
      this.#escaped = true
      index = this.#nextBackslash + 2
    }
    return index
  }

  #endText(index: number): void {
    this.#checkLength(this.#offset + index - this.#tokenStart, 'text', this.#limits.stringBytes)
    this.#expect = Expect.commaOrEnd
  }

  #endKey(chunk: Buffer, from: number, index: number): void {
    const end = this.#offset + index
    const length = end - this.#tokenStart
    this.#checkLength(length, 'key', this.#limits.keyBytes)
    this.#keyStart[this.#depth] = this.#tokenStart - 1 - this.#pendingStart
    this.#keyEnd[this.#depth] = end + 1 - this.#pendingStart
    this.#underConstructor[this.#depth + 1] = false
    // Only these can be "__proto__", "prototype" or "constructor".
    if (this.#escaped || length === 9 || length === 11) this.#checkKey(chunk, from, index)
    this.#expect = Expect.colon
  }

  /** Names that careless code could resolve to the prototype of all objects are never valid names here. */
  #checkKey(chunk: Buffer, from: number, index: number): void {
    const start = this.#tokenStart - this.#offset
    const bytes =
      start >= 0
        ? chunk.subarray(start, index)
        : Buffer.concat([...this.#pending, chunk.subarray(from, index)]).subarray(this.#tokenStart - this.#pendingStart)
    const key = this.#escaped ? this.#parse('"', bytes, '"', this.#tokenStart) : bytes.toString('latin1')
    const depth = this.#depth
    if (key === '__proto__' || (key === 'prototype' && this.#underConstructor[depth])) {
      throw badRequest(`The body has the key ${key}, which is not allowed.`, { key })
    }
    this.#underConstructor[depth + 1] = key === 'constructor'
  }

  /** Any token except comma and closing bracket: the beginning of a value or key. */
  #begin(kind: number, index: number): void {
    const expect = this.#expect
    if (expect === Expect.value || expect === Expect.valueOrEnd) this.#beginValue(kind, index)
    else if (kind === Kind.quote && (expect === Expect.key || expect === Expect.keyOrEnd)) {
      this.#beginToken(Expect.keyText, index + 1)
    } else if (kind === colonKind && expect === Expect.colon) this.#expect = Expect.value
    else throw this.#unexpected(index)
  }

  #beginValue(kind: number, index: number): void {
    if (++this.#values > this.#limits.values) throw tooMany(this.#limits.values)
    if (kind === Kind.quote) this.#beginToken(Expect.text, index + 1)
    else if (kind === scalarKind) this.#beginToken(Expect.scalar, index)
    else if (kind === Kind.openArray || kind === Kind.openObject) {
      if (++this.#depth > this.#limits.depth) {
        throw badRequest(`The body is nested deeper than ${this.#limits.depth}.`, { limit: this.#limits.depth })
      }
      const isArray = kind === Kind.openArray
      this.#kinds[this.#depth] = isArray ? array : object
      this.#underConstructor[this.#depth + 1] = false
      this.#expect = isArray ? Expect.valueOrEnd : Expect.keyOrEnd
    } else throw this.#unexpected(index)
  }

  #beginToken(expect: number, index: number): void {
    this.#expect = expect
    this.#tokenStart = this.#offset + index
    this.#escaped = false
  }

  /** Returns the start of the pending bytes. */
  #close(kind: number, chunk: Buffer, from: number, index: number): number {
    const depth = this.#depth
    const isArray = kind === Kind.closeArray
    const empty = this.#expect === (isArray ? Expect.valueOrEnd : Expect.keyOrEnd)
    if (!(empty || this.#expect === Expect.commaOrEnd) || this.#kinds[depth] !== (isArray ? array : object)) {
      throw this.#unexpected(index)
    }
    let pendingFrom = from
    if (this.#open.length === depth && depth > 0) {
      pendingFrom = this.#flushAt(chunk, from, index)
      const closed = this.#open.pop()
      if (depth === 1) this.#root = closed as Container
      this.#closedOpen = true
    }
    this.#depth = depth - 1
    this.#expect = Expect.commaOrEnd
    return pendingFrom
  }

  /** Parses everything before the index into values, and returns the start of the next pending bytes: after it. */
  #flushAt(chunk: Buffer, from: number, index: number): number {
    this.#pending.push(chunk.subarray(from, index))
    const bytes = this.#takePending()
    const inside = this.#open.length
    const members = this.#parse(
      this.#brackets(inside, inside - 1, '[', '{'),
      bytes,
      this.#brackets(this.#depth, Math.max(inside - 1, 0), ']', '}'),
    ) as Container
    const target = this.#open[inside - 1]
    if (target) append(target, members)
    else this.#open.push(members)
    let last = members
    for (let level = Math.max(inside, 1); level < this.#depth; level++) {
      last = (Array.isArray(last) ? last.at(-1) : last[this.#keyAt(level, bytes)]) as Container
      this.#open.push(last)
    }
    this.#pendingStart = this.#offset + index + 1
    return index + 1
  }

  #dropPending(index: number): number {
    this.#pending = []
    this.#pendingStart = this.#offset + index + 1
    this.#closedOpen = false
    return index + 1
  }

  /** The brackets of the containers, from one depth to the one before the other. */
  #brackets(from: number, to: number, ofArray: string, ofObject: string): string {
    let text = ''
    for (let level = from; level > to && level > 0; level--) text += this.#kinds[level] === array ? ofArray : ofObject
    return text
  }

  #keyAt(level: number, bytes: Buffer): string {
    return JSON.parse(bytes.toString('utf8', this.#keyStart[level], this.#keyEnd[level])) as string
  }

  #takePending(): Buffer {
    const [only] = this.#pending
    const bytes = only && this.#pending.length === 1 ? only : Buffer.concat(this.#pending)
    this.#pending = []
    return bytes
  }

  /** `start`: the position of the bytes in the whole text. */
  #parse(before: string, bytes: Buffer, after: string, start = this.#pendingStart): unknown {
    // Pieces end at brackets and commas, never inside a character.
    const text = before + utf8Text(bytes, 'The body', start) + after
    const half = indexOfHalfPair(text)
    if (half !== -1) {
      const byte = start + Buffer.byteLength(text.slice(before.length, half))
      throw badRequest(`The body has half of a surrogate pair at byte ${byte}, which no text can keep.`, { byte })
    }
    try {
      return this.#valueOf(text)
    } catch (cause) {
      // The position in the message refers to the piece.
      const [what] = (cause as Error).message.split(/ in JSON| at position|, "/)
      throw badJson(what ?? 'it cannot be read', start)
    }
  }

  /** A token that continues in the next chunk must not be collected without a limit. */
  #checkUnfinished(index: number): void {
    const length = this.#offset + index - this.#tokenStart
    if (this.#expect === Expect.text) this.#checkLength(length, 'text', this.#limits.stringBytes)
    else if (this.#expect === Expect.keyText) this.#checkLength(length, 'key', this.#limits.keyBytes)
  }

  #checkScalar(index: number): void {
    const length = this.#offset + index - this.#tokenStart
    if (length > longestScalar) throw badJson('a number is too long', this.#tokenStart)
  }

  #checkLength(length: number, what: string, limit: number): void {
    if (length > limit) throw badRequest(`The body has a ${what} of more than ${limit} bytes.`, { limit })
  }

  #unexpected(index: number): AppError {
    return badJson('there is something that does not belong there', this.#offset + index)
  }
}

function append(target: Container, members: Container): void {
  if (Array.isArray(target)) for (const member of members as unknown[]) target.push(member)
  else for (const [key, member] of Object.entries(members)) target[key] = member
}

/** The position of an escape in a JSON text that is half a surrogate pair (RFC 8259, 8.2), which would be stored differently. */
function indexOfHalfPair(text: string): number {
  if (!/\\u[dD]/.test(text)) return -1
  const escapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F]|.)/g
  for (const { 0: found, index } of text.matchAll(escapes)) if (found.length === 4) return index
  return -1
}

function badJson(what: string, byte: number): AppError {
  return badRequest(`The body is not JSON: ${what} (at or after byte ${byte}).`, { byte })
}

function tooMany(limit: number): AppError {
  const message = `The request body has more than ${limit} values.`
  return new AppError('PayloadTooLarge', { values: limit }, { message })
}

function kindsOfBytes(): Uint8Array {
  const kinds = new Uint8Array(256)
  for (const [characters, kind] of [
    [' \t\r\n', Kind.space],
    ['"', Kind.quote],
    ['{', Kind.openObject],
    ['[', Kind.openArray],
    ['}', Kind.closeObject],
    [']', Kind.closeArray],
    [',', Kind.comma],
    [':', colonKind],
    ['0123456789+-.abcdefghijklmnopqrstuvwxyzE', scalarKind],
  ] as const) {
    for (const character of characters) kinds[character.charCodeAt(0)] = kind
  }
  return kinds
}
