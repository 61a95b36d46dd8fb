import { withoutEnd } from '../../../platform/values/text.ts'

/** Names of the interface, made from the headings of columns. */

/** Letters that Unicode decomposition does not change. */
const letters: Readonly<Record<string, string>> = {
  ...{ ä: 'ae', ö: 'oe', ü: 'ue', ß: 'ss', æ: 'ae', ø: 'o', œ: 'oe', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
  '&': ' and ',
  '%': ' percent ',
  '№': ' number ',
}

/** `Künstler/in (Name)` becomes `kuenstler_in_name`: lower-case letters, digits and underscores, a letter first. */
export function identifierOf(text: string, most = 50): string {
  // `dateText` is two words.
  const words = text.normalize('NFC').replaceAll(/(\p{Ll})(?=\p{Lu}\p{Ll})/gu, '$1_')
  const plain = [...words.toLowerCase()]
    .map((letter) => letters[letter] ?? letter.normalize('NFD').replaceAll(/\p{M}/gu, ''))
    .join('')
  const name = plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')
  const started = /^[a-z]/.test(name) ? name : name === '' ? 'column' : `column_${name}`
  return started.slice(0, most).replace(/_$/, '')
}

/** The name, with a number added if it is taken; marks it as taken. */
export function freeName(name: string, taken: Set<string>): string {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`
  taken.add(free)
  return free
}

/** English plurals lose their ending: a list of artists is of the type `artist`. Others stay as they are. */
export function singular(name: string): string {
  if (/(?:ss|us|is|as|os)$/.test(name) || name.length < 4) return name
  if (/ies$/.test(name)) return name.replace(/ies$/, 'y')
  if (/(?:ches|shes|xes|sses)$/.test(name)) return name.replace(/es$/, '')
  return name.replace(/s$/, '')
}

const regions: Readonly<Record<string, string>> = {
  ...{ de: 'de-DE', en: 'en-US', fr: 'fr-FR', it: 'it-IT', es: 'es-ES', nl: 'nl-NL', pl: 'pl-PL', pt: 'pt-PT' },
  ...{ cs: 'cs-CZ', da: 'da-DK', sv: 'sv-SE', nb: 'nb-NO', fi: 'fi-FI', hu: 'hu-HU', ru: 'ru-RU', tr: 'tr-TR' },
  ...{ uk: 'uk-UA', el: 'el-GR', ja: 'ja-JP', zh: 'zh-CN', ar: 'ar-EG', he: 'he-IL', la: 'la-VA', ro: 'ro-RO' },
  ...{ deutsch: 'de-DE', german: 'de-DE', englisch: 'en-US', english: 'en-US', französisch: 'fr-FR', french: 'fr-FR' },
  ...{ italienisch: 'it-IT', italian: 'it-IT', spanisch: 'es-ES', spanish: 'es-ES' },
}

export interface LanguageHeading {
  /** The heading without the language. */
  readonly name: string
  readonly language: string
}

/**
 * A heading that names a language: `title.de-DE`, `title_en`, `Titel (de)`, `Titel [Englisch]`. `known` are the languages of the
 * instance: `en` is the first of them that begins with it.
 */
export function languageHeading(heading: string, known: readonly string[]): LanguageHeading | null {
  const [name, tag] = inBrackets(heading) ?? behindSign(heading) ?? ['', '']
  if (name === '') return null
  const language = languageOf(tag.replace('_', '-'), known)
  return language === null ? null : { name: name.trim(), language }
}

/** `Titel (de)` and `Titel [Englisch]`: the name, and the text in the brackets at the end. */
function inBrackets(heading: string): [string, string] | null {
  if (!/[)\]]$/.test(heading)) return null
  const open = Math.max(heading.lastIndexOf('('), heading.lastIndexOf('['))
  const tag = heading.slice(open + 1, -1).trim()
  if (open < 1 || !/^\p{L}{2,12}(?:[-_]\p{L}{2})?$/u.test(tag)) return null
  return [withoutEnd(heading.slice(0, open), ' \t._:-'), tag]
}

/** `title.de-DE` and `title_en`. */
function behindSign(heading: string): [string, string] | null {
  const tag = /[._:@](\p{L}{2}(?:[-_]\p{L}{2})?)$/u.exec(heading.slice(-6))?.[1]
  return tag === undefined ? null : [heading.slice(0, -tag.length - 1), tag]
}

function languageOf(tag: string, known: readonly string[]): string | null {
  const lower = tag.toLowerCase()
  const whole = known.find((language) => language.toLowerCase() === lower)
  if (whole) return whole
  const [base = '', region] = lower.split('-')
  if (region !== undefined) return regions[base] === undefined ? null : `${base}-${region.toUpperCase()}`
  const usual = regions[base]
  if (usual === undefined) return null
  return known.find((language) => language.slice(0, 3) === usual.slice(0, 3)) ?? usual
}
