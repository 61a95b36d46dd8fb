import { catalogue, type ErrorDefinition } from './catalogue.ts'

/** The table of all errors in docs/errors.md. */
export function errorTable(): string {
  const rows = Object.entries<ErrorDefinition>(catalogue).map(
    ([code, { status, package: name, text, ...marks }]) =>
      `| \`${code}\` | ${status} | \`${name}\` | ${text}${remark(marks)} |`,
  )
  return ['| Code | Status | Package | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function remark({ coming, never }: Pick<ErrorDefinition, 'coming' | 'never'>): string {
  if (coming !== undefined) return ` *Not answered yet: comes with ${coming}.*`
  return never === undefined ? '' : ` *Never answered: ${never}.*`
}
