import { isRecord } from '../platform/values/records.ts'
import type { Field, TakenContent } from './fields/field.ts'
import { text } from './fields/values.ts'
import { logoRule } from './sections/rules.ts'
import { takenFile } from './taken-files.ts'

const begins = (bytes: Buffer, text: string, at = 0): boolean => bytes.toString('latin1', at, at + text.length) === text

/** The type by the first bytes, because the extension is not reliable. */
function mediaType({ bytes, extension }: TakenContent): string | null {
  if (begins(bytes, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins(bytes, '\xff\xd8\xff')) return 'image/jpeg'
  if (begins(bytes, 'GIF8')) return 'image/gif'
  if (begins(bytes, 'RIFF') && begins(bytes, 'WEBP', 8)) return 'image/webp'
  return extension === 'svg' && bytes.includes('<svg') ? 'image/svg+xml' : null
}

/** A picture that pages of the service embed; the code sees it as a `data:` address, empty if there is none. */
export function picture({ mostBytes }: { readonly mostBytes: number }): Field<string> {
  return takenFile({
    mostBytes,
    take(content) {
      const type = mediaType(content)
      if (type === null) return { expected: 'a picture: PNG, JPEG, WebP, GIF or SVG' }
      return { kept: `data:${type};base64,${content.bytes.toString('base64')}` }
    },
    read: (kept) => kept ?? '',
  })
}

/** The same as a file, as clients send it, or as a `data:` address. */
export function pictureOrAddress({ mostBytes }: { readonly mostBytes: number }): Field<string> {
  const ofFile = picture({ mostBytes })
  const ofText = text('', { maxLength: 60_000, rule: logoRule })
  return {
    ...ofFile,
    default: '',
    check: (wire, path, stored) =>
      typeof wire === 'string' ? ofText.check(wire, path, stored) : ofFile.check(wire, path, stored),
    read: (wire) => (isRecord(wire) ? ofFile.read(wire) : ofText.read(wire)),
  }
}
