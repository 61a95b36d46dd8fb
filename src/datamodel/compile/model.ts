import { pageTexts } from '../l10n.ts'
import type { Model } from '../model.ts'
import type { LocaApi, MaskSchemaApi, SchemaApi } from '../schema.ts'
import { compileMasks } from './masks.ts'
import { compileTables } from './tables.ts'

/** One version of the datamodel as stored: normalised and valid. */
export interface Snapshot {
  readonly version: number
  readonly committedAt: Date | null
  readonly schema: SchemaApi
  readonly masks: MaskSchemaApi
  readonly l10n: LocaApi
}

/**
 * The model of a version, without the types of plugins. Accepts snapshots that `validate.ts` has accepted; throws a plain `Error`
 * on any other.
 */
export function compileModel(snapshot: Snapshot): Model {
  const tables = compileTables(snapshot.schema, snapshot.l10n)
  const masksById = compileMasks(tables, snapshot.masks, snapshot.l10n)
  const objecttypes = [...tables.tablesById.values()].filter((table) => table.kind === 'object')
  return {
    version: snapshot.version,
    customTypes: new Map(),
    customRevision: 0,
    committedAt: snapshot.committedAt,
    objecttypes: new Map(objecttypes.map((table) => [table.name, table])),
    tablesById: tables.tablesById,
    columnsById: tables.columnsById,
    masksById,
    pageTexts: pageTexts(snapshot.l10n),
  }
}
