/**
 * Records as harvesters are told them. Rights count at the moment of the answer: a record that cannot be read any more is told as
 * deleted, and its deletion is stored before a harvester hears of it.
 */
import type { BaseConfig } from '../config/service.ts'
import type { EventLog, NewEvent } from '../events/service.ts'
import { element } from '../formats/service.ts'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { type Deadline, outsideDeadlines } from '../platform/limits/deadline.ts'
import type { RequestLimiter } from '../platform/limits/request-limiter.ts'
import type { Db } from '../platform/postgres/db.ts'
import { type DocumentDeps, type Documented, documentsOf } from './documents.ts'
import { identifierOf } from './identifiers.ts'
import { headerElement } from './markup.ts'
import type { HarvestRecord } from './model.ts'
import type { Prefix } from './prefixes.ts'
import type { HarvestRequest } from './request.ts'
import * as store from './store.ts'

export interface TellingDeps extends DocumentDeps {
  readonly db: Db
  readonly events: Pick<EventLog, 'append'>
  readonly settings: () => Pick<BaseConfig, 'oai_pmh' | 'file_url_expire'>
  readonly read: Pick<ReadService, 'readable'>
  /** Where long answers take their turn. */
  readonly heavyRequests: RequestLimiter
}

/** For whom records are told, and what was asked for. */
export interface Telling {
  readonly request: HarvestRequest
  readonly actor: Actor
  readonly prefix: Prefix
  /** As it was sent, for the events. */
  readonly url: string
  readonly deadline: Deadline
}

/** Characters of an address in the event of each record. */
const longestUrl = 2000
/** So many records are answered without waiting for a turn. */
const fewRecords = 20
/** Headers that are in memory at a time. */
const headersAtATime = 1000

export type TellingService = ReturnType<typeof createTelling>

export function createTelling(deps: TellingDeps) {
  const { db } = deps

  return {
    /** Whole records, some at a time. */
    async *records(records: readonly HarvestRecord[], telling: Telling): AsyncGenerator<string> {
      const { actor, prefix, deadline } = telling
      const documents = documentsOf(deps, actor, records, { prefix, deadline })
      const work = () => documents.next()
      for (;;) {
        const next = await (records.length > fewRecords ? deps.heavyRequests.run(deadline, work) : work())
        if (next.done) return
        yield await told(next.value, telling)
      }
    },

    /** Their headers alone, some at a time. */
    async *headers(records: readonly HarvestRecord[], { actor, deadline }: Telling): AsyncGenerator<string> {
      for (let start = 0; start < records.length; start += headersAtATime) {
        const seen = await asSeen(actor, records.slice(start, start + headersAtATime), deadline)
        yield seen.map(headerOf).join('\n')
      }
    },

    /** A record as the harvester sees it now. */
    async one(actor: Actor, record: HarvestRecord, deadline: Deadline): Promise<HarvestRecord> {
      const [seen = record] = await asSeen(actor, [record], deadline)
      return seen
    },
  }

  async function asSeen(
    actor: Actor,
    records: readonly HarvestRecord[],
    deadline: Deadline,
  ): Promise<readonly HarvestRecord[]> {
    const ids = records.filter(({ deleted }) => !deleted).map(({ id }) => id)
    const readable = await deps.read.readable(actor, ids, deadline)
    await lose(ids.filter((id) => !readable.has(id)))
    return records.map((record) => ({ ...record, deleted: !readable.has(record.id) }))
  }

  async function told(documents: Documented, telling: Telling): Promise<string> {
    const missing = documents.filter(({ record, metadata }) => !record.deleted && metadata === null)
    await lose(missing.map(({ record }) => record.id))
    const shown = documents.filter(({ metadata }) => metadata !== null)
    await log(
      shown.map(({ record }) => record.id),
      telling,
    )
    return documents
      .map(({ record, metadata }) => {
        const header = headerOf({ ...record, deleted: metadata === null })
        return element('record', metadata === null ? header : header + element('metadata', metadata))
      })
      .join('\n')
  }

  async function log(ids: readonly number[], { request, actor, url }: Telling): Promise<void> {
    if (ids.length === 0) return
    const { 'event.info': _, ...given } = request.given
    const info = { ...request.info, url: url.slice(0, longestUrl), oai_pmh: { verb: request.verb, ...given } }
    const events = ids.map((systemObjectId): NewEvent => ({ type: 'OBJECT_DOWNLOAD', actor, systemObjectId, info }))
    await outsideDeadlines(() => deps.events.append(db, events))
  }

  function lose(ids: readonly number[]): Promise<void> {
    return outsideDeadlines(() => store.lose(db, ids))
  }

  function headerOf(record: HarvestRecord): string {
    return headerElement(record, identifierOf(deps.settings().oai_pmh.namespace_identifier, record.uuid))
  }
}
