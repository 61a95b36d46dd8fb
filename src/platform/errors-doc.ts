import { catalogue, type ErrorDefinition } from './catalogue.ts'

/** The table of all errors in docs/errors.md. */
export function errorTable(): string {
  const rows = Object.entries<ErrorDefinition>(catalogue).map(
    ([code, { status, package: name, text, coming }]) =>
      `| \`${code}\` | ${status} | \`${name}\` | ${text}${coming === undefined ? '' : ` *Not answered yet: comes with ${coming}.*`} |`,
  )
  return ['| Code | Status | Package | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}
