/**
 * OAI-PMH 2.0: harvesters get the objects that the user `oai_pmh` may see, and deletions of those that it no longer sees.
 * `follow.ts` keeps the records, in the order of their changes. A list reads them from one record to the next, without a
 * fixed end: a record that changes meanwhile comes once more after all others. See docs/harvesting.md.
 */
import type { BaseConfig } from '../config/service.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import { element, textElement } from '../formats/service.ts'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { type Deadline, outsideDeadlines } from '../platform/limits/deadline.ts'
import type { RequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Db } from '../platform/postgres/db.ts'
import { readDates } from './dates.ts'
import { type DocumentDeps, type Documented, documentsOf } from './documents.ts'
import type { Follower } from './follow.ts'
import { beginning, end, errorDocument, headerElement, tokenElement } from './markup.ts'
import type { HarvestRecord, Position } from './model.ts'
import type { Prefix, Prefixes } from './prefixes.ts'
import { badArgument, ProtocolError } from './protocol-error.ts'
import { type HarvestRequest, mostRecords, readRequest, type Sent } from './request.ts'
import { readSpec, type SetService } from './sets.ts'
import * as store from './store.ts'
import type { Resumed, Tokens } from './tokens.ts'

export { checkTagsOfHarvest } from './check.ts'
export { createFollower, type Follower } from './follow.ts'
export { createPrefixes } from './prefixes.ts'
export { createSets } from './sets.ts'
export { createTokens } from './tokens.ts'

export interface HarvestDeps extends DocumentDeps {
  readonly db: Db
  readonly events: Pick<EventLog, 'append'>
  readonly externalUrl: string
  readonly settings: () => Pick<BaseConfig, 'oai_pmh' | 'file_url_expire' | 'email'>
  /** The default name of the repository. */
  readonly instanceName: () => string
  /** The user whose rights count, with the address of the harvester; null: the user has no rights. */
  readonly harvester: (address: string) => Promise<Actor | null>
  readonly read: Pick<ReadService, 'readable'>
  readonly follower: Pick<Follower, 'current'>
  readonly prefixes: Prefixes
  readonly sets: SetService
  readonly tokens: Tokens
  /** The limiter for harvests. */
  readonly heavyRequests: RequestLimiter
}

export interface Asked {
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
  const { db, settings, prefixes, tokens } = deps
  const baseUrl = `${deps.externalUrl}/api/v1/oai`

  return {
    /** @throws {AppError} `OAIpmhNotEnabled`, `ServiceUnavailable` */
    async answer(asked: Asked): Promise<HarvestAnswer> {
      if (!settings().oai_pmh.enabled) throw new AppError('OAIpmhNotEnabled')
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

  async function piecesOf(request: HarvestRequest, asked: Asked): Promise<HarvestAnswer['pieces']> {
    switch (request.verb) {
      case 'Identify':
        return whole(request, await identify())
      case 'ListMetadataFormats':
        if (request.given.identifier !== undefined)
          await recordNamed(await harvesterOf(asked), request.given.identifier, asked)
        return whole(request, element('ListMetadataFormats', prefixes.list().map(formatElement).join('')))
      case 'ListSets':
        return whole(request, await listSets(request, asked))
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

  async function listSets({ given, limit, offset }: HarvestRequest, asked: Asked): Promise<string> {
    const resumed = given.resumptionToken === undefined ? null : await tokens.read(given.resumptionToken, 'ListSets')
    const actor = await harvesterOf(asked)
    await deps.follower.current()
    const all = await deps.sets.list(actor)
    const from = resumed ? all.findIndex(({ spec }) => spec > `${resumed.behind}`) : offset
    const rest = from < 0 ? [] : all.slice(from)
    const size = resumed?.limit ?? limit ?? setsOfPage
    const page = rest.slice(0, size)
    const last = page.at(-1)
    if (!last) throw resumed ? new ProtocolError('badResumptionToken', 'There are no more sets.') : noRecords()
    const next = { verb: 'ListSets', limit: size, behind: last.spec, cursor: from + page.length, total: all.length }
    const token = await resumption(rest.length > size ? next : null, { cursor: from, total: all.length, resumed })
    const sets = page.map(({ spec, name }) =>
      element('set', textElement('setSpec', spec) + textElement('setName', name)),
    )
    return element('ListSets', sets.join('') + token)
  }

  async function getRecord(request: HarvestRequest, asked: Asked): Promise<readonly string[]> {
    const { identifier = '', metadataPrefix = '' } = request.given
    const prefix = prefixNamed(metadataPrefix)
    const actor = await harvesterOf(asked)
    const record = await recordNamed(actor, identifier, asked)
    const texts: string[] = []
    for await (const documents of documentsOf(deps, actor, [record], { prefix, deadline: asked.deadline })) {
      texts.push(await told(documents, { request, asked, actor, prefix }))
    }
    return whole(request, element('GetRecord', texts.join('')))
  }

  /** @throws {ProtocolError} `idDoesNotExist` */
  async function recordNamed(actor: Actor, identifier: string, asked: Asked): Promise<HarvestRecord> {
    const uuid = uuidOf(identifier)
    await deps.follower.current()
    const record = uuid === null ? null : await store.findRecord(db.within(asked.deadline), uuid)
    if (!record) throw new ProtocolError('idDoesNotExist', 'There is no such record.')
    if (record.deleted) return record
    return (await deps.read.readable(actor, [record.id], asked.deadline)).has(record.id) ? record : lost(record)
  }

  async function lost(record: HarvestRecord): Promise<HarvestRecord> {
    await outsideDeadlines(() => store.lose(db, [record.id]))
    return { ...record, deleted: true }
  }

  async function listRecords(request: HarvestRequest, asked: Asked): Promise<AsyncIterable<string>> {
    const list = await listOf(request)
    const prefix = prefixNamed(list.metadataPrefix)
    const set = list.set === undefined ? null : readSpec(list.set)
    if (list.set !== undefined && set === null) throw badArgument('set is no name of a set.')
    const selection = { set, ...readDates(list.from, list.until) }
    const actor = await harvesterOf(asked)
    await deps.follower.current()
    const page = await store.readPage(db, selection, list)
    const { records, more, now } = page
    const last = records.at(-1)
    if (!last) throw noRecords()
    const cursor = list.cursor + records.length
    // Records changed since the list began come once more.
    const total = Math.max(page.total, more ? cursor + 1 : cursor)
    const { metadataPrefix, from, until, limit } = list
    const next = {
      verb: request.verb,
      metadataPrefix,
      ...(list.set === undefined ? {} : { set: list.set }),
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
      limit,
      behind: { moment: last.moment, id: last.id },
      cursor,
      total,
    }
    const token = await resumption(more ? next : null, { cursor: list.cursor, total, resumed: list.resumed })
    const head = beginning({ at: now, baseUrl, request })
    const context = { request, asked, actor, prefix }
    const pieces = request.verb === 'ListRecords' ? recordPieces(records, context) : headerPieces(records, context)
    return inElement(head, request.verb, await begun(pieces), token)
  }

  interface List extends Omit<Partial<Resumed>, 'verb' | 'behind' | 'total'> {
    readonly resumed: Resumed | null
    readonly metadataPrefix: string
    readonly limit: number
    readonly offset: number
    readonly behind: Position | null
    readonly cursor: number
    readonly total: number | null
  }

  async function listOf({ verb, given, limit, offset }: HarvestRequest): Promise<List> {
    if (given.resumptionToken !== undefined) {
      const resumed = await tokens.read(given.resumptionToken, verb)
      const { metadataPrefix = '', behind } = resumed
      return { ...resumed, resumed, metadataPrefix, behind: behind as Position, offset: 0 }
    }
    const { metadataPrefix = '', set, from, until } = given
    return {
      resumed: null,
      metadataPrefix,
      ...(set === undefined ? {} : { set }),
      ...(from === undefined ? {} : { from }),
      ...(until === undefined ? {} : { until }),
      limit: limit ?? Math.min(settings().oai_pmh.records_limit, mostRecords),
      offset,
      behind: null,
      cursor: offset,
      total: null,
    }
  }

  interface Context {
    readonly request: HarvestRequest
    readonly asked: Asked
    readonly actor: Actor
    readonly prefix: Prefix
  }

  async function* recordPieces(records: readonly HarvestRecord[], context: Context): AsyncGenerator<string> {
    const { actor, prefix, asked } = context
    const documents = documentsOf(deps, actor, records, { prefix, deadline: asked.deadline })
    const work = () => documents.next()
    for (;;) {
      const next = await (records.length > fewRecords ? deps.heavyRequests.run(asked.deadline, work) : work())
      if (next.done) return
      yield await told(next.value, context)
    }
  }

  /** Records for an answer. A deletion found here is stored before it is answered. */
  async function told(documents: Documented, { request, asked, actor }: Context): Promise<string> {
    const missing = documents.filter(({ record, metadata }) => !record.deleted && metadata === null)
    await outsideDeadlines(() =>
      store.lose(
        db,
        missing.map(({ record }) => record.id),
      ),
    )
    const { 'event.info': _, ...given } = request.given
    const url = asked.url.slice(0, longestUrl)
    const info = { ...request.info, url, oai_pmh: { verb: request.verb, ...given } }
    const events = documents.flatMap(({ record, metadata }): NewEvent[] =>
      metadata === null ? [] : [{ type: 'OBJECT_DOWNLOAD', actor, systemObjectId: record.id, info }],
    )
    if (events.length > 0) await outsideDeadlines(() => deps.events.append(db, events))
    return documents
      .map(({ record, metadata }) => {
        const header = headerElement({ ...record, deleted: metadata === null }, identifierOf(record.uuid))
        return element('record', metadata === null ? header : header + element('metadata', metadata))
      })
      .join('\n')
  }

  async function* headerPieces(records: readonly HarvestRecord[], { actor, asked }: Context): AsyncGenerator<string> {
    for (let start = 0; start < records.length; start += headersAtATime) {
      const part = records.slice(start, start + headersAtATime)
      const ids = part.filter(({ deleted }) => !deleted).map(({ id }) => id)
      const readable = await deps.read.readable(actor, ids, asked.deadline)
      await outsideDeadlines(() =>
        store.lose(
          db,
          ids.filter((id) => !readable.has(id)),
        ),
      )
      yield part
        .map((record) => headerElement({ ...record, deleted: !readable.has(record.id) }, identifierOf(record.uuid)))
        .join('\n')
    }
  }

  /** The token of a list that continues; an empty token at the end of a resumed list; else nothing. */
  async function resumption(
    next: Resumed | null,
    { cursor, total, resumed }: { readonly cursor: number; readonly total: number; readonly resumed: Resumed | null },
  ): Promise<string> {
    if (next) return tokenElement({ ...(await tokens.issue(next)), total, cursor })
    return resumed ? tokenElement({ token: null, expires: null, total, cursor }) : ''
  }

  async function harvesterOf({ address }: Asked): Promise<Actor> {
    const actor = await deps.harvester(address)
    if (!actor) throw new AppError('ServiceUnavailable', {}, { message: 'The user oai_pmh may do nothing now.' })
    return actor
  }

  function prefixNamed(name: string): Prefix {
    const prefix = prefixes.find(name)
    if (prefix) return prefix
    throw new ProtocolError('cannotDisseminateFormat', 'There is no such metadata format.')
  }

  function identifierOf(uuid: string): string {
    const { namespace_identifier: namespace } = settings().oai_pmh
    return namespace === '' ? `oai:${uuid}` : `oai:${namespace}:${uuid}`
  }

  function uuidOf(identifier: string): string | null {
    const before = identifierOf('')
    return identifier.startsWith(before) && identifier.length > before.length ? identifier.slice(before.length) : null
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

/** Most characters of an address in the event of each record. */
const longestUrl = 2000
/** Default number of sets in an answer. */
const setsOfPage = 1000
/** Up to so many records are answered without waiting for the limiter. */
const fewRecords = 20
/** Headers that are in memory at a time. */
const headersAtATime = 1000

const noRecords = (): ProtocolError => new ProtocolError('noRecordsMatch', 'There is nothing of that kind.')

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
