import { AppError, badRequest } from '../../platform/errors.ts'
import { normalized } from '../../platform/values/text.ts'
import { headerText } from '../../platform/values/utf8.ts'

const longest = 255

/**
 * The name of a file as it is stored: without folders, in composed form, and without invisible characters or those that
 * change the direction of text, so that `photo\u202Egpj.exe` does not look like a picture.
 * @throws {AppError} `EasEmptyFilename`, `EasInvalidFilename`.
 */
export function cleanFileName(given: string): string {
  if (given.trim() === '') throw new AppError('EasEmptyFilename')
  const name = normalized((given.split(/[/\\]/).at(-1) ?? '').toWellFormed(), 'NFC')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (name === '' || /^\.+$/.test(name)) throw new AppError('EasInvalidFilename', { filename: given.slice(0, longest) })
  return shortened(name)
}

/** Its extension in small letters, without the dot; empty when it has none. */
export function extensionOf(name: string): string {
  const extension = /[^.]\.([A-Za-z0-9]{1,16})$/.exec(name)?.[1]
  return extension?.toLowerCase() ?? ''
}

/** Without the extension. */
export function baseOf(name: string): string {
  const extension = extensionOf(name)
  return extension === '' ? name : name.slice(0, -extension.length - 1)
}

function shortened(name: string): string {
  if (name.length <= longest) return name
  const extension = extensionOf(name)
  const end = extension === '' ? '' : `.${extension}`
  return `${name.slice(0, longest - end.length)}${end}`.toWellFormed()
}

/** The name in a header `Content-Disposition` (RFC 6266), in either of its two forms; empty: there is none. */
export function nameInDisposition(given = ''): string {
  const header = headerText(given)
  const [, encoded] = /filename\*\s*=\s*UTF-8''([^;\s]+)/i.exec(header) ?? []
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded)
    } catch {
      throw badRequest('Content-Disposition has a name that cannot be read.')
    }
  }
  const [, quoted, bare] = /filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header) ?? []
  return quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? ''
}
