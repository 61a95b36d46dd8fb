import type { Model } from '../../datamodel/model.ts'
import type { EventLog } from '../../events/service.ts'
import type { FileService } from '../../files/service.ts'
import type { FormatService } from '../../formats/service.ts'
import type { ReadService } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { ExportPrograms } from '../../plugins/service.ts'
import type { SearchService } from '../../search/service.ts'
import type { StoredExport } from '../model.ts'
import type { Run } from '../runs.ts'
import type { ShowExports } from '../show.ts'
import type { Wire } from './assets.ts'

/** The name that an object type gives to files of its rendered objects; null: none. */
export type NameOfAsset = (
  object: Wire,
  asset: {
    readonly field: string
    readonly id: number
    readonly class: string
    readonly extension: string
    readonly original_filename: string
    readonly version: string
  },
  options: { readonly languages: readonly string[]; readonly template: string | undefined },
) => string | null

export interface RunDeps {
  readonly db: Db
  readonly events: EventLog
  readonly datamodel: { current(): Model }
  readonly search: Pick<SearchService, 'walk' | 'changes'>
  readonly read: Pick<ReadService, 'versions'>
  readonly formats: Pick<FormatService, 'find' | 'sheetOf' | 'write' | 'each'>
  readonly files: Pick<FileService, 'assets' | 'kept'>
  readonly nameOfAsset: NameOfAsset
  readonly plugins: Pick<ExportPrograms, 'ask'>
  readonly show: ShowExports
  /** For global ids. */
  readonly databaseName: string
}

/** A run in progress, and the user whose rights it has. */
export interface Running {
  readonly stored: StoredExport
  readonly run: Run
  readonly actor: Actor
}

/** The results of a part, written together with the position of the run; they are discarded if the run is over meanwhile. */
export interface Done {
  readonly step: string
  readonly position: number
  readonly total?: number
  readonly facts?: Run['facts']
  readonly warnings?: readonly string[]
  readonly write?: (tx: Tx) => Promise<void>
}
