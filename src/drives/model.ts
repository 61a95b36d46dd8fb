/**
 * Vocabulary of drives. A *drive* is a collection with all below it, as a client mounts it by its key. A *folder* is a
 * collection. A *file* is a file of an object in the collection. A *placeholder* is a name whose content comes later. All
 * actions run with the rights of the collection's owner.
 */
export interface DriveFolder {
  readonly kind: 'folder'
  readonly id: number
  readonly name: string
  /** Ids from the root of all collections to this one, inclusive. */
  readonly path: readonly number[]
  readonly createdAt: Date
  readonly modifiedAt: Date
}

export interface DriveFile {
  readonly kind: 'file'
  readonly name: string
  readonly fileId: number
  readonly systemObjectId: number
  readonly columnId: number
  readonly bytes: number
  readonly mimeType: string
  readonly sha256: string
  readonly createdAt: Date
}

export interface Placeholder {
  readonly kind: 'placeholder'
  readonly name: string
  readonly createdAt: Date
}

export type DriveEntry = DriveFolder | DriveFile | Placeholder

/** The target of a request: an entry, or a free name in a folder. */
export interface Place {
  /** The folder that contains the entry; null: the entry is the drive itself. */
  readonly parent: DriveFolder | null
  /** The last step of the path; empty: the drive itself. */
  readonly name: string
  readonly entry: DriveEntry | null
}
