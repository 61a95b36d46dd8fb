/** Requests of the protocol: a verb and its arguments, each once. @see OAI-PMH 2.0, sections 3.1.1 and 4 */
import { isRecord } from '../platform/values/records.ts'
import { badArgument, ProtocolError } from './protocol-error.ts'

/** For each verb: its required and optional arguments, and whether its lists can be resumed. */
const verbs = {
  Identify: { required: [], optional: [], lists: false },
  ListMetadataFormats: { required: [], optional: ['identifier'], lists: false },
  ListSets: { required: [], optional: [], lists: true },
  ListIdentifiers: { required: ['metadataPrefix'], optional: ['from', 'until', 'set'], lists: true },
  ListRecords: { required: ['metadataPrefix'], optional: ['from', 'until', 'set'], lists: true },
  GetRecord: { required: ['identifier', 'metadataPrefix'], optional: [], lists: false },
} as const satisfies Record<string, { required: readonly string[]; optional: readonly string[]; lists: boolean }>

export type Verb = keyof typeof verbs
export const verbNames = Object.keys(verbs) as readonly Verb[]

export const argumentNames = [
  'identifier',
  'metadataPrefix',
  'set',
  'from',
  'until',
  'resumptionToken',
  'limit',
  'offset',
  'event.info',
] as const
type ArgumentName = (typeof argumentNames)[number]

export interface HarvestRequest {
  readonly verb: Verb
  readonly given: Readonly<Partial<Record<ArgumentName, string>>>
  /** Records of an answer; null: by the base configuration. */
  readonly limit: number | null
  /** Records that are skipped at the beginning. */
  readonly offset: number
  /** Further members of the events of the records. */
  readonly info: Readonly<Record<string, unknown>>
}

/** Arguments of a request as sent; repeated ones are a list. */
export type Sent = Readonly<Record<string, unknown>>

/** Most records of an answer. */
export const mostRecords = 10_000
/** The largest `limit` that is read as a number. */
const mostNamed = 999_999_999
/** Records that may be skipped at the beginning: skipped records have to be read. */
const mostLeftOut = 10_000_000
const longest = 10_000
/** It is logged with each record. */
const longestInfo = 1000

/** @throws {ProtocolError} `badVerb`, `badArgument` */
export function readRequest(sent: Sent): HarvestRequest {
  const { verb: name = 'Identify', ...rest } = sent
  const verb = verbNames.find((one) => one === name)
  if (verb === undefined) {
    throw new ProtocolError('badVerb', typeof name === 'string' ? 'There is no such verb.' : 'The verb is repeated.')
  }
  const given: Partial<Record<ArgumentName, string>> = {}
  for (const [key, value] of Object.entries(rest)) {
    const argument = argumentNames.find((one) => one === key)
    if (argument === undefined) throw badArgument('There is an argument that is none of the protocol.')
    if (typeof value !== 'string') throw badArgument(`${argument} is repeated.`)
    if (value.length > longest || /[\0\p{Cs}]/u.test(value))
      throw badArgument(`${argument} is too long or has letters that it cannot have.`)
    given[argument] = value
  }
  assertArguments(verb, given)
  return {
    verb,
    given,
    // A larger number counts as the largest; the rest follows by a token.
    limit:
      given.limit === undefined
        ? null
        : Math.min(numberOf('limit', given.limit, { least: 1, most: mostNamed }), mostRecords),
    offset: given.offset === undefined ? 0 : numberOf('offset', given.offset, { least: 0, most: mostLeftOut }),
    info: infoOf(given['event.info']),
  }
}

function assertArguments(verb: Verb, given: HarvestRequest['given']): void {
  const { required, optional, lists } = verbs[verb]
  const isResumed = lists && given.resumptionToken !== undefined
  const own: readonly string[] = isResumed
    ? ['resumptionToken', 'event.info']
    : [...required, ...optional, 'event.info', ...(lists ? ['limit', 'offset'] : [])]
  const surplus = Object.keys(given).find((name) => !own.includes(name))
  if (surplus !== undefined) {
    throw badArgument(isResumed ? `resumptionToken stands alone, without ${surplus}.` : `${verb} takes no ${surplus}.`)
  }
  if (isResumed) return
  const missing = required.find((name) => given[name] === undefined)
  if (missing !== undefined) throw badArgument(`${verb} needs ${missing}.`)
}

function numberOf(
  name: string,
  text: string,
  { least, most }: { readonly least: number; readonly most: number },
): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw badArgument(`${name} must be a whole number from ${least} to ${most}.`)
}

function infoOf(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {}
  if (text.length > longestInfo) throw badArgument(`event.info has ${longestInfo} characters at most.`)
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Text that is not JSON is not an object, either.
  }
  throw badArgument('event.info must be a JSON object.')
}
