/**
 * Vocabulary of the hotfolder. The *hotfolder* is a folder on disk in which a collection has a *drop folder*, named by its uuid. A
 * *dropped file* is one that waits there. It has *settled* when nothing about it has changed for a while. A *taken* file is called
 * `IMPORTING-…` and is being imported; a *failed* one is called `ERROR-…` and stays. A *claim* is a row in the database that tells
 * whether a taken file is in an object already.
 */
import type { Actor } from '../../platform/actor.ts'

/** Where a file is below a drop folder. */
export interface DroppedFile {
  /** Folders below the drop folder. */
  readonly folders: readonly string[]
  /** The name as dropped: without the prefix of the import. */
  readonly name: string
  /** As it is called on disk now. */
  readonly storedName: string
  readonly bytes: number
  /** Milliseconds; a content that is written to later has another one. */
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

/** An entry of a drop folder as clients see it. */
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

/** Folders below each other in a drop folder. */
export const mostFolders = 20
/** Names of one drop folder that are looked at in a run. */
export const mostNames = 50_000
