/**
 * Binary sort keys: bytes whose order is ICU's order of the texts, so that sorting a large result compares bytes and an index can
 * hold the order. Neither PostgreSQL nor JavaScript provides ICU's own keys. But `Intl.Collator` can be asked for the order of
 * single characters, and the keys are built from that: first the letters without accents and case, then the accents, then the case.
 *
 * A key is `primary 00 accents 00 case`; empty levels at the end are left out. Its length depends on the text. A caller that needs
 * bounded keys (such as an index) takes the first bytes, and the rest where these are equal.
 */

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { buildTable, type CollationTable, type Weight } from './collation-table.ts'

/** The number of letters by which a text is sorted. No real texts differ only after these. */
const mostLetters = 65_536
/** The highest number of bytes that one letter or number adds, with room to spare. */
const mostAdded = 1024

export interface SortKeyOptions {
  /** Runs of digits count as numbers: `Car 11` before `Car 100`. */
  readonly numeric: boolean
}

export interface Collation {
  key(text: string, options: SortKeyOptions): Buffer
}

const tables = new Map<string, CollationTable>()
/** Languages whose tables a thread is building. */
const pending = new Map<string, Promise<void>>()

/** Builds the tables of languages that have none yet, in a worker thread, so that `collation` does not block the event loop. */
export async function prepareCollations(languages: readonly string[]): Promise<void> {
  const missing = languages.filter((language) => !tables.has(language) && !pending.has(language))
  if (missing.length > 0) {
    const building = buildApart(missing.map(localeOf))
      // If the thread fails, the tables are built at their first use.
      .then((built) => {
        for (const [index, table] of built.entries()) adopt(missing[index] as string, table)
      })
      .catch(() => {})
      .finally(() => {
        for (const language of missing) pending.delete(language)
      })
    for (const language of missing) pending.set(language, building)
  }
  await Promise.all(languages.map((language) => pending.get(language)))
}

/** The thread does not prevent the process from ending. */
function buildApart(locales: readonly string[]): Promise<readonly CollationTable[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(`./collation-worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: locales,
    })
    worker.unref()
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread ended without tables')))
  })
}

/** The collation of a language; languages with the same order share one table. */
export function collation(language: string): Collation {
  const table = tables.get(language) ?? adopt(language, buildTable(localeOf(language)))
  return { key: (text, options) => sortKey(table, text, options) }
}

function localeOf(language: string): string {
  return Intl.Collator.supportedLocalesOf(language)[0] ?? 'und'
}

function adopt(language: string, own: CollationTable): CollationTable {
  // Most languages have the order of the root locale.
  const table = [...tables.values()].find((other) => other.fingerprint === own.fingerprint) ?? own
  tables.set(language, table)
  return table
}

// Keys are built here and copied out. One buffer is enough, because no other code runs in between.
let primaryBytes = Buffer.alloc(4 * mostAdded)
let accentBytes = Buffer.alloc(4 * mostAdded)
let caseBytes = Buffer.alloc(4 * mostAdded)

function makeRoom({ primary, accents }: Levels): void {
  if (Math.max(primary, accents) + mostAdded < primaryBytes.length) return
  const larger = (bytes: Buffer): Buffer<ArrayBuffer> => Buffer.concat([bytes], 2 * bytes.length)
  primaryBytes = larger(primaryBytes)
  accentBytes = larger(accentBytes)
  caseBytes = larger(caseBytes)
}

function sortKey(table: CollationTable, text: string, { numeric }: SortKeyOptions): Buffer {
  const source = prepare(text)
  const level: Levels = { primary: 0, accents: 0, accentsUsed: 0, cases: 0, casesUsed: 0 }
  for (let i = 0; i < source.length; ) {
    makeRoom(level)
    if (numeric && isDigit(source, i)) i = addNumber(table, level, source, i)
    else i = addCharacter(table, level, source, i)
  }
  return joinLevels(level)
}

function joinLevels({ primary, accentsUsed, casesUsed }: Levels): Buffer {
  const minor = casesUsed > 0 ? accentsUsed + casesUsed + 2 : accentsUsed > 0 ? accentsUsed + 1 : 0
  const key = Buffer.allocUnsafe(primary + minor)
  key.set(primaryBytes.subarray(0, primary))
  if (minor === 0) return key
  key[primary] = 0
  key.set(accentBytes.subarray(0, accentsUsed), primary + 1)
  if (casesUsed === 0) return key
  key[primary + 1 + accentsUsed] = 0
  key.set(caseBytes.subarray(0, casesUsed), primary + 2 + accentsUsed)
  return key
}

interface Levels {
  primary: number
  accents: number
  /** Length up to the last accent that is not the default. */
  accentsUsed: number
  cases: number
  casesUsed: number
}

/** Hamza and Ayn at the start of a transcription sort before all letters. */
function prepare(text: string): string {
  const short = text.length > mostLetters ? text.slice(0, mostLetters) : text
  if (/^[\x20-\x7e]*$/.test(short)) return short
  return short.replace(/[ʾʿ]/g, '@').normalize('NFC')
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** A number: the number of its digits, then the digits; so shorter numbers come first. */
function addNumber(table: CollationTable, level: Levels, text: string, start: number): number {
  let end = start
  while (end < text.length && isDigit(text, end)) end++
  let first = start
  while (first < end && text.charCodeAt(first) === 48) first++
  const digits = Math.min(end - first, 250)
  for (const byte of table.numberLead) primaryBytes[level.primary++] = byte
  primaryBytes[level.primary++] = digits
  for (let i = first; i < first + digits; i += 2) {
    const high = text.charCodeAt(i) - 48
    const low = i + 1 < first + digits ? text.charCodeAt(i + 1) - 48 : 0
    primaryBytes[level.primary++] = high * 16 + low
  }
  addMinor(level, 0, 0)
  return end
}

function addCharacter(table: CollationTable, level: Levels, text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (table.unusual[unit] === 1) {
    for (let length = Math.min(table.longest, text.length - at); length > 0; length--) {
      if (addUnit(table, level, text.slice(at, at + length))) return at + length
    }
  }
  if (addSingle(table, level, unit)) return at + 1
  // Hangul, ideographs and other planes: by code, behind everything else.
  const code = text.codePointAt(at) as number
  const lead = code >= 0xac00 && code <= 0xd7a3 ? 0xfd : 0xfe
  for (const byte of [lead, code >> 16, (code >> 8) & 255, code & 255]) primaryBytes[level.primary++] = byte
  addMinor(level, 0, 0)
  return at + (code > 0xffff ? 2 : 1)
}

function addSingle(table: CollationTable, level: Levels, code: number, accent = table.accent[code] as number): boolean {
  const packed = table.primary[code] as number
  if (packed === 0) return false
  const bytes = (packed >> 24) & 3
  if (bytes > 0) primaryBytes[level.primary++] = (packed >> 16) & 255
  if (bytes > 1) primaryBytes[level.primary++] = (packed >> 8) & 255
  if (bytes > 2) primaryBytes[level.primary++] = packed & 255
  addMinor(level, accent, table.letterCase[code] as number)
  return true
}

/** Several characters that sort as one, or one that sorts as several. */
function addUnit(table: CollationTable, level: Levels, unit: string): boolean {
  const expansion = table.expansions.get(unit)
  if (expansion === undefined) {
    const weight = table.units.get(unit)
    if (weight) addWeight(level, weight)
    return weight !== undefined
  }
  for (let i = 0; i < expansion.length; ) {
    const pair = table.units.get(expansion.slice(i, i + 2))
    if (pair) addWeight(level, { ...pair, accent: expanded })
    else addSingle(table, level, expansion.charCodeAt(i), expanded)
    i += pair ? 2 : 1
  }
  return true
}

/** Accent of a letter that is part of a ligature: sorts behind all true accents. */
const expanded = 127

function addWeight(level: Levels, weight: Weight): void {
  for (const byte of weight.primary) primaryBytes[level.primary++] = byte
  addMinor(level, weight.accent, weight.letterCase)
}

function addMinor(level: Levels, accent: number, letterCase: number): void {
  // 1 is the plain letter, so that the end of the level (0) sorts first.
  accentBytes[level.accents++] = Math.min(255, accent + 1)
  if (accent > 0) level.accentsUsed = level.accents
  caseBytes[level.cases++] = Math.min(255, letterCase + 1)
  if (letterCase > 0) level.casesUsed = level.cases
}
