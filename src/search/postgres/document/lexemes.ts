/**
 * The lexemes of search documents: all searchable data of an object as short texts in one `tsvector`, so that a request and the
 * rights of its caller become one `tsquery`, which one index answers. Indexing writes them, searching queries them. Only this file
 * knows their form.
 *
 * `code` is a column (its id in base 36), for localized text with the language: `c.en-us`.
 */

import type { FileMark } from '../../../rights/service.ts'
import { hash53 } from '../../document/hash.ts'
import type { Weight } from '../../plan/fields.ts'

/** A word of the object's own texts that the masks put into `_fulltext`. */
export const fulltextWord = (word: string): string => fulltextWords + word
export const fulltextWords = '~'
/** The same for a group of columns that the same masks show, where an object type has several such groups. */
export const groupWord = (group: string, word: string): string => groupWords(group) + word
export const groupWords = (group: string): string => `~${group}:`
/** A word of the titles of linked objects that belong to `_fulltext`. */
export const linkedWord = (word: string): string => linkedWords + word
export const linkedWords = '@'
/** The columns of the words of the last three kinds. These kinds do not tell which mask shows the word to whom. */
export const fulltextFrom = (set: string): string => `_f${set}`
/** A word of the title that others show the object by. */
export const titleWord = (word: string): string => titleWords + word
export const titleWords = '_s:'
/** The object is below another one in a hierarchy. */
export const standsBelow = (id: number): string => belowObject + id
export const belowObject = '_u'
/** A word of a column, or the whole token of a `string` column; with positions, for phrases. */
export const columnWord = (code: string, word: string): string => columnWords(code) + word
export const columnWords = (code: string): string => `${code}:`
/** An exact value: link targets, `true`, values of columns that are prepared for facets. */
export const exactValue = (code: string, value: string | number): string => `${code}=${shortValue(String(value))}`
/** An ancestor of a link target. */
export const linkAncestor = (code: string, id: number): string => `${code}^${id}`
/** The column has a value. */
export const hasValue = (code: string): string => `${code}!`
/** A number (`orderedNumber`), the first and the last moment of a date (`orderedMoment`). */
export const numberValue = (code: string, text: string): string => `${code}#${text}`
export const dateStart = (code: string, text: string): string => `${code}<${text}`
export const dateEnd = (code: string, text: string): string => `${code}>${text}`

/** A cell that contains a part of a geometry (geo/cells.ts). */
export const geoCell = (code: string, cell: string): string => `${code}*${cell}`

export const ofObjecttype = (id: number): string => `_t${id}`
export const inPool = (id: number): string => `_p${id}`
/** In the pool or in one below it. */
export const belowPool = (id: number): string => `_P${id}`
export const withoutPool = '_p-'
export const withTag = (id: number): string => `_g${id}`
/** `u5`, `g3` */
export const ownedBy = (principal: string): string => `_o${principal}`
/** Private permissions: only sticky grants of its pools and its object type apply to the object. */
export const withoutContainer = '_x'
/** A principal who may read the object by its own grants. */
export const readableBy = (principal: string): string => `_r${principal}`
/** A principal that a grant on the object limits to some masks. */
export const limitedFor = (principal: string): string => `_l${principal}`
/** A mask of such a grant; `*` for all masks. */
export const maskFor = (principal: string, mask: number | string): string => `_m${principal}=${mask}`
/** Properties of the preferred files of a column, and principals who may see them. */
export const fileMark = (columnId: number, by: FileMark, name: string): string =>
  `_v${columnId.toString(36)}${marks[by]}${name}`
const marks: Record<FileMark, string> = { class: '=', version: ':', seer: '!', originalSeer: '?' }
/** A row of a nested table. */
export const rowOf = (tableId: number): string => `_n${tableId}`

/** Localized text: configured languages have a code each, all others share one. */
export function languageCode(code: string, language: string, configured: readonly string[]): string {
  return configured.includes(language) ? `${code}.${language.toLowerCase()}` : otherLanguages(code)
}

export const otherLanguages = (code: string): string => `${code}.*`

/** Shortens long values to their beginning and a hash. */
export function shortValue(value: string): string {
  if (value.length <= 60) return value
  return `${value.slice(0, 30).toWellFormed()}\u2026${hash(value)}`
}

/** 53 bits (cyrb53) in base 36: enough to tell the long values of one column apart. */
function hash(text: string): string {
  return hash53(text).toString(36)
}

const weights: Record<Weight, number> = { A: 3 << 14, B: 2 << 14, C: 1 << 14, D: 0 }
/** The highest position that PostgreSQL stores. */
const lastPosition = 16_383
const mostPositions = 255
/** The capacity of one vector, with room to spare (1 MiB in PostgreSQL). Words beyond it cannot be found. */
const mostBytes = 900_000
/** Bytes of a UTF-16 unit in UTF-8, at most. */
const unitBytes = 3

/** When a set knows more lexemes than this, it forgets all of them. */
const mostKnown = 20_000

/** Lexemes of a set with the same beginning: a word is looked up without building a new text for each of its uses. */
export interface Family {
  readonly beginning: string
  /** The number of each lexeme, by its text after the beginning. */
  readonly numbers: Map<string, number>
}

/**
 * The lexemes of one document or row while it is built. A set is reused: indexing builds thousands of documents, and garbage
 * collection after each would be most of the work. So a set keeps the lexemes of earlier documents with their numbers, and marks
 * the lexemes of the current document: most of them recur.
 */
export class LexemeSet {
  /** Beginnings of lexemes; by number: the lexeme, and the last document that has it. */
  readonly #families = new Map<string, Family>()
  readonly #whole = this.family('')
  readonly #texts: string[] = []
  #marks = new Uint32Array(256)
  #document = 1
  /** By number: how many positions, the first and the last one. */
  #counts = new Uint16Array(256)
  #first = new Int32Array(256)
  #last = new Int32Array(256)
  /** Numbers of the lexemes of this document, in the order in which they came. */
  #present = new Int32Array(256)
  #size = 0
  /** Positions of all lexemes; each points to the next one of its lexeme. */
  #positions = new Uint16Array(1024)
  #next = new Int32Array(1024)
  #used = 0
  #bytes = 0

  clear(): void {
    this.#document++
    this.#size = 0
    this.#used = 0
    this.#bytes = 0
    if (this.#texts.length < mostKnown) return
    for (const { numbers } of this.#families.values()) numbers.clear()
    this.#texts.length = 0
    this.#marks.fill(0)
  }

  add(lexeme: string): void {
    this.#enter(this.#whole, lexeme)
  }

  /** The family of lexemes with this beginning. The beginnings must be such that no lexeme belongs to two families. */
  family(beginning: string): Family {
    const known = this.#families.get(beginning)
    if (known) return known
    const fresh = { beginning, numbers: new Map() }
    this.#families.set(beginning, fresh)
    return fresh
  }

  addTo(family: Family, rest: string): void {
    this.#enter(family, rest)
  }

  /** Adds a lexeme at a position of its text; at most `limit` positions of one lexeme are kept. Positions must ascend. */
  addAt(family: Family, rest: string, position: number, weight: Weight = 'D', limit = mostPositions): void {
    const number = this.#enter(family, rest)
    if (number < 0) return
    const place = Math.min(position, lastPosition)
    const count = this.#counts[number] as number
    if (count >= limit) return
    const last = this.#last[number] as number
    if (count > 0 && ((this.#positions[last] as number) & lastPosition) >= place) return
    if (this.#used === this.#positions.length) this.#grow()
    const at = this.#used++
    this.#positions[at] = place | weights[weight]
    if (count === 0) this.#first[number] = at
    else this.#next[last] = at
    this.#last[number] = at
    this.#counts[number] = count + 1
    this.#bytes += 2
  }

  /** The number of the lexeme, which the document has from now on; -1 when there is no room for it. */
  #enter(family: Family, rest: string): number {
    const known = family.numbers.get(rest)
    if (known !== undefined && this.#marks[known] === this.#document) return known
    if (this.#bytes >= mostBytes) return -1
    const number = known ?? this.#learn(family, rest)
    this.#marks[number] = this.#document
    this.#counts[number] = 0
    if (this.#size === this.#present.length) this.#present = enlarged(this.#present)
    this.#present[this.#size++] = number
    this.#bytes += family.beginning.length + rest.length + 8
    return number
  }

  #learn({ beginning, numbers }: Family, rest: string): number {
    const number = this.#texts.length
    if (number === this.#marks.length) {
      this.#marks = enlarged(this.#marks)
      this.#counts = enlarged(this.#counts)
      this.#first = enlarged(this.#first)
      this.#last = enlarged(this.#last)
    }
    numbers.set(rest, number)
    this.#texts.push(beginning + rest)
    return number
  }

  #grow(): void {
    this.#positions = enlarged(this.#positions)
    this.#next = enlarged(this.#next)
  }

  /** The binary form of a `tsvector`, as PostgreSQL receives it. Overwritten by the next call on any set. */
  encode(): Buffer {
    const needed = this.#bytes * unitBytes + 16
    if (scratch.length < needed) scratch = Buffer.allocUnsafe(needed * 2)
    let at = scratch.writeInt32BE(this.#size, 0)
    for (let index = 0; index < this.#size; index++) {
      const number = this.#present[index] as number
      at = writeText(this.#texts[number] as string, at)
      scratch[at++] = 0
      const count = this.#counts[number] as number
      at = writeShort(count, at)
      for (let i = 0, node = this.#first[number] as number; i < count; i++, node = this.#next[node] as number) {
        at = writeShort(this.#positions[node] as number, at)
      }
    }
    return scratch.subarray(0, at)
  }
}

let scratch = Buffer.allocUnsafe(1 << 16)

function writeShort(value: number, at: number): number {
  scratch[at] = value >> 8
  scratch[at + 1] = value & 255
  return at + 2
}

/** Most lexemes are short and plain: then a loop is faster than the call. */
function writeText(text: string, start: number): number {
  const { length } = text
  if (length > 40) return start + scratch.write(text, start)
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 127) return start + scratch.write(text, start)
    scratch[start + i] = unit
  }
  return start + length
}

function enlarged<T extends Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>(
  array: T,
): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2)
  larger.set(array)
  return larger
}
