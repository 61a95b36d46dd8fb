import type { Column } from '../../datamodel/model.ts'
import { type FieldPath, type ObjectTree, valuesAt, valueText } from '../../objects/service.ts'
import { parseDate } from '../../platform/values/dates.ts'

/** A text for all languages, or one for each language. */
export type Text = string | Readonly<Record<string, string>>

/** The texts of the values at a path, in their order. Ranges of dates have `to` between their ends. */
export function textsAt(tree: ObjectTree, path: FieldPath, languages: readonly string[], to = ' - '): readonly Text[] {
  if (!path.column) return typeof tree.wire._uuid === 'string' ? [tree.wire._uuid] : []
  return valuesAt(tree, path)
    .map(({ column, value }) => textOf(column, value, languages, to))
    .filter((text) => text !== undefined)
}

function textOf(column: Column, value: unknown, languages: readonly string[], to: string): Text | undefined {
  const text = column.type === 'daterange' ? rangeText(value as Range, to) : valueText(column, value, languages)
  if (typeof text === 'string') return text === '' ? undefined : text
  const said = Object.entries(text ?? {}).filter(([, one]) => one !== '')
  return said.length === 0 ? undefined : Object.fromEntries(said)
}

interface Range {
  readonly from?: string | null
  readonly to?: string | null
}

/** The form that imports read. */
function rangeText({ from, to }: Range, between: string): string {
  if (from && from === to) return from
  return `${from ?? ''}${between}${to ?? ''}`.trim()
}

/** The form of dates in tags: `2020:05:17 10:00:00+02:00`; null where the tag needs a day, and there is none. */
export function tagDate(text: string, wholeDay: boolean): string | null {
  const parsed = parseDate(text)
  if (!parsed || !/^\d{4}\b/.test(parsed.text)) return null
  if (wholeDay && (parsed.width === 'year' || parsed.width === 'month')) return null
  const [day = '', time] = parsed.text.split('T')
  const seconds = parsed.width === 'minute' ? ':00' : ''
  return `${day.replaceAll('-', ':')}${time === undefined ? '' : ` ${time}${seconds}`}`
}
