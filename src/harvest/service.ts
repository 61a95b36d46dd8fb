/**
 * OAI-PMH 2.0: harvesters get what the user `oai_pmh` may see, and hear of what it sees no more. `follow.ts` keeps what is told of
 * each object, in the order in which it came to be so; a list (`list-records.ts`) goes through it from one record to the next: what
 * changes meanwhile comes once more behind everything else. `telling.ts` makes the records. See docs/harvesting.md.
 */
import type { BaseConfig } from '../config/service.ts'
import { element, textElement } from '../formats/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Follower } from './follow.ts'
import { uuidOf } from './identifiers.ts'
import { listOf, pageOf, selectionOf } from './list-records.ts'
import { listSets } from './list-sets.ts'
import { beginning, end, errorDocument } from './markup.ts'
import type { HarvestRecord } from './model.ts'
import type { Prefix, Prefixes } from './prefixes.ts'
import { ProtocolError } from './protocol-error.ts'
import { type HarvestRequest, readRequest, type Sent } from './request.ts'
import type { SetService } from './sets.ts'
import * as store from './store.ts'
import { createTelling, type Telling, type TellingDeps } from './telling.ts'
import type { Tokens } from './tokens.ts'

export { checkTagsOfHarvest } from './check.ts'
export { createFollower, type Follower } from './follow.ts'
export { createPrefixes } from './prefixes.ts'
export { createSets } from './sets.ts'
export { createTokens } from './tokens.ts'

export interface HarvestDeps extends TellingDeps {
  readonly externalUrl: string
  readonly settings: () => Pick<BaseConfig, 'oai_pmh' | 'file_url_expire' | 'email'>
  /** The default name of the repository. */
  readonly instanceName: () => string
  /** The user whose rights count, with the address of the harvester; null: the user has no rights. */
  readonly harvester: (address: string) => Promise<Actor | null>
  /** Counts a request from an address. @throws {AppError} `QuotaExceeded` */
  readonly admit: (actor: null, address: string) => Promise<void>
  readonly follower: Pick<Follower, 'current'>
  readonly prefixes: Prefixes
  readonly sets: SetService
  readonly tokens: Tokens
}

export interface HarvestCall {
  readonly sent: Sent
  readonly address: string
  /** The address as sent, for the events. */
  readonly url: string
  readonly deadline: Deadline
}

/** A document in pieces. Pieces of a successful answer are made as they are read. */
export interface HarvestAnswer {
  readonly status: number
  readonly pieces: AsyncIterable<string> | readonly string[]
}

export type HarvestService = ReturnType<typeof createHarvestService>

export function createHarvestService(deps: HarvestDeps) {
  const { db, settings, prefixes } = deps
  const baseUrl = `${deps.externalUrl}/api/v1/oai`
  const telling = createTelling(deps)

  return {
    /** @throws {AppError} `OAIpmhNotEnabled`, `QuotaExceeded`, `ServiceUnavailable` */
    async answer(asked: HarvestCall): Promise<HarvestAnswer> {
      if (!settings().oai_pmh.enabled) throw new AppError('OAIpmhNotEnabled')
      await deps.admit(null, asked.address)
      let request: HarvestRequest | null = null
      try {
        request = readRequest(asked.sent)
        return { status: 200, pieces: await piecesOf(request, asked) }
      } catch (error) {
        return refused(protocolError(error), request)
      }
    },
  }

  async function refused(error: ProtocolError, request: HarvestRequest | null): Promise<HarvestAnswer> {
    const { now } = await store.firstDatestamp(db)
    // If the request is not understood, its arguments are not repeated.
    const understood = error.code === 'badArgument' || error.code === 'badVerb' ? null : request
    return { status: error.status, pieces: [errorDocument({ at: now, baseUrl, request: understood }, error)] }
  }

  async function piecesOf(request: HarvestRequest, asked: HarvestCall): Promise<HarvestAnswer['pieces']> {
    switch (request.verb) {
      case 'Identify':
        return whole(request, await identify())
      case 'ListMetadataFormats':
        if (request.given.identifier !== undefined)
          await recordNamed(await harvesterOf(asked), request.given.identifier, asked)
        return whole(request, element('ListMetadataFormats', prefixes.list().map(formatElement).join('')))
      case 'ListSets':
        return whole(request, await allSets(request, asked))
      case 'GetRecord':
        return getRecord(request, asked)
      case 'ListIdentifiers':
      case 'ListRecords':
        return listRecords(request, asked)
    }
  }

  async function whole(request: HarvestRequest, content: string): Promise<readonly string[]> {
    const { now } = await store.firstDatestamp(db)
    return [`${beginning({ at: now, baseUrl, request })}\n${content}\n${end}`]
  }

  async function identify(): Promise<string> {
    const { oai_pmh: own, email } = settings()
    const isReady = await deps.follower.current().then(
      () => true,
      () => false,
    )
    const { first, now } = await store.firstDatestamp(db)
    // Every mail domain has a postmaster (RFC 5321), and the protocol requires an address.
    const other = email.from || `postmaster@${new URL(deps.externalUrl).hostname}`
    const addresses = own.admin_email.length > 0 ? own.admin_email.map((one) => one.email) : [other]
    return element(
      'Identify',
      [
        textElement('repositoryName', own.repository_name || deps.instanceName()),
        textElement('baseURL', baseUrl),
        textElement('protocolVersion', '2.0'),
        ...addresses.map((address) => textElement('adminEmail', address)),
        // During the first run, records get the dates of their objects.
        textElement('earliestDatestamp', isReady ? (first ?? now) : '1970-01-01T00:00:00Z'),
        textElement('deletedRecord', 'persistent'),
        textElement('granularity', 'YYYY-MM-DDThh:mm:ssZ'),
      ].join(''),
    )
  }

  async function allSets(request: HarvestRequest, asked: HarvestCall): Promise<string> {
    const actor = await harvesterOf(asked)
    await deps.follower.current()
    return listSets(deps, actor, request)
  }

  async function getRecord(request: HarvestRequest, asked: HarvestCall): Promise<readonly string[]> {
    const { identifier = '', metadataPrefix = '' } = request.given
    const prefix = prefixNamed(metadataPrefix)
    const actor = await harvesterOf(asked)
    const record = await recordNamed(actor, identifier, asked)
    const texts = await Array.fromAsync(telling.records([record], tellingOf(request, asked, actor, prefix)))
    return whole(request, element('GetRecord', texts.join('')))
  }

  /** @throws {ProtocolError} `idDoesNotExist` */
  async function recordNamed(actor: Actor, identifier: string, asked: HarvestCall): Promise<HarvestRecord> {
    const uuid = uuidOf(settings().oai_pmh.namespace_identifier, identifier)
    await deps.follower.current()
    const record = uuid === null ? null : await store.findRecord(db.within(asked.deadline), uuid)
    if (!record) throw new ProtocolError('idDoesNotExist', 'There is no such record.')
    return telling.one(actor, record, asked.deadline)
  }

  async function listRecords(request: HarvestRequest, asked: HarvestCall): Promise<AsyncIterable<string>> {
    const list = await listOf(deps, request)
    const prefix = prefixNamed(list.metadataPrefix)
    const selection = selectionOf(list)
    const actor = await harvesterOf(asked)
    await deps.follower.current()
    const { now, records, token } = await pageOf(deps, request.verb, list, selection)
    const context = tellingOf(request, asked, actor, prefix)
    const pieces =
      request.verb === 'ListRecords' ? telling.records(records, context) : telling.headers(records, context)
    return inElement(beginning({ at: now, baseUrl, request }), request.verb, await begun(pieces), token)
  }

  function tellingOf(request: HarvestRequest, { url, deadline }: HarvestCall, actor: Actor, prefix: Prefix): Telling {
    return { request, url, deadline, actor, prefix }
  }

  async function harvesterOf({ address }: HarvestCall): Promise<Actor> {
    const actor = await deps.harvester(address)
    if (!actor) throw new AppError('ServiceUnavailable', {}, { message: 'The user oai_pmh may do nothing now.' })
    return actor
  }

  function prefixNamed(name: string): Prefix {
    const prefix = prefixes.find(name)
    if (prefix) return prefix
    throw new ProtocolError('cannotDisseminateFormat', 'There is no such metadata format.')
  }
}

/** @throws errors that the protocol cannot express */
function protocolError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error
  // An error of a style sheet is answered with its reason: the harvester may ask for fewer records.
  if (error instanceof AppError && error.parameters.xslt !== undefined) {
    return new ProtocolError(error.parameters.most === undefined ? 'internalServerError' : 'badArgument', error.message)
  }
  throw error
}

function formatElement({ prefix, schema, namespace }: Prefix): string {
  const parts = [
    textElement('metadataPrefix', prefix),
    textElement('schema', schema),
    textElement('metadataNamespace', namespace),
  ]
  return element('metadataFormat', parts.join(''))
}

/** The same, with the first piece already made: an error up to there can be answered as an error. */
async function begun(pieces: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await pieces.next()
  return (async function* () {
    for (let next = first; !next.done; next = await pieces.next()) yield next.value
  })()
}

async function* inElement(
  head: string,
  name: string,
  pieces: AsyncIterable<string>,
  token: string,
): AsyncGenerator<string> {
  yield `${head}\n<${name}>\n`
  for await (const piece of pieces) yield `${piece}\n`
  yield `${token}</${name}>\n${end}`
}
