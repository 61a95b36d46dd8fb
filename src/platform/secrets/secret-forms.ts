import { masked } from './secrets.ts'

/** Minimum number of characters of a secret to look for: a shorter one would match everywhere. */
const shortest = 4

/** Removes known secrets from a text, in every form in which they may be written. The longest form is removed first. */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, masked), text)
}

/**
 * The plain secret, its forms in addresses, in JSON and in HTML, in hexadecimal digits, and in base64 at any offset of the encoded
 * text.
 */
function formsOf(secret: string): string[] {
  if (secret.length < shortest) return []
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const address = encodeURIComponent(secret)
  const json = JSON.stringify(secret).slice(1, -1)
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
  const written = [
    secret,
    address,
    address.toLowerCase(),
    address.replaceAll('%20', '+'),
    json,
    html,
    hex,
    hex.toUpperCase(),
  ]
  return [...written, json.replaceAll('/', '\\/'), ...inBase64(bytes)].filter((form) => form.length >= shortest)
}

/** The base64 letters of the bytes that do not depend on the bytes before and after them: three variants, by the offset. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const letters = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url')
    // Letters of six bits: the first ones contain bits of the bytes before, the last one may contain bits of the bytes after.
    const first = Math.ceil((before * 8) / 6)
    const last = Math.floor(((before + bytes.length) * 8) / 6)
    const sure = letters.slice(first, last)
    return [sure, sure.replaceAll('-', '+').replaceAll('_', '/')]
  })
}
