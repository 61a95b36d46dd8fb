import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { Snapshots } from '../../platform/postgres/snapshot.ts'
import type { SealedTexts } from '../../platform/secrets/sealed-texts.ts'
import { scrubAddress, scrubText } from '../../platform/secrets/secrets.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createTellingStore } from '../blobs/telling.ts'
import { remoteLocation, remoteLocationName } from '../remote/remote-store.ts'
import { addressOf, type FolderRules, readLocation } from './draft.ts'
import type { Location, LocationDraft } from './model.ts'
import { openStore } from './open.ts'
import type { LocationInput, LocationOutput } from './schema.ts'
import * as store from './store.ts'

/** A location decides where contents are stored, on this machine or elsewhere. */
export const manageLocations: NeededRight = { name: 'system.root' }
export const seeLocations: NeededRight = { name: 'system.location' }

export interface LocationOptions {
  readonly db: Db
  readonly texts: SealedTexts
  readonly bus: Bus
  readonly events: EventLog
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly folders: FolderRules
  /** Contents that stay on the web. */
  readonly remote: BlobStore
  /** Name of the location where originals are stored. */
  readonly defaultName: () => string
  /** Name of the location of renditions. */
  readonly versionsName: () => string
  /** Name of the location of backups; empty: there is none. */
  readonly backupsName: () => string
}

export type Locations = Awaited<ReturnType<typeof createLocations>>

const topic = 'file_location'
/** Milliseconds that a location may take to answer a probe. */
const patience = 5000
/** Number of contents that must exist at a location's new address. */
const samples = 3

export async function createLocations(options: LocationOptions) {
  const { db, texts, bus, events, snapshots, folders, remote, defaultName, versionsName, backupsName } = options
  const snapshot = await snapshots.open<Location[], ReadonlyMap<number, Location>>({
    name: 'the locations of files',
    topics: [topic],
    read: (from) => store.readLocations(from, texts),
    build: (locations) => new Map(locations.map((location) => [location.id, location])),
  })
  const opened = new Map<number, { of: string; store: BlobStore }>()

  const open = (place: Location | LocationDraft): BlobStore => openStore(place, folders)

  function storeOf(id: number): BlobStore {
    if (id === remoteLocation) return remote
    const location = snapshot.get().get(id)
    if (!location) throw new Error(`there is no location ${id}`)
    const { kind, config, prefix } = location
    const of = JSON.stringify([kind, config, prefix])
    const known = opened.get(id)
    if (known?.of === of) return known.store
    // Readers of the old store finish by themselves.
    const fresh = createTellingStore(open(location))
    opened.set(id, { of, store: fresh })
    return fresh
  }

  /**
   * A location belongs to the configuration of the instance, so its changes are logged as such: a section that is added,
   * or a part that is changed or removed (EVENT-011 knows no other methods).
   */
  async function write(actor: Actor, Method: 'POST' | 'PATCH', work: (tx: Tx) => Promise<number>) {
    const id = await db.transaction(async (tx) => {
      const result = await work(tx)
      const info = { ScopedNames: ['system.location'], Method, Path: `/system/location/${result}` }
      await events.append(tx, [{ type: 'BASE_CONFIG_UPDATE', actor, basetype: 'location', objectId: result, info }])
      await bus.publish(tx, topic)
      return result
    })
    await snapshot.renewed()
    return id
  }

  /** Where originals are stored now. @throws {AppError} `UploadError`. */
  function forOriginals(): { id: number; name: string; store: BlobStore } {
    const location = [...snapshot.get().values()].find(({ name }) => name === defaultName())
    if (location && !location.readOnly) return { id: location.id, name: location.name, store: storeOf(location.id) }
    throw new AppError('UploadError', {}, { message: 'There is no location where files could be stored.' })
  }

  async function assertDistinct(tx: Tx, id: number | null, draft: LocationDraft): Promise<void> {
    const address = addressOf(draft, folders)
    const other = (await store.readLocations(tx, texts)).find(
      (location) => location.id !== id && addressOf(location, folders) === address,
    )
    if (other) throw badRequest(`The location ${other.name} keeps its contents there.`, { name: 'config' })
  }

  function assertDefault(id: number, before: Location, after: LocationDraft | null): void {
    if (before.name !== defaultName()) return
    if (after && !after.readOnly && after.name === before.name) return
    const message = `${before.name} is the default location: it keeps its name and can be written to.`
    throw badRequest(message, { name: 'location_defaults', id })
  }

  /** Contents do not move with the settings: a reachable new address must already have them. */
  async function assertSameContents(tx: Tx, before: Location, after: LocationDraft): Promise<void> {
    if (addressOf(before, folders) === addressOf(after, folders)) return
    if (await store.hasBackups(tx, before.id)) {
      throw badRequest('The location has backups: its address cannot change.', { name: 'config' })
    }
    const blobs = await store.someBlobs(tx, before.id, samples)
    if (blobs.length === 0) return
    const there = open(after)
    try {
      if (await problemOf(there, true)) return
      const sizes = await Promise.all(blobs.map((sha256) => there.size(sha256)))
      if (!sizes.includes(null)) return
    } finally {
      there.close()
    }
    throw badRequest('The location has contents, and they are not at the new address: copy them first.', {
      name: 'config',
    })
  }

  async function render(location: Location): Promise<LocationOutput> {
    const there = open(location)
    const problem = await problemOf(there, location.readOnly).finally(() => there.close())
    return {
      id: location.id,
      created_at: location.createdAt.toISOString(),
      name: location.name,
      kind: location.kind,
      prefix: location.prefix,
      config: { [location.kind]: shown(location) },
      allow_purge: location.allowPurge,
      allow_redirect: false,
      read_only: location.readOnly,
      status: problem === null ? 'connected' : 'not accessible',
      status_msg: problem ?? '',
    }
  }

  function find(id: number): Location {
    const location = snapshot.get().get(id)
    if (!location) throw new AppError('ResourceNotFound', { id })
    return location
  }

  return {
    /** All locations, each with the result of a probe. */
    list: (): Promise<LocationOutput[]> => Promise.all([...snapshot.get().values()].map(render)),

    /** @throws {AppError} `ResourceNotFound`. */
    read: (id: number): Promise<LocationOutput> => render(find(id)),

    /** An unreachable location is stored all the same: its status says so. */
    async create(actor: Actor, input: LocationInput): Promise<LocationOutput> {
      requireRight(actor, manageLocations)
      if (input.id) throw badRequest('id must be 0 or left out: the service gives it', { name: 'id' })
      const draft = readLocation(input, null, folders)
      const id = await write(actor, 'POST', async (tx) => {
        await assertDistinct(tx, null, draft)
        return store.insertLocation(tx, draft, texts)
      })
      return render(find(id))
    },

    async change(actor: Actor, id: number, input: LocationInput): Promise<LocationOutput> {
      requireRight(actor, manageLocations)
      if (input.id && input.id !== id) throw badRequest('id must be that of the address', { name: 'id' })
      await write(actor, 'PATCH', async (tx) => {
        const before = await store.lockLocation(tx, id, texts)
        if (!before) throw new AppError('ResourceNotFound', { id })
        const after = readLocation(input, before, folders)
        assertDefault(id, before, after)
        await assertDistinct(tx, id, after)
        await assertSameContents(tx, before, after)
        await store.updateLocation(tx, id, after, texts)
        return id
      })
      return render(find(id))
    },

    /** Only a location without contents can be removed, and not the default one. */
    async remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageLocations)
      await write(actor, 'PATCH', async (tx) => {
        const before = await store.lockLocation(tx, id, texts)
        if (!before) throw new AppError('ResourceNotFound', { id })
        assertDefault(id, before, null)
        if ((await store.someBlobs(tx, id, 1)).length > 0) {
          throw badRequest('The location has contents of files.', { name: 'id', id })
        }
        if (await store.hasBackups(tx, id)) throw badRequest('The location has backups.', { name: 'id', id })
        await store.deleteLocation(tx, id)
        return id
      })
      opened.get(id)?.store.close()
      opened.delete(id)
    },

    /** For the base configuration, in its transaction. @throws {AppError} when nothing can be stored there. */
    async assertUsable(tx: Tx, name: string, member: 'originals' | 'versions' | 'backups'): Promise<void> {
      if (await store.isWritable(tx, name)) return
      const path = `/location_defaults/${member}`
      throw badRequest(`There is no location ${name} that can be written to.`, { path })
    },

    /** Seals all unsealed secrets with the present key. Answers how many secrets none of the keys here can open. */
    reseal: (): Promise<number> => store.resealLocations(db, texts),

    storeOf,

    forOriginals,

    /** Where renditions are stored now; the location of originals, when that location no longer exists or is read-only. */
    forVersions(): { id: number; name: string; store: BlobStore } {
      const location = [...snapshot.get().values()].find(({ name }) => name === versionsName())
      if (!location || location.readOnly) return forOriginals()
      return { id: location.id, name: location.name, store: storeOf(location.id) }
    },

    /** Where backups are stored now; null: nowhere. */
    forBackups(): { id: number; name: string } | null {
      const location = [...snapshot.get().values()].find(({ name }) => name === backupsName())
      return location && !location.readOnly ? { id: location.id, name: location.name } : null
    },

    /** Where originals and renditions are stored now; null: nowhere. */
    defaults(): { readonly originals: number | null; readonly versions: number | null } {
      const named = (name: string): number | null =>
        [...snapshot.get().values()].find((location) => location.name === name && !location.readOnly)?.id ?? null
      const originals = named(defaultName())
      return { originals, versions: named(versionsName()) ?? originals }
    },

    /** All locations with contents, including that of contents on the web. */
    all: (): readonly Pick<Location, 'id' | 'name' | 'readOnly'>[] => [
      { id: remoteLocation, name: remoteLocationName, readOnly: false },
      ...snapshot.get().values(),
    ],

    close(): void {
      for (const { store: there } of opened.values()) there.close()
      opened.clear()
    },
  }
}

/** The problem of a location, as text; null when there is none. */
async function problemOf(there: BlobStore, readOnly: boolean): Promise<string | null> {
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve(`no answer within ${patience / 1000} s`), patience)
  const tried = there.probe({ readOnly }).then(
    () => null,
    (error: Error) => scrubText(error.message || error.name).slice(0, 500),
  )
  return Promise.race([tried, late]).finally(() => clearTimeout(timer))
}

function shown(location: Location): Record<string, unknown> {
  if (location.kind === 'file') return { dir: location.config.dir }
  const { secretkey: _, ...rest } = location.config
  // An address of an earlier release may contain a user name and password.
  return { ...rest, endpoint: scrubAddress(rest.endpoint) }
}
