/**
 * Binary sort keys: bytes whose order is the order that ICU gives the texts, so that sorting a large result compares
 * bytes and an index can hold the order. Neither PostgreSQL nor JavaScript hands out ICU's own keys; but
 * `Intl.Collator` can be asked for the order of single characters, and from that the keys are built: first what
 * letters are there (accents and case aside), then the accents, then the case.
 *
 * A key is `primary 00 accents 00 case`; levels at the end that say nothing are left out. Long texts are cut.
 */

/** Longest key in bytes. */
const longestKey = 64

export interface SortKeyOptions {
  /** Runs of digits count as numbers: `Car 11` before `Car 100`. */
  readonly numeric: boolean
  readonly maxLength?: number
}

export interface Collation {
  key(text: string, options: SortKeyOptions): Buffer
}

interface Weight {
  /** Bytes of the letter without accent and case; empty when it does not count (a combining mark). */
  readonly primary: readonly number[]
  readonly accent: number
  readonly letterCase: number
}

const cache = new Map<string, Collation>()

/** The collation of a language; languages that sort alike share one. */
export function collation(language: string): Collation {
  const known = cache.get(language)
  if (known) return known
  const tag = Intl.Collator.supportedLocalesOf(language)[0] ?? 'und'
  const table = buildTable(tag)
  // Most languages sort as the root does: keep one table for all of them.
  const twin = [...cache.values()].find((other) => (other as TableCollation).fingerprint === table.fingerprint)
  const result = twin ?? table
  cache.set(language, result)
  return result
}

interface TableCollation extends Collation {
  readonly fingerprint: string
}

function buildTable(locale: string): TableCollation {
  const collators = {
    base: new Intl.Collator(locale, { sensitivity: 'base', ignorePunctuation: false }),
    accent: new Intl.Collator(locale, { sensitivity: 'accent', ignorePunctuation: false }),
    all: new Intl.Collator(locale, { sensitivity: 'variant', ignorePunctuation: false }),
  }
  const contracted = contractions(collators.base, locale)
  const characters = [...alphabet(locale), ...contracted].sort(
    (a, b) => collators.all.compare(a, b) || (a < b ? -1 : 1),
  )
  const classes = groupBy(characters, (a, b) => collators.base.compare(a, b) === 0)
  const codes = primaryCodes(classes, scriptOf(locale))
  const weights = new Map<string, Weight>()
  let numberLead: readonly number[] = []
  for (const [index, members] of classes.entries()) {
    const ignorable = collators.base.compare(members[0] as string, '') === 0
    if (members.includes('0')) numberLead = codes[index] as readonly number[]
    for (const [accent, variants] of groupBy(members, (a, b) => collators.accent.compare(a, b) === 0).entries()) {
      for (const [letterCase, character] of variants.entries()) {
        weights.set(character, {
          primary: ignorable ? [] : (codes[index] as readonly number[]),
          accent: ignorable ? Math.min(255, accent + 128) : Math.min(127, accent),
          letterCase: Math.min(255, letterCase),
        })
      }
    }
  }
  const expansions = findExpansions(characters, collators.base)
  const context = compact(weights, expansions, numberLead)
  return {
    fingerprint: fingerprint(classes),
    key: (text, options) => sortKey(context, text, options),
  }
}

/** All single characters of the basic plane but ideographs and Hangul syllables, which sort by their code. */
function alphabet(locale: string): string[] {
  const characters: string[] = []
  const ideographs = /^(zh|ja|ko|yue)\b/.test(locale)
  for (let code = 1; code < 0xfffe; code++) {
    if (code >= 0xac00 && code < 0xf900) continue
    if (!ideographs && ((code >= 0x3400 && code < 0x4dc0) || (code >= 0x4e00 && code < 0xa000))) continue
    const character = String.fromCharCode(code)
    if (/\p{Cn}/u.test(character)) continue
    characters.push(character)
  }
  return characters
}

/**
 * Pairs and triples of letters that a language sorts as one (`ch` in Czech, `aa` in Danish): they stand behind
 * everything else that begins with their first letter.
 */
function contractions(base: Intl.Collator, locale: string): string[] {
  const letters = [...'abcdefghijklmnopqrstuvwxyzáäåæçčďéěëíľłňñóöøřšťúůüýžđćśźżąęő']
  const after = (text: string, end: string): boolean => base.compare(text, `${end}\uffff`) > 0
  const pairs = letters.flatMap((a) => letters.filter((b) => after(a + b, a)).map((b) => a + b))
  const triples = pairs.flatMap((pair) => letters.filter((c) => after(pair + c, pair)).map((c) => pair + c))
  return [...pairs, ...triples].flatMap((each) => {
    const [first = '', ...rest] = each
    const upper = (text: string): string => text.toLocaleUpperCase(locale)
    const forms = [each, upper(first) + rest.join(''), upper(each), first + upper(rest.join(''))]
    return [...new Set(forms)].filter((form) => form.length === each.length)
  })
}

function groupBy(sorted: readonly string[], same: (a: string, b: string) => boolean): string[][] {
  const groups: string[][] = []
  for (const character of sorted) {
    const group = groups.at(-1)
    if (group && same(group[0] as string, character)) group.push(character)
    else groups.push([character])
  }
  return groups
}

/** Letters that get the short codes, besides Latin ones. */
function scriptOf(locale: string): RegExp {
  const language = locale.split('-', 1)[0] as string
  if (['ru', 'uk', 'bg', 'sr', 'mk', 'be', 'kk', 'ky', 'mn'].includes(language)) return /^[\u0430-\u045f]$/
  if (language === 'el') return /^[\u03b1-\u03c9]$/
  if (language === 'he' || language === 'yi') return /^[\u05d0-\u05ea]$/
  if (['ar', 'fa', 'ur'].includes(language)) return /^[\u0621-\u064a]$/
  return /^(?!)/
}

/**
 * A prefix code in the order of the classes: frequent characters take one byte, all others between two frequent ones
 * share a first byte and have two more. 0 ends a level, so codes start at 2.
 */
function primaryCodes(classes: readonly (readonly string[])[], script: RegExp): readonly (readonly number[])[] {
  const frequent = (members: readonly string[]): boolean =>
    members.some((each) => /^[\x20-\x7e]$/.test(each) || script.test(each))
  const codes: number[][] = []
  let lead = 1
  let inGap = -1
  for (const members of classes) {
    if (frequent(members)) {
      inGap = -1
      codes.push([++lead])
      continue
    }
    if (inGap === -1) lead++
    inGap++
    codes.push([lead, inGap >> 8, inGap & 255])
  }
  if (lead > 250) throw new Error('too many frequent characters for one byte')
  return codes
}

/** Characters that sort as several others: `ß` as `ss`, `æ` as `ae`, `½` as `1⁄2`. */
function findExpansions(characters: readonly string[], base: Intl.Collator): ReadonlyMap<string, string> {
  const candidates: Record<string, string> = { ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ǽ: 'ae', Ǽ: 'AE' }
  const found = new Map<string, string>()
  for (const character of characters) {
    if (character.length > 1) continue
    const wide = candidates[character] ?? character.normalize('NFKD').replace(/\p{M}/gu, '')
    if (wide.length > 1 && !wide.includes(character) && base.compare(character, wide) === 0) found.set(character, wide)
  }
  // A doubled pair is written short: Hungarian `lly` sorts as `lyly`.
  for (const pair of characters) {
    if (pair.length !== 2) continue
    for (const first of new Set([pair[0] as string, (pair[0] as string).toUpperCase()])) {
      const wide = first + pair.slice(1) + pair
      if (base.compare(first + pair, wide) === 0) found.set(first + pair, wide)
    }
  }
  return found
}

function fingerprint(classes: readonly (readonly string[])[]): string {
  let hash = 0
  for (const members of classes) {
    for (const character of members) {
      for (let i = 0; i < character.length; i++) hash = (Math.imul(hash, 31) + character.charCodeAt(i)) | 0
    }
    hash = (Math.imul(hash, 31) + 1) | 0
  }
  return `${classes.length}:${hash}`
}

interface TableContext {
  /** Single characters by code: `present << 26 | number of bytes << 24 | bytes`. */
  readonly primary: Int32Array
  readonly accent: Uint8Array
  readonly letterCase: Uint8Array
  /** Characters that sort as several, or begin a unit of several: by code. */
  readonly unusual: Uint8Array
  /** Units of several characters that sort as one. */
  readonly units: ReadonlyMap<string, Weight>
  /** What sorts as several others. */
  readonly expansions: ReadonlyMap<string, string>
  readonly longest: number
  /** Stands before a number. */
  readonly numberLead: readonly number[]
}

function compact(
  weights: ReadonlyMap<string, Weight>,
  expansions: ReadonlyMap<string, string>,
  numberLead: readonly number[],
): TableContext {
  const primary = new Int32Array(0x10000)
  const accent = new Uint8Array(0x10000)
  const letterCase = new Uint8Array(0x10000)
  const unusual = new Uint8Array(0x10000)
  const units = new Map<string, Weight>()
  for (const [unit, weight] of weights) {
    if (unit.length > 1) {
      units.set(unit, weight)
      continue
    }
    const code = unit.charCodeAt(0)
    const [a = 0, b = 0, c = 0] = weight.primary
    primary[code] = (1 << 26) | (weight.primary.length << 24) | (a << 16) | (b << 8) | c
    accent[code] = weight.accent
    letterCase[code] = weight.letterCase
  }
  const several = [...units.keys(), ...expansions.keys()]
  for (const unit of several) unusual[unit.charCodeAt(0)] = 1
  const longest = Math.max(1, ...several.map((unit) => unit.length))
  return { primary, accent, letterCase, unusual, units, expansions, longest, numberLead }
}

// Keys are built here and copied out: one buffer for all, since nothing runs in between.
const primaryBytes = Buffer.alloc(1024)
const accentBytes = Buffer.alloc(1024)
const caseBytes = Buffer.alloc(1024)

function sortKey(table: TableContext, text: string, { numeric, maxLength = longestKey }: SortKeyOptions): Buffer {
  const source = prepare(text, maxLength)
  const level: Levels = { primary: 0, accents: 0, accentsUsed: 0, cases: 0, casesUsed: 0 }
  for (let i = 0; i < source.length && level.primary < maxLength; ) {
    if (numeric && isDigit(source, i)) i = addNumber(table, level, source, i)
    else i = addCharacter(table, level, source, i)
  }
  if (level.primary >= maxLength) return Buffer.from(primaryBytes.subarray(0, maxLength))
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
  /** Length up to the last accent that says something. */
  accentsUsed: number
  cases: number
  casesUsed: number
}

/** Hamza and Ayn at the start of a transcription sort before all letters. */
function prepare(text: string, maxLength: number): string {
  // Eight characters a byte is more than any text with marks needs.
  const short = text.length > maxLength * 8 ? text.slice(0, maxLength * 8) : text
  if (/^[\x20-\x7e]*$/.test(short)) return short
  return short.replace(/[ʾʿ]/g, '@').normalize('NFC')
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** A number: how many digits it has, then the digits; so shorter numbers come first. */
function addNumber(table: TableContext, level: Levels, text: string, start: number): number {
  let end = start
  while (end < text.length && isDigit(text, end)) end++
  let first = start
  while (first < end && text.charCodeAt(first) === 48) first++
  const digits = Math.min(end - first, 250)
  for (const byte of table.numberLead) primaryBytes[level.primary++] = byte
  primaryBytes[level.primary++] = digits
  for (let i = first; i < first + digits && level.primary < 1000; i += 2) {
    const high = text.charCodeAt(i) - 48
    const low = i + 1 < first + digits ? text.charCodeAt(i + 1) - 48 : 0
    primaryBytes[level.primary++] = high * 16 + low
  }
  addMinor(level, 0, 0)
  return end
}

function addCharacter(table: TableContext, level: Levels, text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (table.unusual[unit] === 1) {
    for (let length = Math.min(table.longest, text.length - at); length > 0; length--) {
      if (addUnit(table, level, text.slice(at, at + length))) return at + length
    }
  }
  if (addSingle(table, level, unit)) return at + 1
  // Ideographs, Hangul and other planes: by code, behind everything else.
  const code = text.codePointAt(at) as number
  for (const byte of [0xfe, code >> 16, (code >> 8) & 255, code & 255]) primaryBytes[level.primary++] = byte
  addMinor(level, 0, 0)
  return at + (code > 0xffff ? 2 : 1)
}

function addSingle(table: TableContext, level: Levels, code: number, accent = table.accent[code] as number): boolean {
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
function addUnit(table: TableContext, level: Levels, unit: string): boolean {
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

/** Accent of a letter that is written as part of another: behind all true accents. */
const expanded = 127

function addWeight(level: Levels, weight: Weight): void {
  for (const byte of weight.primary) primaryBytes[level.primary++] = byte
  addMinor(level, weight.accent, weight.letterCase)
}

function addMinor(level: Levels, accent: number, letterCase: number): void {
  // 1 is the plain letter, so that the end of the level (0) comes before everything.
  accentBytes[level.accents++] = Math.min(255, accent + 1)
  if (accent > 0) level.accentsUsed = level.accents
  caseBytes[level.cases++] = Math.min(255, letterCase + 1)
  if (letterCase > 0) level.casesUsed = level.cases
}
