/**
 * The one definition of secrets: names whose values are secret, and the forms of secrets in texts. Settings in answers, log lines
 * and entries of the event log pass here (`scrubbed`, `scrubText`).
 */

/** Replaces a secret that is set, in the form known to clients of this interface. */
export const masked = '***'

/** Ends of names, without case and punctuation: of headers, parameters, form fields, JSON members. */
const nameEnds = [
  'authorization',
  'cookie',
  'token',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'secretkey',
  'apikey',
  'privatekey',
  'signature',
  'codeverifier',
  'xamzcredential',
  'samlresponse',
  'clientassertion',
]
/** Short names that are secrets in addresses, but not elsewhere. */
const namesInAddresses = new Set(['key', 'code', 'sig', 'auth', 'pass', 'pwd', 'pin'])

/** Whether the value of this name is always a secret. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return nameEnds.some((end) => plain.endsWith(end))
}

const isSecretParameter = (name: string): boolean =>
  isSecretName(name) || namesInAddresses.has(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))

/** Credentials in an address: `user:password@` behind its scheme, a part of which may be a token. */
const userInfo = /:\/\/[^\s/?#"'<>\\]*@/g
/** `name=value` in addresses and forms. */
const parameter = /(^|[?&#;\s"'])([\w.%~[\]-]+)=([^&#;\s"'<>\\]+)/g
/** Characters before parameters of addresses; elsewhere it is a form or an output of a program. */
const addressSigns = '?&#;'
/** `"name": "value"` in JSON, and the same in JSON inside a string. */
const member = /"([\w.-]+)"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)/g
const memberInText = /\\"([\w.-]+)\\"(\s*:\s*)\\"(?:[^"\\]|\\[^"])*\\"/g
/** A header line. */
const header = /(authorization|cookie)([ \t]?[:=])[^\r\n"\\]+/gi
const bearer = /\b(bearer\s)[\w.~+/-]{8,}/gi
const basic = /\b(basic\s+)([\w+/-]{4,}={0,2})/gi
/** Up to its end, or to the next line of hyphens if the end is missing. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----))*(?:-----END [A-Z ]*-----)?/g
/** Signatures of addresses of files, when they are a step of a path. */
const signatureStep = /\/[0-9a-z]{1,8}-[\w-]{32}(?=[/?#"'\s\\]|$)/g
/** Addresses of drives: anybody with such an address may write there. */
const driveStep = /\/(WebDAV|hotfolder)\/[0-9a-f]{8}-[0-9a-f-]{27}/gi
/** Addresses of results of exports: anybody with such an address can fetch them. */
const exportStep = /(\/export\/\d{1,16}\/uuid)\/[0-9a-f]{8}-[0-9a-f-]{27}/gi
/** Parts that at least one of the patterns above needs: most texts have none. */
const suspicious = /:\/\/|=|"|bearer|basic|authorization|cookie|-----|-[\w-]{32}|\/(?:webdav|hotfolder|uuid)\//i

/** The values of secret names; for headers also the part after the scheme. */
export function secretsIn(values: unknown): string[] {
  if (typeof values !== 'object' || values === null) return []
  return Object.entries(values).flatMap(([name, value]) => {
    if (!isSecretName(name)) return []
    const texts = [value].flat().filter((text): text is string => typeof text === 'string')
    return texts.flatMap((text) => [text, text.slice(text.indexOf(' ') + 1)])
  })
}

/** A text without the secrets that can be recognized by their form. */
export function scrubText(text: string): string {
  if (!suspicious.test(text)) return text
  return text
    .replaceAll(privateKey, `-----PRIVATE KEY ${masked}-----`)
    .replaceAll(userInfo, `://${masked}@`)
    .replaceAll(header, `$1$2 ${masked}`)
    .replaceAll(member, (all, name, between) => (isSecretName(name) ? `"${name}"${between}"${masked}"` : all))
    .replaceAll(memberInText, (all, name, between) =>
      isSecretName(name) ? `\\"${name}\\"${between}\\"${masked}\\"` : all,
    )
    .replaceAll(parameter, (all, before, name) => {
      const known = addressSigns.includes(before) && before !== '' ? isSecretParameter : isSecretName
      return known(decoded(name)) ? `${before}${name}=${masked}` : all
    })
    .replaceAll(bearer, `$1${masked}`)
    .replaceAll(basic, (all, before, value) => (isCredentials(value) ? `${before}${masked}` : all))
    .replaceAll(signatureStep, `/${masked}`)
    .replaceAll(driveStep, `/$1/${masked}`)
    .replaceAll(exportStep, `$1/${masked}`)
}

/** The path of a request in a form for logs: without steps that are signatures, however they are encoded. */
export function scrubPath(path: string): string {
  const plain = path.includes('%') ? decoded(path) : path
  if (!suspicious.test(plain)) return path
  const clean = plain
    .replaceAll(signatureStep, `/${masked}`)
    .replaceAll(driveStep, `/$1/${masked}`)
    .replaceAll(exportStep, `$1/${masked}`)
  return clean === plain ? path : clean
}

/** An address for people who must not know its secrets; the same address when it has none. */
export function scrubAddress(address: string): string {
  return scrubText(address)
}

/** The same for any JSON, names included; the value itself where it has no secret. */
export function scrubbed<T>(value: T, inText: (text: string) => string = scrubText): T {
  return scrub(value, inText) as T
}

function scrub(value: unknown, inText: (text: string) => string): unknown {
  if (typeof value === 'string') return inText(value)
  if (Array.isArray(value)) {
    const items = value.map((item) => scrub(item, inText))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value
  let changed = false
  const entries = Object.entries(value).map(([name, before]): [string, unknown] => {
    const secret = isSecretName(name) && (typeof before === 'string' || typeof before === 'number') && before !== ''
    const [cleanName, after] = [inText(name), secret ? masked : scrub(before, inText)]
    changed ||= after !== before || cleanName !== name
    return [cleanName, after]
  })
  return changed ? Object.fromEntries(entries) : value
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** `Basic` also occurs before ordinary words: credentials have a colon when they are decoded. */
function isCredentials(base64: string): boolean {
  return Buffer.from(base64, 'base64').includes(':')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
