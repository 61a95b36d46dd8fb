/** The fields of an object as pairs of label and value. */
import { type FieldTree, namedBy, type RowTree, valueText, type Wire } from '../../objects/service.ts'
import { asTexts, type LanguageMap, languageMap, type Text } from './texts.ts'

export interface Pair {
  readonly label: LanguageMap
  readonly value: LanguageMap
}

/** Most rows of a list that are shown. */
const mostRows = 200

/** Pairs in the order of the mask; fields without a text are left out. */
export function metadataOf(fields: readonly FieldTree[], languages: readonly string[]): Pair[] {
  return fields.flatMap((field): Pair[] => {
    const value = languageMap(textsOf(field, languages))
    return value ? [{ label: labelOf(field), value: asTexts(value) }] : []
  })
}

function labelOf(field: FieldTree): LanguageMap {
  const { name, nameLocalized } = namedBy(field)
  return languageMap([nameLocalized]) ?? { none: [name] }
}

function textsOf(field: FieldTree, languages: readonly string[]): (Text | undefined)[] {
  switch (field.kind) {
    case 'rows':
      return field.rows.slice(0, mostRows).map((row) => rowText(row, languages))
    case 'objects':
      return field.objects.slice(0, mostRows).map(({ wire }) => titleOf(wire))
    default:
      return [textOf(field, languages)]
  }
}

function rowText({ fields }: RowTree, languages: readonly string[]): Text | undefined {
  const texts = fields.map((field) => textOf(field, languages)).filter((text) => text !== undefined)
  return joinedTexts(texts, languages)
}

function textOf(field: FieldTree, languages: readonly string[]): Text | undefined {
  switch (field.kind) {
    case 'texts':
      return field.texts
    case 'link':
      return titleOf(field.object.wire)
    case 'value':
      return field.value === null ? undefined : (valueText(field.column, field.value, languages) as Text | undefined)
    default:
      return undefined
  }
}

/** The title of an object; undefined if the reader may not see it. */
export function titleOf(object: Wire, slot = '1'): Text | undefined {
  const standard = (object._standard ?? {}) as Readonly<Record<string, { readonly text?: Text } | undefined>>
  return standard[slot]?.text
}

/** The texts of a row as one, in all languages that occur. */
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
