import type { Actor } from '../../platform/actor.ts'

/** Makes objects of files that are uploaded into a collection. */
export interface UploadsIntoCollections {
  /** The settings for an upload there, before anything is read. @throws {AppError} where the actor may not upload there */
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
  /** The folders of the sent name, with slashes; empty: none. */
  readonly path: string
}

interface LinkedObject {
  readonly _system_object_id: number
  readonly _version: number
}
