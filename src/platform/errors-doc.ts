import { catalogue } from './catalogue.ts'

/** The table of all errors in docs/errors.md. */
export function errorTable(): string {
  const rows = Object.entries(catalogue).map(
    ([code, { status, package: name, text }]) => `| \`${code}\` | ${status} | \`${name}\` | ${text} |`,
  )
  return ['| Code | Status | Package | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}
