/** Members of facet sets: the values under which an object is counted. */
import type { Localized } from '../../../platform/values/localized.ts'
import { customLabel, textIn } from '../../document/values.ts'
import type { SearchField } from '../../plan/fields.ts'
import type { Draft, FacetSet } from './draft.ts'

export function facetSet(slot: number, field: string, found: readonly (number | string)[]): FacetSet {
  const members = found.length === 1 ? found : [...new Set(found)].sort(byValue)
  const name = typeof members[0] === 'number' ? `${field}|${members.join()}` : `${field}|${JSON.stringify(members)}`
  return { slot, field, name, members: members as readonly number[] | readonly string[] }
}

function byValue(a: number | string, b: number | string): number {
  return a < b ? -1 : 1
}

/** Longest label; facets are for short values. */
const longestLabel = 300

/** Counts a value of a column that is prepared for facets; a link counts for all ancestors of its target too. */
export function addFacet({ context, members }: Draft, field: SearchField, value: unknown): void {
  if (!field.facet) return
  if (field.kind !== 'link') {
    const label = labelOf(field, value, context.languages)
    if (label !== null) membersOf(members, field).push(label)
    return
  }
  const ids = membersOf(members, field)
  ids.push(value as number)
  for (const ancestor of context.ancestors(value as number)) ids.push(ancestor)
}

function membersOf(members: Draft['members'], field: SearchField): (number | string)[] {
  const known = members.get(field)
  if (known) return known
  const fresh: (number | string)[] = []
  members.set(field, fresh)
  return fresh
}

/** The label that a value counts under; null when it counts under none. */
export function labelOf(field: SearchField, value: unknown, languages: readonly string[]): string | null {
  switch (field.kind) {
    case 'text':
    case 'string':
      return clip(value as string)
    case 'l10n': {
      const text = textIn(value as Localized, languages)
      return text === undefined ? null : clip(text)
    }
    case 'number':
    case 'boolean':
      return String(value)
    case 'date': {
      const { value: text } = value as { value?: string }
      return text ?? null
    }
    case 'custom': {
      const label = customLabel(value)
      return label === null ? null : clip(label)
    }
    default:
      return null
  }
}

/** Whether no longer value has this label. */
export const isWholeLabel = (label: string): boolean => label.length < longestLabel

function clip(text: string): string {
  return text.length > longestLabel ? text.slice(0, longestLabel).toWellFormed() : text
}
