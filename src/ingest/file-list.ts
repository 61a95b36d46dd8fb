/** Files in a column, in the form of answers and of saves. */
import type { Wire } from './model.ts'

export interface FileInColumn {
  readonly _id: number
  readonly preferred?: boolean
  readonly name?: string
  readonly frontend_prefs?: unknown
  /** A member of the file itself, by which its versions are found. */
  readonly original_filename?: string
}

export function filesIn(value: unknown): readonly FileInColumn[] {
  return Array.isArray(value) ? (value as FileInColumn[]) : []
}

/** The members of files that a save accepts: the others belong to the file, not to the object. */
export function sendable(list: readonly FileInColumn[]): Wire[] {
  return list.map(({ _id, preferred = false, name, frontend_prefs: prefs }) => ({
    _id,
    preferred,
    ...(name === undefined ? {} : { name }),
    ...(prefs === undefined ? {} : { frontend_prefs: prefs }),
  }))
}
