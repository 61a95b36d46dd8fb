/**
 * Vocabulary of ingest. A *target* is a collection with its upload settings (`create_object`), resolved against the
 * datamodel. An *ingested file* has a stored content and is to become part of an object. An *outcome* names the objects
 * that have got a file, or the reason why none has.
 */
import type { CollectionUploads } from '../collections/service.ts'
import type { Column, Mask, Table } from '../datamodel/model.ts'
import type { AppError } from '../platform/errors.ts'
import type { RecipeConfigs } from '../plugins/service.ts'

export const updateModes = ['insert', 'update', 'upsert'] as const
export type UpdateMode = (typeof updateModes)[number]

export const updatePolicies = ['create_version', 'create_version_preferred', 'replace', 'refuse'] as const
export type UpdatePolicy = (typeof updatePolicies)[number]

/** Folders of uploads as objects of a hierarchy. */
export interface HierarchyLink {
  /** The column that links to them; of the object type or of one of its nested tables. */
  readonly link: Column
  /** The nested table that has the link; null: the object type has it. */
  readonly rows: Table | null
  readonly target: Table
  /** The column with the names of folders. */
  readonly column: Column
  /** The pool of new ones; null: they have none. */
  readonly poolId: number | null
}

/** A plugin that changes the objects made of uploads. */
export interface UploadPlugin {
  readonly name: string
  /** Its place in `collection_upload` of the manifest. */
  readonly entry: string
  /** The configuration of the plugin in the collection. */
  readonly config: Wire
}

export interface Target {
  readonly collectionId: number
  readonly collection: CollectionUploads['collection']
  /** null: there is no plugin. */
  readonly plugin: UploadPlugin | null
  readonly table: Table
  readonly mask: Mask
  /** The column of files; of the object type or of one of its nested tables. */
  readonly column: Column
  /** The nested table that has the column; null: the object type has it. */
  readonly rows: Table | null
  readonly poolId: number | null
  /** The pool of new objects named by files, if their types have pools; null: the same pool. */
  readonly linkedPoolId: number | null
  /** Of those behind a link of its own, by the link. */
  readonly linkedPools: ReadonlyMap<Column, number>
  readonly tagIds: readonly number[]
  /** The mapping for the metadata of files; null: none. */
  readonly mapping: 'standard' | number | null
  /** Parameters of its recipes. */
  readonly recipeConfigs: RecipeConfigs
  readonly mode: UpdateMode
  readonly policy: UpdatePolicy
  /** The field with the names of an object's files; null: uploads update no objects by name. */
  readonly match: Column | null
  readonly recognizeSeries: boolean
  readonly recognizeVersion: boolean
  /** Links new objects to objects for folders; null: folders have no meaning. */
  readonly hierarchy: HierarchyLink | null
}

export interface IngestedFile {
  readonly fileId: number
  readonly name: string
  readonly bytes: number
  /** Folders below the collection, with slashes; empty: none. */
  readonly path: string
}

/** An object that has got files. */
export interface ReachedObject {
  readonly systemObjectId: number
  readonly version: number
}

export interface Outcome {
  readonly file: IngestedFile
  readonly objects: readonly ReachedObject[]
  /** The reason why the file is in no object. */
  readonly error: AppError | null
  /** Messages of plugins about the file. */
  readonly messages: readonly string[]
}

/** Most files of one request or one run. */
export const mostIngested = 1000

/** An object, or a part of one, in the form of requests and answers. */
export type Wire = Readonly<Record<string, unknown>>
