import type { Actor } from '../../platform/actor.ts'

/** What makes objects of files that are uploaded into a collection. */
export interface UploadsIntoCollections {
  /** Before anything is read: what an upload there comes to. @throws {AppError} where the actor may not */
  into(
    actor: Actor,
    collectionId: number,
  ): Promise<(files: readonly UploadedFile[]) => Promise<readonly LinkedObject[][]>>
}

/** A file that is stored. */
export interface UploadedFile {
  readonly fileId: number
  readonly name: string
  readonly bytes: number
  /** Folders that its name was sent with, with slashes; empty: none. */
  readonly path: string
}

interface LinkedObject {
  readonly _system_object_id: number
  readonly _version: number
}
