/** The document of an answer. @see OAI-PMH 2.0, section 3.2 */
import { attributesText, element, textElement, xmlHeader } from '../formats/service.ts'
import type { HarvestRecord } from './model.ts'
import type { ProtocolError } from './protocol-error.ts'
import type { HarvestRequest } from './request.ts'

const namespace = 'http://www.openarchives.org/OAI/2.0/'
export const instance = 'http://www.w3.org/2001/XMLSchema-instance'

const root = attributesText({
  xmlns: namespace,
  'xmlns:xsi': instance,
  'xsi:schemaLocation': `${namespace} http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd`,
})

/** Members of every answer; arguments are repeated unless the request is not understood. */
export interface Head {
  /** `2026-05-17T10:00:00Z` */
  readonly at: string
  readonly baseUrl: string
  readonly request: HarvestRequest | null
}

/** Our own arguments do not belong to the protocol, so they are not repeated. */
const repeated = ['identifier', 'metadataPrefix', 'set', 'from', 'until', 'resumptionToken'] as const

export function beginning({ at, baseUrl, request }: Head): string {
  const named = request && Object.fromEntries(repeated.map((name) => [name, request.given[name]]))
  const attributes = request ? { verb: request.verb, ...named } : {}
  return [
    xmlHeader,
    `<OAI-PMH${root}>`,
    textElement('responseDate', at),
    textElement('request', baseUrl, attributes),
  ].join('\n')
}

export const end = '</OAI-PMH>\n'

export const errorDocument = (head: Head, { code, message }: ProtocolError): string =>
  `${beginning(head)}\n${textElement('error', message, { code })}\n${end}`

export function headerElement({ datestamp, deleted, sets }: HarvestRecord, identifier: string): string {
  const parts = [textElement('identifier', identifier), textElement('datestamp', datestamp)]
  const specs = sets.map((spec) => textElement('setSpec', spec))
  return element('header', [...parts, ...specs].join(''), { status: deleted ? 'deleted' : undefined })
}

export interface TokenElement {
  /** Null: the list ends here. */
  readonly token: string | null
  readonly expires: Date | null
  readonly total: number
  readonly cursor: number
}

export function tokenElement({ token, expires, total, cursor }: TokenElement): string {
  const attributes = {
    expirationDate: expires ? secondsOf(expires) : undefined,
    completeListSize: total,
    cursor,
  }
  return textElement('resumptionToken', token ?? '', attributes)
}

/** A document as an element of another document. */
export const withoutDeclaration = (xml: string): string => xml.replace(/^\uFEFF?\s*<\?xml[^>]*\?>\s*/, '').trimEnd()

/** The time in the form of the protocol. */
export const secondsOf = (at: Date): string => at.toISOString().replace(/\.\d{3}Z$/, 'Z')
