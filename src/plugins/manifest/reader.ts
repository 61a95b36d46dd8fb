import { type AppError, badRequest } from '../../platform/errors.ts'

/** A value of a manifest, and its place there, which error messages name. */
export class Place {
  readonly value: unknown
  readonly path: string
  /** Collects the places of members without effect. */
  readonly ignored: Set<string>

  constructor(value: unknown, path: string, ignored: Set<string>) {
    this.value = value
    this.path = path
    this.ignored = ignored
  }

  wrong(expected: string): AppError {
    return wrongManifest(`${this.path} must be ${expected}`, { path: this.path, expected })
  }

  /** There is no value: an empty value in YAML is null. */
  get absent(): boolean {
    return this.value === undefined || this.value === null
  }

  at(key: string): Place {
    const value = isObject(this.value) && Object.hasOwn(this.value, key) ? this.value[key] : undefined
    return new Place(value, this.path === '' ? key : `${this.path}.${key}`, this.ignored)
  }

  object(): Record<string, unknown> {
    if (this.absent) return {}
    if (!isObject(this.value)) throw this.wrong('an object')
    return this.value
  }

  /** The members of an object, each with its place; at most `most`. */
  members(most = 1000): [string, Place][] {
    const keys = Object.keys(this.object())
    if (keys.length > most) throw this.wrong(`an object of at most ${most} members`)
    return keys.map((key) => [key, this.at(key)])
  }

  items(most = 1000): Place[] {
    if (this.absent) return []
    if (!Array.isArray(this.value)) throw this.wrong('a list')
    if (this.value.length > most) throw this.wrong(`a list of at most ${most}`)
    return this.value.map((item, index) => new Place(item, `${this.path}.${index}`, this.ignored))
  }

  /** A text; a number or a boolean counts as its text. */
  text(most = 10_000): string {
    const text = ['number', 'boolean'].includes(typeof this.value) ? String(this.value) : this.value
    if (typeof text !== 'string') throw this.wrong('text')
    if (text.length > most) throw this.wrong(`text of at most ${most} characters`)
    return text
  }

  textOr<T>(fallback: T, most?: number): string | T {
    return this.absent ? fallback : this.text(most)
  }

  flag(): boolean {
    if (this.absent) return false
    if (typeof this.value !== 'boolean') throw this.wrong('true or false')
    return this.value
  }

  /** Texts by language; a plain text is for all languages. */
  texts(): Record<string, string> {
    if (typeof this.value === 'string') return { 'en-US': this.text() }
    return Object.fromEntries(this.members(200).map(([language, text]) => [language, text.text()]))
  }

  /** Notes all members except these as ignored. */
  knows(...keys: string[]): void {
    for (const key of Object.keys(this.object())) if (!keys.includes(key)) this.ignored.add(this.at(key).path)
  }

  /** Seconds: a number, or a text such as `90s`, `1m30s`. */
  seconds(): number | null {
    if (this.absent) return null
    const { value } = this
    const seconds = typeof value === 'number' ? value : typeof value === 'string' ? durationOf(value) : null
    if (seconds === null || !(seconds > 0) || seconds > 366 * 86_400) throw this.wrong('a duration such as 60s')
    return seconds
  }
}

const units: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 }

function durationOf(text: string): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const parts = text.match(/\d{1,9}(\.\d{1,9})?(ms|h|m|s)/g)
  if (!parts || parts.join('') !== text || parts.length > 4) return null
  return parts.reduce((sum, part) => sum + Number.parseFloat(part) * (units[part.replace(/[\d.]+/, '')] ?? 0), 0)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const manifestName = 'manifest.yml'

/** `name`: the file named by the manifest, if the error is in that file. */
export function wrongManifest(message: string, parameters: Record<string, unknown> = {}): AppError {
  const { name = manifestName } = parameters
  return badRequest(`${name}: ${message}`, { name, ...parameters })
}
