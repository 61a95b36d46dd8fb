/**
 * Vocabulary of the hotfolder. The *hotfolder* is a folder on disk in which a collection has a *drop folder*, named by
 * its uuid. A *dropped file* waits there. It has *settled* when it has not changed for a while. A *taken* file is named
 * `IMPORTING-…` and is being imported; a *failed* one is named `ERROR-…` and stays. A *claim* is a row in the database
 * that records whether a taken file is already in an object.
 */
import type { Actor } from '../../platform/actor.ts'

/** A file below a drop folder. */
export interface DroppedFile {
  /** Folders below the drop folder. */
  readonly folders: readonly string[]
  /** The name as dropped: without the prefix of the import. */
  readonly name: string
  /** Its present name on disk. */
  readonly storedName: string
  readonly bytes: number
  /** Milliseconds; a later write changes it. */
  readonly modified: number
}

/** A collection for dropped files, and the user for the import. */
export interface DropTarget {
  readonly collectionId: number
  readonly uuid: string
  readonly actor: Actor
}

/** The result for a file. */
export interface ImportResult {
  readonly file: DroppedFile
  readonly systemObjectIds: readonly number[]
  readonly fileId: number | null
  readonly status: 'done' | 'error'
  readonly message: string
}

/** An entry of a drop folder, for clients. */
export interface StagedFolder {
  readonly kind: 'folder'
  readonly name: string
  readonly createdAt: Date
  readonly modifiedAt: Date
}

export interface StagedFile {
  readonly kind: 'staged'
  readonly name: string
  readonly bytes: number
  /** With quotation marks. */
  readonly etag: string
  readonly createdAt: Date
  readonly modifiedAt: Date
}

export type StagedEntry = StagedFolder | StagedFile

/** Levels of folders in a drop folder. */
export const mostFolders = 20
/** Names of one drop folder that are read in a run. */
export const mostNames = 50_000
