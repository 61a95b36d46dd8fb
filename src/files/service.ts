/**
 * Files: their contents in locations, each content once under its hash, and the records that name them. A *blob* is a
 * content in a location, a *file* what somebody uploaded, a *version* what the file can be had as.
 */
import type { Bus } from '../platform/bus.ts'
import type { Config } from '../platform/config.ts'
import type { Db } from '../platform/db.ts'
import type { Snapshots } from '../platform/snapshot.ts'
import { createLocations } from './locations/service.ts'

export interface FileOptions {
  readonly db: Db
  readonly bus: Bus
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly config: Pick<Config, 'dataDir' | 'fileFolders'>
  readonly settings: () => { readonly location_defaults: { readonly originals: string } }
}

export type FileService = Awaited<ReturnType<typeof createFileService>>

export async function createFileService({ db, bus, snapshots, config, settings }: FileOptions) {
  const locations = await createLocations({
    db,
    bus,
    snapshots,
    folders: { dataDir: config.dataDir, folders: config.fileFolders },
    defaultName: () => settings().location_defaults.originals,
  })
  return {
    locations,
    close: () => locations.close(),
  }
}
