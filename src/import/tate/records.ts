import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** The published records of the Tate collection, with the members that the importer reads. */
export interface TateArtist {
  id: number
  /** `Abakanowicz, Magdalena` */
  mda: string
  /** `Magdalena Abakanowicz` */
  fc: string
  date: string | null
  gender: string | null
  url: string
  birth?: TateLifeEvent
  death?: TateLifeEvent
  activePlaces?: { name: string }[]
  startLetter?: string
  movements: TateMovement[]
}

export interface TateLifeEvent {
  place?: { name: string }
  time?: { startYear?: number | null }
}

export interface TateMovement {
  id: number
  name: string
  era: { id: number; name: string }
}

export interface TateSubject {
  id: number
  name: string
  children?: TateSubject[]
}

export interface TateContributor {
  id: number
  mda: string
  role: string
  displayOrder: number
}

export interface TateArtwork {
  id: number
  acno: string
  title: string
  foreignTitle: string | null
  groupTitle: string | null
  classification: string | null
  medium: string | null
  dateRange: { startYear?: number | string | null; endYear?: number | string | null; text?: string | null } | null
  dateText: string
  width: string
  height: string
  depth: string
  dimensions: string | null
  inscription: string | null
  acquisitionYear?: number | null
  creditLine: string | null
  artistRooms?: boolean
  finberg?: string | null
  url: string
  thumbnailUrl: string | null
  thumbnailCopyright?: string | null
  contributors: TateContributor[]
  movements?: TateMovement[]
  subjects?: TateSubject
}

/** One line of an optional `loans.jsonl`: the published collection has none, but a museum would. */
export interface LoanRecord {
  loan_number: string
  /** Accession number of the artwork. */
  acno: string
  borrower?: string
  exhibition?: string
  from?: string
  to?: string
  insurance_value?: number
  note?: string
}

/** A problem with the folder or its files that the caller can fix. */
export class SourceError extends Error {}

/** `<folder>/<name>.jsonl.gz` or `<folder>/<name>.jsonl`; `null` when there is neither. */
export async function sourceFile(folder: string, name: string): Promise<string | null> {
  for (const file of [join(folder, `${name}.jsonl.gz`), join(folder, `${name}.jsonl`)]) {
    const readable = await access(file).then(
      () => true,
      () => false,
    )
    if (readable) return file
  }
  return null
}

/** The records of a file of JSON lines, read as a stream. */
export async function* readRecords<T>(file: string): AsyncIterable<T> {
  let number = 0
  for await (const line of linesOf(file)) {
    number++
    if (line.trim() === '') continue
    let record: T
    try {
      record = JSON.parse(line) as T
    } catch (error) {
      throw new SourceError(`${file}, line ${number} is no JSON: ${(error as Error).message}`)
    }
    yield record
  }
}

async function* linesOf(file: string): AsyncIterable<string> {
  const source = createReadStream(file)
  const text = file.endsWith('.gz') ? unzipped(source) : source
  text.setEncoding('utf8')
  try {
    let rest = ''
    for await (const chunk of text as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
    yield rest
  } catch (error) {
    throw new SourceError(`${file} cannot be read: ${(error as Error).message}`)
  } finally {
    source.destroy()
  }
}

function unzipped(source: Readable): Readable {
  const gunzip = createGunzip()
  source.on('error', (error) => gunzip.destroy(error))
  return source.pipe(gunzip)
}
