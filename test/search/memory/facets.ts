/** Values counted object by object. */

import type { Localized } from '../../../src/platform/values/localized.ts'
import { customLabel, textIn } from '../../../src/search/document/values.ts'
import type { SearchField } from '../../../src/search/plan/fields.ts'
import type { TextChoice } from '../../../src/search/plan/measures.ts'
import type { FacetCounts, FacetField } from '../../../src/search/plan/plan.ts'
import { type MemoryDocument, valuesAt } from './documents.ts'
import { aboveLink } from './match.ts'
import { reached } from './steps.ts'
import type { Asked } from './text.ts'
import { isSeen } from './visibility.ts'

export function countFacet(field: FacetField, documents: readonly MemoryDocument[], asked: Asked): FacetCounts {
  const counts = new Map<number | string, number>()
  for (const document of documents) {
    for (const value of new Set(valuesOf(field, document, asked))) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const found = [...counts]
  return {
    counts: Int32Array.from(found, ([, count]) => count),
    bytes: 0,
    value: (index) => (found[index] as (typeof found)[number])[0],
  }
}

function valuesOf(field: FacetField, document: MemoryDocument, asked: Asked): readonly (number | string)[] {
  const { source, poolPath, owner } = document
  if (field.kind === 'objecttype') return [source.objecttype]
  if (field.kind === 'field') {
    return reached(document, field.steps ?? [], asked).flatMap((each) => ofColumn(field, each, asked))
  }
  if (field.kind === 'collectors') throw new Error('this engine knows no publish records')
  const table = asked.plan.fields.types.get(source.objecttype)?.table
  if (!table || !isSeen(asked.plan.fieldVisibility.system(table, field.kind), document)) return []
  if (field.kind === 'pool') return poolPath
  if (field.kind === 'tags') return source.tags
  return owner === null ? [] : [owner]
}

function ofColumn(
  { field, text }: Extract<FacetField, { kind: 'field' }>,
  document: MemoryDocument,
  asked: Asked,
): readonly (number | string)[] {
  if (!isSeen(asked.plan.fieldVisibility.column(field), document)) return []
  const spot = { document, row: null }
  const values = valuesAt(spot, field)
  if (field.kind === 'link') return values.flatMap((id) => [id as number, ...aboveLink(id as number, spot, asked)])
  const own = field.kind === 'boolean' && field.path.length === 0 && values.length === 0
  if (own && field.column.table.root.id === document.source.objecttype) return ['false']
  return values
    .map((value) => labelOf(field, value, languagesOf(text, asked)))
    .filter((label) => label !== undefined && label !== null)
}

/** The wanted language, then those of the database; one alone where no other text may take its place. */
function languagesOf(text: TextChoice | undefined, { plan }: Asked): { only?: string; languages: readonly string[] } {
  if (text === undefined) return { languages: plan.languages }
  return text.others ? { languages: [text.language, ...plan.languages] } : { only: text.language, languages: [] }
}

function labelOf(
  field: SearchField,
  value: unknown,
  { only, languages }: ReturnType<typeof languagesOf>,
): string | null | undefined {
  if (field.kind === 'l10n') return only ? (value as Localized)[only] : textIn(value as Localized, languages)
  if (field.kind === 'date') return (value as { value?: string }).value
  return field.kind === 'custom' ? customLabel(value) : String(value)
}
