/** Lists of records and of their headers: from one page to the next, without an end that is fixed beforehand. */
import type { BaseConfig } from '../config/service.ts'
import type { Db } from '../platform/postgres/db.ts'
import { readDates } from './dates.ts'
import type { Position, Selection } from './model.ts'
import { badArgument, noRecords } from './protocol-error.ts'
import { type HarvestRequest, mostRecords } from './request.ts'
import { resumptionElement } from './resumption.ts'
import { readSpec } from './sets.ts'
import * as store from './store.ts'
import type { Resumed, Tokens } from './tokens.ts'

export interface RecordListDeps {
  readonly db: Db
  readonly settings: () => Pick<BaseConfig, 'oai_pmh'>
  readonly tokens: Tokens
}

/** The requested list, by the arguments or by a token. */
export interface RecordList {
  readonly resumed: Resumed | null
  readonly metadataPrefix: string
  readonly set?: string | undefined
  readonly from?: string | undefined
  readonly until?: string | undefined
  readonly limit: number
  readonly offset: number
  readonly behind: Position | null
  /** Records that were answered before. */
  readonly cursor: number
  readonly total: number | null
}

/** @throws {ProtocolError} `badResumptionToken` */
export async function listOf(
  { settings, tokens }: RecordListDeps,
  { verb, given, limit, offset }: HarvestRequest,
): Promise<RecordList> {
  if (given.resumptionToken !== undefined) {
    const resumed = await tokens.read(given.resumptionToken, verb)
    const { metadataPrefix = '', behind } = resumed
    return { ...resumed, resumed, metadataPrefix, behind: behind as Position, offset: 0 }
  }
  const { metadataPrefix = '', set, from, until } = given
  return {
    resumed: null,
    ...{ metadataPrefix, set, from, until, offset },
    limit: limit ?? Math.min(settings().oai_pmh.records_limit, mostRecords),
    behind: null,
    cursor: offset,
    total: null,
  }
}

/** @throws {ProtocolError} `badArgument` */
export function selectionOf({ set: given, from, until }: RecordList): Selection {
  const set = given === undefined ? null : readSpec(given)
  if (given !== undefined && set === null) throw badArgument('set is no name of a set.')
  return { set, ...readDates(from, until) }
}

export interface ListedPage extends Pick<store.RecordPage, 'now' | 'records'> {
  /** As the document ends. */
  readonly token: string
}

/** The next page of a list. @throws {ProtocolError} `noRecordsMatch` */
export async function pageOf(
  { db, tokens }: RecordListDeps,
  verb: HarvestRequest['verb'],
  list: RecordList,
  selection: Selection,
): Promise<ListedPage> {
  const { records, more, now, total: known } = await store.readPage(db, selection, list)
  const last = records.at(-1)
  if (!last) throw noRecords()
  const cursor = list.cursor + records.length
  // Records that have changed since the list began come once more.
  const total = Math.max(known, more ? cursor + 1 : cursor)
  const token = await resumptionElement(tokens, more ? { ...nextOf(verb, list, last), cursor, total } : null, {
    cursor: list.cursor,
    total,
    resumed: list.resumed,
  })
  return { now, records, token }
}

function nextOf(verb: string, { metadataPrefix, set, from, until, limit }: RecordList, { moment, id }: Position) {
  return {
    verb,
    metadataPrefix,
    ...(set === undefined ? {} : { set }),
    ...(from === undefined ? {} : { from }),
    ...(until === undefined ? {} : { until }),
    limit,
    behind: { moment, id },
  }
}
