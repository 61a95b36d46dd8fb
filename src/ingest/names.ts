/** Finds by their names which files belong together. */
import { composed } from '../platform/values/text.ts'

export interface NameKeys {
  /** The name without its extension, in comparable form: files with the same stem are versions of one another. */
  readonly stem: string
  /** The part of the stem before a running number at its end; null: there is no number. */
  readonly series: string | null
}

const separators = new Set(['-', '_', ' '])

/** `View-3.tif`: stem `view-3`, series `view`. So are `view 3`, `view_3` and `view (3)`. Takes linear time. */
export function nameKeys(name: string): NameKeys {
  const stem = comparable(withoutExtension(name))
  return { stem, series: seriesOf(stem) }
}

/** The form in which names are compared: case and form of Unicode are ignored. */
export const comparable = (name: string): string => composed(name).toLowerCase().trim()

/** An extension has only letters and digits, at most 16; a dot at the beginning of the name does not begin one. */
export function withoutExtension(name: string): string {
  const dot = name.lastIndexOf('.')
  const isExtension = dot > 0 && /^[A-Za-z0-9]{1,16}$/.test(name.slice(dot + 1))
  return isExtension ? name.slice(0, dot) : name
}

function seriesOf(stem: string): string | null {
  const closed = stem.endsWith(')')
  let end = closed ? stem.length - 1 : stem.length
  const last = end
  while (end > 0 && isDigit(stem.charCodeAt(end - 1))) end--
  if (end === last) return null
  if (closed) {
    if (stem[end - 1] !== '(') return null
    end--
  } else if (!separators.has(stem[end - 1] ?? '')) return null
  const base = withoutSeparators(stem.slice(0, end))
  return base === '' ? null : base
}

function withoutSeparators(text: string): string {
  let end = text.length
  while (end > 0 && separators.has(text[end - 1] as string)) end--
  return text.slice(0, end)
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** The names in a field with a list of names: between commas, semicolons and ends of lines. */
export function namesInText(text: string): string[] {
  return text
    .split(/[,;\n\r]/)
    .map(comparable)
    .filter((name) => name !== '')
}

/** Whether a field with a list of names contains that of the file: whole, without its extension, or that of its series. */
export function fieldNames(text: string, fileName: string, bySeries: boolean): boolean {
  const { stem, series } = nameKeys(fileName)
  const wanted = new Set([comparable(fileName), stem, ...(bySeries && series !== null ? [series] : [])])
  return namesInText(text).some((name) => wanted.has(name))
}
