import type { Progress } from '../../platform/process/progress.ts'
import type { ServiceClient } from '../client.ts'
import { artistIds, readArtists } from './artists.ts'
import { linkInfluences } from './influences.ts'
import { artistObject, artworkObject } from './mapping.ts'
import { readRecords, SourceError, sourceFile, type TateArtwork } from './records.ts'
import { createRun } from './run.ts'
import { ensureDatamodel, ensurePool } from './setup.ts'
import { addMovement, readVocabulary } from './vocabulary.ts'

export interface TateImportOptions {
  client: ServiceClient
  /** Folder with `artists.jsonl.gz` and `artworks.jsonl.gz` (or `.jsonl`), and perhaps `loans.jsonl`. */
  folder: string
  /** Maximum number of artworks; the records to which they refer are included. */
  limit?: number
  /** Objects per request. */
  batch?: number
  /** Requests at the same time. */
  connections?: number
  progress: Progress
  /** Whether object types of an older release get their missing columns. */
  extend?: boolean
  /** Ends the import after the requests in flight; running the same import again continues from there. */
  signal?: AbortSignal
}

export interface TateImportSummary {
  /** Number of objects created by this run, by object type. */
  created: Record<string, number>
  /** Number of objects of the collection in the service. */
  total: number
  /** Seconds from the first request for objects until everything was searchable. */
  seconds: number
  /** The same until searches had their final speed. */
  rebuiltSeconds: number
  interrupted: boolean
}

/** Loads the collection through the HTTP interface and waits until all of it is searchable. */
export async function importTate(options: TateImportOptions): Promise<TateImportSummary> {
  const { client, folder, progress, signal = new AbortController().signal } = options
  const files = await sources(folder)
  const vocabularyRead = readVocabulary(files.artworks, options.limit ?? Number.POSITIVE_INFINITY)
  // Awaited later: reading the files and sending requests overlap.
  vocabularyRead.catch(() => {})
  if (await ensureDatamodel(client, { extend: options.extend ?? false }))
    progress.say('committed the datamodel of the collection')
  const poolId = await ensurePool(client)
  const begun = performance.now()
  const run = createRun({
    client,
    progress,
    signal,
    batch: options.batch ?? 500,
    connections: options.connections ?? 2,
  })
  const vocabulary = await vocabularyRead
  const artistRecords = await readArtists(files.artists, options.limit === undefined ? null : vocabulary.artists)
  for (const record of artistRecords) for (const each of record.movements) addMovement(each, vocabulary.movements)

  const movements = await run.terms('Movements', 'movement', vocabulary.movements)
  const subjects = await run.terms('Subjects', 'subject', vocabulary.subjects)
  const artistRecordIds = await run.all(
    'Artists',
    artistRecords.length,
    {
      objecttype: 'artist',
      listMask: 'artist_short',
      key: (record) => record.sourceRecord,
      keyColumn: 'source_record',
      toObject: (record) => artistObject(record, { movements }),
    },
    artistRecords,
  )
  const artists = artistIds(artistRecords, artistRecordIds)
  if (!signal.aborted) await linkInfluences(client, vocabulary.influences, artists)
  const known = { artists, subjects, movements }
  await run.all<TateArtwork>(
    'Artworks',
    vocabulary.artworks,
    {
      objecttype: 'artwork',
      listMask: 'artwork_short',
      key: (record) => record.id,
      keyColumn: 'tate_id',
      toObject: (record) => artworkObject(record, known, poolId),
    },
    firstOf(readRecords<TateArtwork>(files.artworks), vocabulary.artworks),
  )
  if (files.loans) await run.loans(files.loans)
  if (!signal.aborted) await run.untilSearchable()
  const seconds = (performance.now() - begun) / 1000
  if (!signal.aborted) await run.untilRebuilt()
  const rebuiltSeconds = (performance.now() - begun) / 1000
  return { ...run.summary(), seconds, rebuiltSeconds, interrupted: signal.aborted }
}

async function sources(folder: string): Promise<{ artists: string; artworks: string; loans: string | null }> {
  const [artists, artworks, loans] = await Promise.all(
    ['artists', 'artworks', 'loans'].map((name) => sourceFile(folder, name)),
  )
  if (!artists || !artworks) {
    throw new SourceError(`${folder} has no ${artists ? 'artworks' : 'artists'}.jsonl.gz: is it the Tate collection?`)
  }
  return { artists, artworks, loans: loans ?? null }
}

async function* firstOf<T>(records: AsyncIterable<T>, limit: number): AsyncIterable<T> {
  let count = 0
  for await (const record of records) {
    if (count++ === limit) return
    yield record
  }
}
