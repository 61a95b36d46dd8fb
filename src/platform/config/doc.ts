import { keys } from './keys.ts'

/** The table of all settings in docs/configuration.md. */
export function configurationTable(): string {
  const rows = Object.values(keys).map((key) => {
    const standard = key.default === null || key.default === '' ? '' : `\`${JSON.stringify(key.default)}\``
    return `| \`${key.path}\` | \`${key.env}\` | ${key.form} | ${standard} | ${key.doc} |`
  })
  return ['| Key | Environment | Value | Default | Meaning |', '|---|---|---|---|---|', ...rows].join('\n')
}
