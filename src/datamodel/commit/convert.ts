import { columnTypeOf } from '../columns.ts'
import type { ColumnType } from '../model.ts'

type Convert = (value: unknown) => unknown

const same: Convert = (value) => value
const isText = (value: unknown): value is string => typeof value === 'string'
const oneLine: Convert = (value) => (isText(value) && !/[\r\n\u2028\u2029]/.test(value) ? value : undefined)
const numberToText: Convert = (value) => (typeof value === 'number' ? String(value) : undefined)
const hundredthsToText: Convert = (value) => {
  if (typeof value !== 'number') return undefined
  const digits = String(Math.abs(value)).padStart(3, '0')
  return `${value < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
const dateText = (value: unknown): unknown => (value as { value?: unknown } | null)?.value

const oneLineTexts = new Set<ColumnType>(['text_oneline', 'string'])
const texts = new Set<ColumnType>(['text', 'text_oneline', 'string'])
const l10nTexts = new Set<ColumnType>(['text_l10n', 'text_l10n_oneline'])

/**
 * The conversion of stored values to another type without loss; null when it is not possible in general. The function returns
 * `undefined` for a single value that does not fit (a line break in one line, a number too large).
 *
 * | from | to |
 * |---|---|
 * | text, text_oneline, string | each other; text_l10n, text_l10n_oneline (under `language`) |
 * | text_l10n, text_l10n_oneline | each other |
 * | number | integer.2, double, any text |
 * | integer.2 | double, any text |
 * | double, boolean, date, datetime | any text |
 * | date | datetime, daterange |
 */
export function conversionOf(fromName: string, toName: string, language: string): Convert | null {
  const [from, to] = [columnTypeOf(fromName), columnTypeOf(toName)]
  if (!from || !to) return null
  if (from === to) return from !== 'custom' || fromName === toName ? same : null
  if (l10nTexts.has(from) && l10nTexts.has(to)) return to === 'text_l10n' ? same : eachText
  const asText = toText(from)
  if (asText && texts.has(to)) return oneLineTexts.has(to) ? (value) => oneLine(asText(value)) : asText
  if (texts.has(from) && l10nTexts.has(to)) {
    return (value) => {
      const text = to === 'text_l10n' ? value : oneLine(value)
      return text === undefined ? undefined : { [language]: text }
    }
  }
  return otherConversions[`${from} to ${to}`] ?? null
}

function eachText(value: unknown): unknown {
  return Object.values(value as object).every((text) => oneLine(text) !== undefined) ? value : undefined
}

function toText(from: ColumnType): Convert | null {
  if (texts.has(from)) return same
  if (from === 'number' || from === 'double') return numberToText
  if (from === 'integer.2') return hundredthsToText
  if (from === 'boolean') return (value) => (typeof value === 'boolean' ? String(value) : undefined)
  return from === 'date' || from === 'datetime' ? dateText : null
}

const otherConversions: Readonly<Record<string, Convert>> = {
  'number to double': same,
  'number to integer.2': (value) => {
    const hundredths = Number(value) * 100
    return Number.isSafeInteger(hundredths) ? hundredths : undefined
  },
  'integer.2 to double': (value) => Number(value) / 100,
  'date to datetime': same,
  'date to daterange': (value) => ({ from: dateText(value), to: dateText(value) }),
}
