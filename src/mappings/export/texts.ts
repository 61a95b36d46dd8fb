/** What a field of a mapping says of an object: values of the object, with fixed texts before and behind them. */
import type { Model, Table } from '../../datamodel/model.ts'
import type { MappingField, Source } from '../model.ts'
import { fromStored } from '../paths.ts'
import { joined } from './tags.ts'
import { type Text, valuesAt } from './values.ts'

type Wire = Readonly<Record<string, unknown>>

export interface TextContext {
  readonly model: Model
  /** Database languages, first one first. */
  readonly languages: readonly string[]
  /** What `deep_link_url` is for the object. */
  readonly link: string
  /** Stands between the ends of spans of time; as imports read them where it is not said. */
  readonly to?: string
}

/** Null: nothing is bound to the field. */
export function textsOf(
  { model, languages, link, to }: TextContext,
  table: Table,
  object: Wire,
  { sources }: Pick<MappingField, 'sources'>,
): readonly Text[] | null {
  const fixedText = (source: Exclude<Source, { kind: 'field' }>): string =>
    source.kind === 'text_fixed' ? source.text.replaceAll('%_uuid%', `${object._uuid ?? ''}`) : link
  const parts = sources.flatMap((source): { fixed: boolean; texts: readonly Text[] }[] => {
    if (source.kind !== 'field') return [{ fixed: true, texts: [fixedText(source)] }]
    const path = fromStored(model, source.path)
    return path?.root === table ? [{ fixed: false, texts: valuesAt(object, path, languages, to) }] : []
  })
  if (parts.length === 0) return null
  const fields = parts.filter(({ fixed }) => !fixed).flatMap(({ texts }) => texts)
  const isBound = parts.some(({ fixed }) => !fixed)
  if (!parts.some(({ fixed }) => fixed)) return fields
  if (isBound && fields.length === 0) return []
  const first = parts.findIndex(({ fixed }) => !fixed)
  const before = parts.filter(({ fixed }, index) => fixed && (first < 0 || index < first)).flatMap(({ texts }) => texts)
  const behind = parts.filter(({ fixed }, index) => fixed && first >= 0 && index > first).flatMap(({ texts }) => texts)
  const around = (text: Text[]): Text => joined([...before, ...text, ...behind], languages, '')
  return isBound ? fields.map((text) => around([text])) : [around([])]
}
