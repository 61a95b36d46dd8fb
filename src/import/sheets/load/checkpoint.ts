import { readFile, rename, rm, writeFile } from 'node:fs/promises'

/** The progress of an import: rows in it are not sent again. */
export interface Checkpoint {
  /** Identifies sheet, mapping and service: if any of them differs, the import begins anew. */
  readonly of: string
  /** The number of the last row up to which all rows are stored or refused. */
  readonly row: number
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  readonly errors: { readonly file: string; readonly bytes: number }
}

export function checkpointFileOf(sheet: string): string {
  return `${sheet}.import-state.json`
}

/** The checkpoint of an interrupted run of the same import; null when there is none. */
export async function readCheckpoint(file: string, of: string): Promise<Checkpoint | null> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as Checkpoint
    return found.of === of && Number.isSafeInteger(found.row) ? found : null
  } catch {
    return null
  }
}

/** Replaces the file as a whole: an interruption leaves the previous file. */
export async function writeCheckpoint(file: string, checkpoint: Checkpoint): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(checkpoint)}\n`)
  await rename(`${file}.new`, file)
}

export async function removeCheckpoint(file: string): Promise<void> {
  await rm(file, { force: true })
}
