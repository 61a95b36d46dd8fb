import { masked } from './secrets.ts'

/** Characters below which a secret is not looked for: it would be found everywhere. */
const shortest = 4

/** Takes secrets that are known out of a text, however they are written in it. The longest form goes first. */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, masked), text)
}

/** As it is, as in addresses, in JSON and in HTML, as hexadecimal digits, and in base64 wherever in what was encoded it stands. */
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

/** The letters that the bytes have in base64 whatever stands before and behind them: three, by where they begin. */
function inBase64(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const letters = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url')
    // Letters of six bits: the first ones have bits of what is before, the last one may have some of what is behind.
    const first = Math.ceil((before * 8) / 6)
    const last = Math.floor(((before + bytes.length) * 8) / 6)
    const sure = letters.slice(first, last)
    return [sure, sure.replaceAll('-', '+').replaceAll('_', '/')]
  })
}
