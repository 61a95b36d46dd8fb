/** Files in a column, as objects are answered with them and take them. */
import type { Wire } from './model.ts'

export interface FileInColumn {
  readonly _id: number
  readonly preferred?: boolean
  readonly name?: string
  readonly frontend_prefs?: unknown
  /** Of the file itself: versions of it are found by it. */
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
