import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { PoolClient } from 'pg'
import {
  type BackupContent,
  type BackupLocation,
  backupContents,
  backupLocations,
  clearContents,
  hasContents,
} from '../../files/service.ts'
import type { Config } from '../../platform/config/config.ts'
import type { RestoreMark } from '../../platform/postgres/instance-id.ts'
import { contentFolder, locationKey, pieceName, pieceSizes, type TableSum } from './archive.ts'

export type FolderConfig = Pick<Config, 'dataDir' | 'fileFolders'>

interface ExpectedContent extends BackupContent {
  readonly location: number
}

interface Sum {
  rows: number
  readonly hash: ReturnType<typeof createHash>
}

export interface ContentsIn {
  /** @throws {Error} when the rows of the backup have no such content, or it is not the next one. */
  take(name: string, size: number, chunks: AsyncIterable<Buffer>): Promise<void>
  /** The sums of the received contents by location. @throws {Error} when the last content is incomplete. */
  end(): ReadonlyMap<string, TableSum>
  /** Removes the files that were put into folders. */
  undo(): Promise<void>
}

/**
 * Writes the contents of a backup into the folders of its locations, if these are empty; other contents are read but not kept. The
 * rows must be restored first: they determine the expected contents, their order and their sizes.
 */
export async function openContents(
  client: PoolClient,
  ids: readonly number[],
  config: FolderConfig,
  mark: RestoreMark,
): Promise<ContentsIn> {
  const places = await placesOf(client, ids, config)
  const folders = await freeFolders(places, mark)
  const stores = new Map(
    places.flatMap(({ id, folder }) => (folder && folders.has(folder.path) ? [[id, folder.store]] : [])),
  )
  const expected = expectedContents(client, ids)
  const sums = new Map<string, Sum>()
  let open: ReturnType<typeof arriving> | null = null

  /** Contents before it in the rows are not in the backup: they were missing when it was made. */
  async function find(name: string): Promise<ExpectedContent> {
    for (let next = await expected.next(); !next.done; next = await expected.next()) {
      const { location, sha256 } = next.value
      if (name === `${contentFolder(location, sha256)}${pieceName(1)}`) return next.value
    }
    throw strange(name)
  }

  async function close({ content, end }: NonNullable<typeof open>): Promise<void> {
    const key = locationKey(content.location)
    const sum = sums.get(key) ?? { rows: 0, hash: createHash('sha256') }
    sum.rows++
    sum.hash.update(`${content.sha256} ${await end()}\n`)
    sums.set(key, sum)
  }

  return {
    async take(name, size, chunks) {
      if (!open) {
        const content = await find(name)
        open = arriving(content, stores.get(content.location) ?? null)
      }
      if (name !== open.nextName() || size !== open.nextSize()) throw strange(name)
      await open.write(chunks)
      if (open.nextSize() !== undefined) return
      await close(open)
      open = null
    },
    end() {
      if (open) throw new Error('the backup was cut off in the middle of a content')
      return new Map([...sums].map(([key, { rows, hash }]) => [key, { rows, sha256: hash.digest('hex') }]))
    },
    async undo() {
      await open?.abort()
      for (const path of folders) await clearContents(path)
    },
  }
}

const strange = (name: string): Error => new Error(`the backup has an entry ${name} that does not belong there`)

async function* expectedContents(client: PoolClient, ids: readonly number[]): AsyncGenerator<ExpectedContent> {
  for (const location of ids) {
    for await (const content of backupContents(client, location)) yield { ...content, location }
  }
}

async function placesOf(client: PoolClient, ids: readonly number[], config: FolderConfig): Promise<BackupLocation[]> {
  const known = await backupLocations(client, { dataDir: config.dataDir, folders: config.fileFolders })
  return ids.map((id) => {
    const place = known.find((one) => one.id === id)
    if (!place) throw new Error(`the backup has contents of a location ${id}, and no such location`)
    return place
  })
}

/** Folders without contents, and folders that an interrupted restore has begun to fill. */
async function freeFolders(places: readonly BackupLocation[], mark: RestoreMark): Promise<ReadonlySet<string>> {
  const begun = await mark.folders()
  const free = new Set<string>()
  for (const path of places.flatMap(({ folder }) => folder?.path ?? [])) {
    if (begun.includes(path) || !(await hasContents(path))) free.add(path)
  }
  await mark.set([...new Set([...begun, ...free])])
  for (const path of free) await clearContents(path)
  return free
}

/** A content that arrives in pieces; it is kept when its hash matches its name. */
function arriving(content: ExpectedContent, store: NonNullable<BackupLocation['folder']>['store'] | null) {
  const sizes = pieceSizes(content.size)
  const hash = createHash('sha256')
  const pipe = new PassThrough()
  const received = store?.receive(pipe) ?? null
  // A failure is reported when the promise is awaited.
  received?.catch(() => {})
  pipe.on('error', () => {})
  let pieces = 0
  return {
    content,
    nextName: () => `${contentFolder(content.location, content.sha256)}${pieceName(pieces + 1)}`,
    nextSize: (): number | undefined => sizes[pieces],
    async write(chunks: AsyncIterable<Buffer>): Promise<void> {
      for await (const chunk of chunks) {
        hash.update(chunk)
        if (!received || pipe.write(chunk)) continue
        const drained = new Promise((resolve) => pipe.once('drain', resolve))
        // On a full disk the writer ends, and would never read the piece.
        await Promise.race([drained, received])
      }
      pieces++
    },
    /** The hash of the received bytes. */
    async end(): Promise<string> {
      pipe.end()
      const found = hash.digest('hex')
      const file = await received
      if (found === content.sha256) await file?.keep(found)
      else await file?.discard()
      return found
    },
    async abort(): Promise<void> {
      pipe.destroy(new Error('the restore has ended'))
      await received?.then(
        (file) => file.discard(),
        () => {},
      )
    },
  }
}
