import { attributeTemplate, type ValuesOf } from '../../../platform/values/attribute-templates.ts'

/**
 * A filter with values in place of its placeholders. All special characters of a filter are written in hex (RFC 4515, section 3),
 * so a value cannot change the filter. `null`: one of the values is missing, since an empty value would find other entries.
 */
export function filterWith(filter: string, valuesOf: ValuesOf): string | null {
  const template = attributeTemplate(filter)
  if (template.names.some((name) => !valuesOf(name)[0])) return null
  return template.expand((name) => valuesOf(name).map(escaped))
}

function escaped(value: string): string {
  return value.replaceAll(/[\x00-\x1f\x7f\\*()&|!=<>~:/]/g, (character) => {
    return `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

/**
 * Whether a login can name an entry. Servers ignore invisible characters and treat several spaces as one: such logins would name
 * the same entry, but be counted separately.
 */
export function isPlainLogin(login: string): boolean {
  return (
    login !== '' &&
    login.isWellFormed() &&
    login === login.trim().replaceAll(/\s+/g, ' ') &&
    !/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/u.test(login)
  )
}
