/** Imports an export of another instance as objects: all of it, or nothing. */
import { Spool } from '../../platform/memory/spool.ts'
import type { Progress } from '../../platform/process/progress.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import { inBatches } from '../batches.ts'
import type { ServiceClient } from '../client.ts'
import { createUploads, type FileLink, type NamedFile, type Uploads } from '../sheets/load/files.ts'
import { tableOf } from '../sheets/load/model.ts'
import { readModel } from '../sheets/load/setup.ts'
import { type DraftDeps, draftOf, fileKey, tagKeys } from './draft.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { type Draft, type ExportedFile, isWire, type Wire } from './model.ts'
import { fileIn, openExport } from './open.ts'
import { typesInOrder } from './order.ts'
import { PackageProblem } from './problem.ts'
import { readObjects } from './read.ts'
import { countThere, takeBack, takeUp } from './take-back.ts'

export interface ExportImportOptions {
  readonly client: ServiceClient
  readonly file: string
  readonly progress: Progress
  readonly signal: AbortSignal
  /** Maximum bytes of an unpacked archive. */
  readonly mostBytes: number
  /** The reference of a pool for all objects. */
  readonly pool?: string | undefined
  readonly withoutFiles?: boolean
  readonly batch?: number | undefined
}

export interface ExportImportSummary {
  /** Number of objects by type. */
  readonly created: Readonly<Record<string, number>>
  readonly files: number
}

/** Approximate number of characters of the objects in one request. */
const mostLetters = 8 * 1024 * 1024

/** The result of reading an export: drafts of each type, and the uuids of all objects. */
interface Read extends AsyncDisposable {
  readonly root: string
  readonly drafts: ReadonlyMap<string, Spool>
  readonly uuids: ReadonlySet<string>
  readonly order: readonly string[]
}

/** @throws {PackageProblem} before anything is changed @throws {Error} when everything was taken back, into the trash */
export async function importExport(options: ExportImportOptions): Promise<ExportImportSummary> {
  const { client, file, progress } = options
  const ledger = createLedger(`${withoutEnd(file, '/')}.import`)
  await using opened = await openExport(file, options.mostBytes)
  await using read = await readAll(options, opened.documents, opened.root)
  progress.say(`${opened.kind}: ${read.uuids.size} objects of ${read.order.length} types, nothing is wrong with them`)
  const known = ledger.exists() ? await takeUp(client, ledger) : new Set<string>()
  if (known.size > 0) progress.say(`goes on with ${known.size} objects of an earlier attempt`)
  const there = await countThere(
    client,
    [...read.uuids].filter((uuid) => !known.has(uuid)),
  )
  if (there > 0) throw new PackageProblem(`${there} of its ${read.uuids.size} objects are in the service already`)
  try {
    return await save(options, read, { ledger, known })
  } catch (error) {
    progress.stop()
    progress.say('takes everything back')
    await takeBack(client, ledger)
    throw error
  }
}

async function readAll(options: ExportImportOptions, documents: readonly string[], root: string): Promise<Read> {
  const deps = await draftDeps(options)
  const drafts = new Map<string, Spool>()
  const typeOf = new Map<string, string>()
  const targets = new Map<string, Set<string>>()
  const dispose = async () => {
    for (const spool of drafts.values()) await spool[Symbol.asyncDispose]()
  }
  try {
    for await (const object of readObjects(documents)) {
      options.signal.throwIfAborted()
      const draft = draftOf(deps, object)
      if (typeOf.has(draft.uuid)) continue
      typeOf.set(draft.uuid, draft.type)
      await assertFiles(root, draft)
      const spool = drafts.get(draft.type) ?? new Spool()
      drafts.set(draft.type, spool)
      await spool.add(JSON.stringify(draft))
      const linked = targets.get(draft.type) ?? new Set()
      targets.set(draft.type, linked)
      for (const uuid of Object.values(draft.needs).flat()) linked.add(uuid)
    }
    if (typeOf.size === 0) throw new PackageProblem('it has no objects')
    const links = new Map(
      [...targets].map(([type, uuids]) => [type, new Set([...uuids].flatMap((one) => typeOf.get(one) ?? []))]),
    )
    return { root, drafts, uuids: new Set(typeOf.keys()), order: typesInOrder(links), [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await dispose()
    throw error
  }
}

async function draftDeps({ client, pool, withoutFiles = false }: ExportImportOptions): Promise<DraftDeps> {
  const [model, pools, tags] = await Promise.all([
    readModel(client),
    client.get<{ pool: { reference?: string } }[]>('/pool'),
    client.get<unknown[]>('/tags'),
  ])
  const references = new Set(pools.flatMap(({ pool: { reference } }) => reference ?? []))
  if (pool !== undefined && !references.has(pool))
    throw new PackageProblem(`the service has no pool with the reference ${pool}`)
  return { tableOf: (type) => tableOf(model, type), pool, withoutFiles, pools: references, tags: tagsIn(tags) }
}

/** Ids of tags by their keys, in groups or beside them. */
function tagsIn(list: readonly unknown[], found = new Map<string, number>()): Map<string, number> {
  for (const one of list) {
    if (!isWire(one)) continue
    const tag = isWire(one.tag) ? one.tag : one
    if (typeof tag._id === 'number') for (const key of tagKeys(tag)) if (!found.has(key)) found.set(key, tag._id)
    for (const below of [one._tags, one.tags]) if (Array.isArray(below)) tagsIn(below as unknown[], found)
  }
  return found
}

async function assertFiles(root: string, { type, uuid, block }: Draft): Promise<void> {
  for (const { path } of filesIn(block)) {
    if ((await fileIn(root, path)) === null) {
      throw new PackageProblem(`${type} ${uuid}: its file ${JSON.stringify(path.slice(0, 200))} is not in the export`)
    }
  }
}

function filesIn(value: unknown, found: ExportedFile[] = []): ExportedFile[] {
  if (Array.isArray(value)) for (const one of value as unknown[]) filesIn(one, found)
  else if (isWire(value)) {
    if (isWire(value[fileKey])) found.push(value[fileKey] as unknown as ExportedFile)
    else for (const one of Object.values(value)) filesIn(one, found)
  }
  return found
}

interface Former {
  readonly ledger: Ledger
  /** Objects of an earlier attempt, which are saved again. */
  readonly known: ReadonlySet<string>
}

async function save(options: ExportImportOptions, read: Read, { ledger, known }: Former): Promise<ExportImportSummary> {
  const { client, progress, signal, batch: size = 500 } = options
  const uploads = createUploads(client)
  const created: Record<string, number> = {}
  const saved = new Set<string>()
  const stored = new Set<string>()
  /** Fields that refer to objects saved later, by types. */
  const later = new Map<string, Spool>()
  progress.start('Objects', read.uuids.size)
  try {
    for (const type of read.order) {
      for await (const drafts of inBatches(draftsOf(read, type), {
        size,
        weigh: ({ letters }) => letters,
        most: mostLetters,
      })) {
        signal.throwIfAborted()
        const here = new Set(drafts.map(({ draft }) => draft.uuid))
        const isReady = (uuid: string) => !read.uuids.has(uuid) || saved.has(uuid) || here.has(uuid)
        const objects: Wire[] = []
        for (const { draft } of drafts) {
          const { now, deferred } = parted(draft, isReady)
          if (Object.keys(deferred).length > 0)
            await laterOf(later, type).add(JSON.stringify({ uuid: draft.uuid, block: deferred }))
          const again = known.has(draft.uuid) ? { '_version:auto_increment': true } : {}
          objects.push({ ...draft.head, [type]: { ...now, ...again } })
        }
        const links = await storeFiles(uploads, read.root, objects)
        for (const reference of links.keys()) stored.add(reference)
        await ledger.addSent(type, [...here])
        const sent = objects.map((object) => withFiles(object, links))
        await client.post(`/db/${type}`, sent, { format: 'short', confirmTransition: 'ALL', skip_reverse_nested: true })
        for (const uuid of here) saved.add(uuid)
        created[type] = (created[type] ?? 0) + here.size
        progress.advance(here.size)
      }
    }
    for (const [type, spool] of later) await saveLater(options, type, spool)
    progress.stop()
    await ledger.remove()
    return { created, files: stored.size }
  } finally {
    for (const spool of later.values()) await spool[Symbol.asyncDispose]()
  }
}

async function* draftsOf(
  { drafts }: Read,
  type: string,
): AsyncGenerator<{ readonly draft: Draft; readonly letters: number }> {
  for await (const line of drafts.get(type)?.lines() ?? []) {
    yield { draft: JSON.parse(line) as Draft, letters: line.length }
  }
}

function laterOf(later: Map<string, Spool>, type: string): Spool {
  const spool = later.get(type) ?? new Spool()
  later.set(type, spool)
  return spool
}

/** Splits the fields: those whose targets exist by then, and the others. */
function parted({ block, needs }: Draft, isReady: (uuid: string) => boolean) {
  const [now, deferred]: Record<string, unknown>[] = [{}, {}]
  for (const [name, value] of Object.entries(block)) {
    const part = (needs[name] ?? []).every(isReady) ? now : deferred
    if (part) part[name] = value
  }
  return { now: now as Wire, deferred: deferred as Wire }
}

type Links = ReadonlyMap<string, FileLink>

/** Uploads the files of the objects, each once. Returns the links by the paths in the export. */
async function storeFiles(uploads: Uploads, root: string, objects: readonly Wire[]): Promise<Links> {
  const named = new Map<string, NamedFile>()
  const references = new Map<string, string>()
  for (const { path, name } of filesIn(objects)) {
    const found = await fileIn(root, path)
    if (found === null) throw new PackageProblem(`the file ${path} is not there any more`)
    const file = { ...found, name }
    const reference = await uploads.referenceOf(file)
    references.set(path, reference)
    named.set(reference, file)
  }
  const stored = await uploads.store(named)
  const links = new Map<string, FileLink>()
  for (const [path, reference] of references) {
    const link = stored.get(reference)
    if (typeof link !== 'object') throw new Error(`the file ${path} cannot be stored: ${link ?? 'no answer'}`)
    links.set(path, link)
  }
  return links
}

function withFiles(value: unknown, links: Links): unknown {
  if (Array.isArray(value)) return value.map((one) => withFiles(one, links))
  if (!isWire(value)) return value
  const { [fileKey]: file, ...rest } = value
  if (isWire(file)) return { ...rest, ...links.get(String(file.path)) }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withFiles(one, links)]))
}

/** Sets the fields that refer to objects saved later. */
async function saveLater(
  { client, signal, batch: size = 500 }: ExportImportOptions,
  type: string,
  spool: Spool,
): Promise<void> {
  for await (const lines of inBatches(spool.lines(), { size, weigh: ({ length }) => length, most: mostLetters })) {
    signal.throwIfAborted()
    const objects = lines.map((line) => {
      const { uuid, block } = JSON.parse(line) as { readonly uuid: string; readonly block: Wire }
      return { _objecttype: type, _mask: '_all_fields', _uuid: uuid, [type]: block }
    })
    await client.patch(`/db/${type}`, objects, { format: 'short', confirmTransition: 'ALL' })
  }
}
