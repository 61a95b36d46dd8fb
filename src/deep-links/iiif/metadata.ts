/** The fields of an object as pairs of label and value. */
import type { ColumnField, Mask, MaskField } from '../../datamodel/model.ts'
import { valueText } from '../../objects/service.ts'
import type { Wire } from '../files.ts'
import { asTexts, type LanguageMap, languageMap, type Text } from './texts.ts'

export interface Pair {
  readonly label: LanguageMap
  readonly value: LanguageMap
}

/** Rows of a list that are shown. */
const mostRows = 200

/** Pairs in the order of the mask; fields without a text have none. */
export function metadataOf(mask: Mask, object: Wire, languages: readonly string[]): Pair[] {
  const block = (object[mask.table.name] ?? {}) as Wire
  return mask.fields.flatMap((field): Pair[] => {
    if (field.mode === 'off') return []
    const value = languageMap(textsOf(field, block, languages))
    return value ? [{ label: labelOf(field), value: asTexts(value) }] : []
  })
}

function labelOf(field: MaskField): LanguageMap {
  const { name, nameLocalized } = field.kind === 'column' ? field.column : field.table
  return languageMap([nameLocalized]) ?? { none: [name] }
}

function textsOf(field: MaskField, block: Wire, languages: readonly string[]): (Text | undefined)[] {
  if (field.kind === 'column') return [textOf(field, block, languages)]
  const key = field.kind === 'nested' ? field.table.wireKey : field.wireKey
  const rows = ((block[key] ?? []) as readonly Wire[]).slice(0, mostRows)
  if (field.kind === 'reverse') return rows.map((row) => titleOf(row))
  return rows.map((row) => {
    const texts = field.fields.map((inner) =>
      inner.mode !== 'off' && inner.kind === 'column' ? textOf(inner, row, languages) : undefined,
    )
    return joinedTexts(
      texts.filter((text) => text !== undefined),
      languages,
    )
  })
}

function textOf({ column }: ColumnField, block: Wire, languages: readonly string[]): Text | undefined {
  const value = block[column.name]
  if (value === undefined || value === null) return undefined
  if (column.type === 'eas' || column.type === 'geo_json') return undefined
  return column.type === 'link' ? titleOf(value as Wire) : (valueText(column, value, languages) as Text | undefined)
}

/** What an object is called; of those that the reader may not see there is nothing. */
export function titleOf(object: Wire, slot = '1'): Text | undefined {
  const standard = (object._standard ?? {}) as Readonly<Record<string, { readonly text?: Text } | undefined>>
  return standard[slot]?.text
}

/** The texts of a row as one: in all languages in which one of them is. */
function joinedTexts(texts: readonly Text[], languages: readonly string[]): Text | undefined {
  if (texts.length === 0) return undefined
  const keys = new Set(texts.flatMap((text) => (typeof text === 'string' ? [] : Object.keys(text))))
  const inLanguage = (key: string): string =>
    texts
      .map((text) => (typeof text === 'string' ? text : (text[key] ?? '')))
      .filter((text) => text !== '')
      .join(', ')
  if (keys.size === 0) return inLanguage(languages[0] ?? '')
  return Object.fromEntries([...keys].map((key) => [key, inLanguage(key)]))
}
