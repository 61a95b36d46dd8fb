/** The header `If` of WebDAV (RFC 4918, 10.4), read in linear time. */
import { badRequest } from '../platform/errors.ts'

/** One condition: a lock or an entity tag that must (or must not) exist. */
interface Condition {
  readonly not: boolean
  readonly token: string | null
  readonly etag: string | null
}

export interface IfHeader {
  /** All tokens in the header. */
  readonly tokens: readonly string[]
  /** Lists for the requested resource, of which one must hold; lists for other addresses are ignored. */
  readonly lists: readonly (readonly Condition[])[]
}

const longest = 8000

/** @throws {AppError} */
export function readIf(header: string | undefined): IfHeader {
  if (header === undefined) return { tokens: [], lists: [] }
  if (header.length > longest) throw badRequest('The header If is too long.', { header: 'If' })
  const lists: Condition[][] = []
  const tokens: string[] = []
  let at = 0
  let tagged = false
  const skip = (): void => {
    while (header[at] === ' ' || header[at] === '\t') at++
  }
  const upTo = (end: string): string => {
    const close = header.indexOf(end, at)
    if (close < 0) throw badRequest('The header If cannot be read.', { header: 'If' })
    const text = header.slice(at, close)
    at = close + 1
    return text
  }
  for (skip(); at < header.length; skip()) {
    const character = header[at++]
    if (character === '<') {
      upTo('>')
      tagged = true
    } else if (character === '(') {
      const list = readList(
        upTo,
        skip,
        () => header[at],
        () => at++,
      )
      tokens.push(...list.flatMap(({ token }) => token ?? []))
      if (!tagged) lists.push(list)
    } else throw badRequest('The header If cannot be read.', { header: 'If' })
  }
  return { tokens, lists }
}

function readList(
  upTo: (end: string) => string,
  skip: () => void,
  next: () => string | undefined,
  step: () => void,
): Condition[] {
  const list: Condition[] = []
  let not = false
  for (;;) {
    skip()
    const character = next()
    if (character === undefined) throw badRequest('The header If cannot be read.', { header: 'If' })
    step()
    if (character === ')') return list
    if (character === '<') list.push({ not, token: tokenOf(upTo('>')), etag: null })
    else if (character === '[') list.push({ not, token: null, etag: upTo(']') })
    else if (character.toLowerCase() === 'n') {
      // `Not` negates the next condition.
      for (const letter of ['o', 't']) {
        if (next()?.toLowerCase() !== letter) throw badRequest('The header If cannot be read.', { header: 'If' })
        step()
      }
      not = true
      continue
    } else throw badRequest('The header If cannot be read.', { header: 'If' })
    not = false
  }
}

/** Whether one of the lists holds, by the locks and the tag of the resource; without lists, the answer is yes. */
export function holdsIf(
  { lists }: IfHeader,
  there: { readonly tokens: readonly string[]; readonly etag: string | null },
) {
  if (lists.length === 0) return true
  return lists.some((list) =>
    list.every(({ not, token, etag }) => {
      const found = token === null ? etag === there.etag : there.tokens.includes(token)
      return found !== not
    }),
  )
}

/** A token in stored form: without its URI scheme. */
export const tokenOf = (address: string): string => address.trim().replace(/^(opaquelocktoken|urn:uuid):/, '')

export const tokenAddress = (token: string): string => `opaquelocktoken:${token}`
