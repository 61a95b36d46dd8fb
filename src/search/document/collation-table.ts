/**
 * The order of a language's letters as weights, found by asking `Intl.Collator` about single characters, pairs and triples: which
 * of them are one letter, which characters sort as several, which differ only by accent or case.
 */

export interface Weight {
  /** Bytes of the letter without accent and case; empty when it does not count (a combining mark). */
  readonly primary: readonly number[]
  readonly accent: number
  readonly letterCase: number
}

export function buildTable(locale: string): CollationTable {
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
  return { ...compact(weights, expansions, numberLead), fingerprint: fingerprint(classes) }
}

/** All single characters of the basic plane except ideographs and Hangul syllables, which sort by their code. */
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
 * Pairs and triples of letters that a language sorts as one (`ch` in Czech, `aa` in Danish). They sort behind everything else that
 * begins with their first letter.
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

/** Letters that get the short codes, beside Latin ones. */
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
  // A doubled pair is written in a short form: Hungarian `lly` sorts as `lyly`.
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

export interface CollationTable {
  /** Equal for languages with the same order. */
  readonly fingerprint: string
  /** Single characters by code: `present << 26 | number of bytes << 24 | bytes`. */
  readonly primary: Int32Array
  readonly accent: Uint8Array
  readonly letterCase: Uint8Array
  /** Characters that sort as several, or that begin a unit of several: by code. */
  readonly unusual: Uint8Array
  /** Units of several characters that sort as one. */
  readonly units: ReadonlyMap<string, Weight>
  /** Characters that sort as several others. */
  readonly expansions: ReadonlyMap<string, string>
  readonly longest: number
  /** Bytes before a number. */
  readonly numberLead: readonly number[]
}

function compact(
  weights: ReadonlyMap<string, Weight>,
  expansions: ReadonlyMap<string, string>,
  numberLead: readonly number[],
): Omit<CollationTable, 'fingerprint'> {
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
