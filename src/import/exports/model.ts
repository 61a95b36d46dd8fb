export type Wire = Readonly<Record<string, unknown>>

/** A file of an object: its path in the export, and the name and type with which it was uploaded. */
export interface ExportedFile {
  readonly path: string
  readonly name: string
}

/**
 * An object in the form for a save: without links that are set after everything is saved, and with placeholders for files that must
 * be uploaded first.
 */
export interface Draft {
  readonly uuid: string
  readonly type: string
  readonly head: Wire
  readonly block: Wire
  /** Names of fields, each with the uuids of the import that it needs first. */
  readonly needs: Readonly<Record<string, readonly string[]>>
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuidPattern.test(value)

export const isWire = (value: unknown): value is Wire =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
