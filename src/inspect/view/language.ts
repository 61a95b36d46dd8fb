import { languageOf } from '../../signin/service.ts'
import { german } from './texts.de.ts'
import { english, type TextName } from './texts.en.ts'

/** The language of a page: texts, and the form of numbers and dates. */
export interface ConsoleLanguage {
  readonly lang: string
  text(name: TextName, values?: Readonly<Record<string, string | number>>): string
  number(value: number): string
  bytes(value: number): string
  /** To the second, in UTC, as the layout states. */
  time(value: Date | string): string
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

function made(lang: string, texts: Readonly<Record<TextName, string>>): ConsoleLanguage {
  const whole = new Intl.NumberFormat(lang, { maximumFractionDigits: 3 })
  const short = new Intl.NumberFormat(lang, { maximumSignificantDigits: 3 })
  return {
    lang,
    text: (name, values = {}) => texts[name].replaceAll(/\{(\w+)\}/g, (_, key: string) => String(values[key] ?? '')),
    number: (value) => whole.format(value),
    bytes(value) {
      const step = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
      return `${short.format(value / 1000 ** step)} ${units[step]}`
    },
    time(value) {
      const date = new Date(value)
      return Number.isNaN(date.getTime()) ? String(value) : date.toISOString().slice(0, 19).replace('T', ' ')
    },
  }
}

const languages = new Map([
  ['en', made('en', english)],
  ['de', made('de', german)],
])
const standard = made('en', english)

/** The language that a browser prefers, among those of the console. */
export function consoleLanguage(acceptLanguage: string | undefined): ConsoleLanguage {
  return languages.get(languageOf(acceptLanguage, () => undefined).lang) ?? standard
}
