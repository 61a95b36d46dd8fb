/**
 * Vocabulary of ingest. A *target* is a collection with its upload settings (`create_object`), resolved against the
 * datamodel. An *ingested file* is one whose content is stored and that is to become part of an object. An *outcome* says
 * which objects have got a file, or why none has.
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
  /** The column that links to them; of the object type or of a nested table of it. */
  readonly link: Column
  /** The nested table that has the link; null: the object type has it. */
  readonly rows: Table | null
  readonly target: Table
  /** What folders are called by. */
  readonly column: Column
  /** Of new ones; null: they have none. */
  readonly poolId: number | null
}

/** A plugin that changes what uploads make of files. */
export interface UploadPlugin {
  readonly name: string
  /** Its place in `collection_upload` of the manifest. */
  readonly entry: string
  /** What the collection says to it. */
  readonly config: Wire
}

export interface Target {
  readonly collectionId: number
  readonly collection: CollectionUploads['collection']
  /** null: nobody is asked. */
  readonly plugin: UploadPlugin | null
  readonly table: Table
  readonly mask: Mask
  /** The column of files; of the object type or of a nested table of it. */
  readonly column: Column
  /** The nested table that has the column; null: the object type has it. */
  readonly rows: Table | null
  readonly poolId: number | null
  /** Of objects that are made because files name them, where their types have pools; null: the same. */
  readonly linkedPoolId: number | null
  /** Of those behind a link of its own, by the link. */
  readonly linkedPools: ReadonlyMap<Column, number>
  readonly tagIds: readonly number[]
  /** The mapping of what files say of themselves; null: none. */
  readonly mapping: 'standard' | number | null
  /** What its recipes are told. */
  readonly recipeConfigs: RecipeConfigs
  readonly mode: UpdateMode
  readonly policy: UpdatePolicy
  /** The field that names the files of an object; null: uploads update none by name. */
  readonly match: Column | null
  readonly recognizeSeries: boolean
  readonly recognizeVersion: boolean
  /** Links new objects to objects that stand for folders; null: folders mean nothing. */
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
  /** Why the file is in no object. */
  readonly error: AppError | null
  /** What plugins have said of the file. */
  readonly messages: readonly string[]
}

/** Files of one request or one run. */
export const mostIngested = 1000

/** An object, or a part of one, as requests and answers have it. */
export type Wire = Readonly<Record<string, unknown>>
