/** Prints the table of docs/search.md from the kinds. */
import { domains } from './kinds.ts'
import type { Audience, RecordField, RecordKind } from './model.ts'

export function domainTable(): string {
  const rows = Object.entries(domains).flatMap(([type, [kind, ...others]]) =>
    kind && others.length === 0 ? row(type, kind) : [],
  )
  return ['| `type` | Finds | Order without `sort` | Fields |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function row(type: string, { seen, order, fields }: RecordKind): string {
  const direction = order.descending ? ', descending' : ''
  return `| \`${type}\` | ${seen} | \`${order.field}\`${direction} | ${fields.map(fieldText).join(', ')} |`
}

const marks: Readonly<Record<Audience, string>> = { self: ' ¹', managers: ' ²' }

function fieldText({ name, kind, list, audience }: RecordField): string {
  const shown = kind === 'l10n' ? 'localized text' : kind
  return `\`${name}\` ${list ? `list of ${shown}` : shown}${audience ? marks[audience] : ''}`
}
