import type { Model } from '../../datamodel/model.ts'
import type { ObjectTree } from '../../objects/service.ts'
import { type Mapping, type MappingField, ownMappingId, type ProfileField, type Source } from '../model.ts'
import { fromStored, pathByName } from '../paths.ts'
import { joined } from './tags.ts'
import { type Text, textsAt } from './values.ts'

export interface FieldContext {
  readonly mapping: Pick<Mapping, 'id'>
  readonly tree: ObjectTree
  readonly model: Model
  /** Best first. */
  readonly languages: readonly string[]
  /** The value of `deep_link_url`; null: none. */
  readonly address: string | null
  /** The text between the ends of spans of time; absent: the form that imports read. */
  readonly to?: string
}

/** The texts of a field of a mapping, in their order. Null: the field has no sources. */
export function fieldTexts(
  context: FieldContext,
  field: Pick<MappingField, 'sources'>,
  known: ProfileField | undefined,
): readonly Text[] | null {
  const { mapping, tree, languages } = context
  if (mapping.id === ownMappingId) {
    const path = pathByName(tree.table, known?.columns ?? [])
    return path && textsAt(tree, path, languages)
  }
  const parts = field.sources.flatMap((source) => sourceTexts(context, source) ?? [])
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

/** Null: the source belongs to another object type, or is deleted. */
function sourceTexts(
  { tree, model, languages, address, to }: FieldContext,
  source: Source,
): { readonly fixed: boolean; readonly texts: readonly Text[] } | null {
  if (source.kind === 'text_fixed') {
    return { fixed: true, texts: [source.text.replaceAll('%_uuid%', `${tree.wire._uuid ?? ''}`)] }
  }
  if (source.kind === 'deep_link_url') return { fixed: true, texts: address === null ? [] : [address] }
  const path = fromStored(model, source.path)
  return path?.root.id === tree.table.id ? { fixed: false, texts: textsAt(tree, path, languages, to) } : null
}
