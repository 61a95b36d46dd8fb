import { domainToASCII, domainToUnicode } from 'node:url'

/** Maximum number of characters before the @, after it, and in total (RFC 5321, 4.5.3.1; 256 with the brackets). */
const [longestLocal, longestDomain, longest] = [64, 253, 254]

const atom = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/
const label = /^[A-Za-z0-9-]{1,63}$/

/**
 * Whether a text is the address of exactly one mailbox: `Dot-string@Domain` of RFC 5321 section 4.1.2, in ASCII. Names, comments,
 * lists, groups, quotes and address literals have a special meaning in headers, and domains with other letters have two spellings:
 * all of these are refused (such a domain is written `xn--…`, as browsers send it).
 */
export function isMailbox(text: string): boolean {
  if (text.length > longest) return false
  const parts = text.split('@')
  const [local = '', domain = ''] = parts
  if (parts.length !== 2 || local.length > longestLocal || domain.length > longestDomain) return false
  const labels = domain.split('.')
  return (
    local.split('.').every((part) => atom.test(part)) &&
    labels.every((part) => label.test(part) && !part.startsWith('-') && !part.endsWith('-')) &&
    !/^\d+$/.test(labels.at(-1) ?? '')
  )
}

/**
 * The address for sending mail; null: the text is no address. Converts addresses that were stored before domains had to be ASCII.
 */
export function mailboxOf(text: string): string | null {
  if (isMailbox(text)) return text
  const [local, domain] = partsOf(text)
  // Other characters that the URL parser would repair are refused.
  if (text.length > longest || !/^[\p{L}\p{M}\p{N}.-]+$/u.test(domain)) return null
  const ascii = `${local}@${domainToASCII(domain)}`
  return isMailbox(ascii) ? ascii : null
}

/** The other spelling of an address whose domain has non-ASCII letters, as older records may have it; null: there is none. */
export function formerSpelling(mailbox: string): string | null {
  const [local, domain] = partsOf(mailbox)
  const unicode = domainToUnicode(domain)
  return unicode === '' || unicode === domain.toLowerCase() ? null : `${local}@${unicode}`
}

function partsOf(text: string): [local: string, domain: string] {
  const at = text.lastIndexOf('@')
  return [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
}
