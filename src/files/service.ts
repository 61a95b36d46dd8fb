/**
 * Files: their contents in locations, each content once under its hash, and the records that name them. A *blob* is a
 * content in a location, a *file* what somebody uploaded, a *version* what the file can be had as.
 */
import type { BaseConfig } from '../config/service.ts'
import type { Bus } from '../platform/bus.ts'
import type { Config } from '../platform/config.ts'
import type { Db, Tx } from '../platform/db.ts'
import type { Snapshots } from '../platform/snapshot.ts'
import { createLocations } from './locations/service.ts'

export interface FileOptions {
  readonly db: Db
  readonly bus: Bus
  readonly snapshots: Pick<Snapshots, 'open'>
  readonly config: Pick<Config, 'dataDir' | 'fileFolders'>
  readonly settings: () => Settings
}

/** What of the base configuration files need. */
export type Settings = Pick<BaseConfig, 'location_defaults'>

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
    /** What the base configuration says of files must be possible. */
    async checkSettings(tx: Tx, { location_defaults }: Settings, changed: ReadonlySet<string>): Promise<void> {
      if (changed.has('location_defaults')) await locations.assertUsable(tx, location_defaults.originals)
    },
    close: () => locations.close(),
  }
}
