import { AppError } from '../../platform/errors.ts'
import { type JsonBody, JsonWriter } from '../../platform/http/json-answer.ts'
import { mapYielding, type Yielder } from '../../platform/process/cooperative-yield.ts'
import { isExactNumber, parseExact } from '../../platform/values/exact-json.ts'
import type { Wire } from '../masks/reader.ts'
import type { Content } from '../stored/content.ts'
import { flat } from './flat.ts'

/**
 * An answer in parts. Each object in whole form (requested, embedded, or below another) is a separate part: a wire object with
 * tokens in place of other parts. So each part is written once, however often it appears in the answer, and the size of the answer
 * is known before it is assembled.
 */
export interface Part {
  /** Null once it is written. */
  wire: Wire | null
  /** Text around parts by their numbers; null until it is written. */
  pieces: readonly (string | number)[] | null
  /** Bytes including all parts in it; -1 until known. */
  bytes: number
  /** The number of times it appears in the answer, as far as is known during rendering. */
  times: number
  /** Expected bytes of this part alone, including its links in short form. */
  readonly expected: number
}

/** The largest share of an answer that embedded objects may fill: the rest is for the requested objects. */
const embeddedShare = 1 / 4

/** Expected bytes of an object in its short form, and of everything around the fields of a whole one. */
export const shortBytes = 300
export const frameBytes = 700

export interface AnswerLimits {
  /** Most bytes. */
  readonly bytes: number
  /** Maximum number of places for linked objects that are filled with whole ones. */
  readonly embedded: number
}

export class AnswerParts {
  readonly #limits: AnswerLimits
  readonly #parts: Part[] = []
  /** Cannot occur in any stored text, since nobody knows it before the answer is sent. */
  readonly #mark = crypto.randomUUID()
  readonly #writer = new JsonWriter()
  /** Parts before this one are written. */
  #written = 0
  /** Expected bytes of parts that are rendered but not written yet. */
  #expected = 0
  #embedded = 0
  #short = 0
  #first = true

  constructor(limits: AnswerLimits) {
    this.#limits = limits
  }

  /** Linked objects that are answered short because there was no room for them. */
  get short(): number {
    return this.#short
  }

  /** Maximum number of objects below others that are loaded. */
  get mostObjects(): number {
    return this.#limits.embedded
  }

  get hasRoom(): boolean {
    return this.#embedded < this.#limits.embedded && this.#used() < this.#limits.bytes * embeddedShare
  }

  /** Reserves bytes for a part of the answer that cannot be left out. @throws {AppError} when the answer has become too large. */
  spend(bytes: number): void {
    this.#expected += bytes
    if (this.#writer.bytes + this.#expected > this.#limits.bytes) throw this.tooLarge()
  }

  /** Whether there is still room to embed linked objects; if not, counts those of `times` places as short. */
  mayEmbed(times: number): boolean {
    if (this.hasRoom) return true
    this.noteShort(times)
    return false
  }

  noteShort(times: number): void {
    this.#short += times
  }

  /**
   * Reserves room for a whole object in `times` places, of this size and with links of this size, each of which reserves its own
   * room. False: the object has to be short.
   */
  takePlaces(times: number, bytes: number, linkBytes: number): boolean {
    const most = this.#limits.bytes * embeddedShare
    if (this.#embedded + times > this.#limits.embedded || this.#used() + times * (bytes + linkBytes) > most) {
      this.noteShort(times)
      return false
    }
    this.#embedded += times
    this.#expected += times * bytes
    return true
  }

  /** A new part, whose wire object is set when it is rendered. */
  add(times: number, expected: number): number {
    return this.#parts.push({ wire: null, pieces: null, bytes: -1, times, expected }) - 1
  }

  /** The token for a value that is already JSON; the same token may be used in several places. */
  text(pieces: readonly string[]): string {
    return this.token(this.#parts.push({ wire: null, pieces, bytes: -1, times: 1, expected: 0 }) - 1)
  }

  part(number: number): Part {
    return this.#parts[number] as Part
  }

  /** The token for a part, for use in a wire object. */
  token(number: number | ''): string {
    return flat(this.#mark, ':', number)
  }

  /**
   * Writes these parts as the next elements of the answer, with all parts that they contain. With `each`, the texts are passed to
   * it instead, and the answer stays empty.
   * @throws {AppError} when the answer would be too large.
   */
  async write(tops: readonly number[], yielder: Yielder, each?: (text: string) => void): Promise<void> {
    const opening = `"${this.#mark}:`
    let objects = 0
    for (; this.#written < this.#parts.length; this.#written++) {
      const part = this.#parts[this.#written] as Part
      if (part.pieces) continue
      part.pieces = piecesOf(JSON.stringify(part.wire), opening)
      part.wire = null
      objects++
      if (yielder.due()) await yielder.yield()
    }
    this.#checkSize(tops, objects > tops.length)
    for (const top of tops) {
      if (each) each(this.#textOf(top))
      else {
        this.#writer.add(this.#first ? '[' : ',')
        this.#first = false
        this.#put(top)
      }
      // A part on top appears in the answer once.
      this.part(top).pieces = null
      if (yielder.due()) await yielder.yield()
    }
    this.#expected = 0
  }

  /**
   * These parts as values, with each token replaced by its part. A part with several tokens is one shared value, which is only for
   * reading.
   */
  async values(tops: readonly number[], yielder: Yielder): Promise<Wire[]> {
    const opening = this.token('')
    const made = new Map<number, unknown>()
    const valueAt = (number: number): unknown => {
      if (made.has(number)) return made.get(number)
      const { wire, pieces } = this.part(number)
      const value = pieces ? parseExact(pieces.join('')) : filled(wire)
      made.set(number, value)
      return value
    }
    const filled = (value: unknown): unknown => {
      if (typeof value === 'string')
        return value.startsWith(opening) ? valueAt(Number(value.slice(opening.length))) : value
      if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
      if (Array.isArray(value)) return value.map(filled)
      const members = Object.entries(value).filter(([, member]) => member !== undefined)
      return Object.fromEntries(members.map(([name, member]) => [name, filled(member)]))
    }
    return mapYielding(tops, (top) => valueAt(top) as Wire, yielder)
  }

  end(): JsonBody {
    this.#writer.add(this.#first ? '[]' : ']')
    return this.#writer.end()
  }

  /** `nested`: some of the written parts are inside other parts, and so may appear in many places. */
  #checkSize(tops: readonly number[], nested: boolean): void {
    // A character takes three bytes at most: mostly there is no need to count them.
    if (!nested && this.#writer.bytes + 3 * this.#lettersOf(tops) <= this.#limits.bytes) return
    let bytes = this.#writer.bytes
    for (const top of tops) bytes += this.#sizeOf(top)
    if (bytes > this.#limits.bytes) throw this.tooLarge()
  }

  #lettersOf(numbers: readonly number[]): number {
    let letters = 0
    for (const number of numbers) {
      for (const piece of this.part(number).pieces ?? []) {
        letters += typeof piece === 'number' ? this.#lettersOf([piece]) : piece.length
      }
    }
    return letters
  }

  #used(): number {
    return this.#writer.bytes + this.#expected
  }

  #sizeOf(number: number): number {
    const part = this.part(number)
    if (part.bytes === -1) {
      part.bytes = (part.pieces ?? []).reduce<number>(
        (sum, piece) => sum + (typeof piece === 'number' ? this.#sizeOf(piece) : Buffer.byteLength(piece)),
        0,
      )
    }
    return part.bytes
  }

  #put(number: number): void {
    for (const piece of this.part(number).pieces ?? []) {
      if (typeof piece === 'number') this.#put(piece)
      else this.#writer.add(piece)
    }
  }

  #textOf(number: number): string {
    const pieces = this.part(number).pieces ?? []
    return pieces.map((piece) => (typeof piece === 'number' ? this.#textOf(piece) : piece)).join('')
  }

  tooLarge(): AppError {
    return new AppError('AnswerTooLarge', { most: this.#limits.bytes })
  }
}

/** Texts, and between them the numbers of the parts whose tokens begin with `opening`. */
function piecesOf(text: string, opening: string): (string | number)[] {
  const pieces: (string | number)[] = []
  let from = 0
  for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, from)) {
    const end = text.indexOf('"', at + opening.length)
    pieces.push(text.slice(from, at), Number(text.slice(at + opening.length, end)))
    from = end + 1
  }
  pieces.push(from === 0 ? text : text.slice(from))
  return pieces
}

/** Estimated bytes of a content as JSON: everything that can grow with stored data counts. */
export function expectedBytes(value: unknown): number {
  if (typeof value === 'string') return value.length + 3
  if (typeof value !== 'object' || value === null) return 8
  let bytes = 2
  if (Array.isArray(value)) for (const entry of value) bytes += expectedBytes(entry)
  // Without the names of members: names that are numbers would each be converted to a string.
  else for (const entry of Object.values(value)) bytes += 20 + expectedBytes(entry)
  return bytes
}

const sizes = new WeakMap<Content, number>()

/** The same, cached: contents are never changed. */
export function contentBytes(content: Content): number {
  let bytes = sizes.get(content)
  if (bytes === undefined) {
    bytes = expectedBytes(content)
    sizes.set(content, bytes)
  }
  return bytes
}
