/** Decides which files become parts of which objects, before anything is written. */
import { AppError } from '../platform/errors.ts'
import type { IngestedFile, Target } from './model.ts'
import { nameKeys } from './names.ts'

/** Existing objects to which files could belong. */
export interface KnownObjects {
  /** Objects found by name, for `update_search_field`. */
  readonly matching: ReadonlyMap<IngestedFile, readonly number[]>
  /** Objects of earlier uploads into the collection, by series or stem as in `groupKey`. */
  readonly uploaded: ReadonlyMap<string, number>
}

/** One object and its new files; `objectId` null: it is new. */
export interface Group {
  readonly objectId: number | null
  /** It was found by its name: the policy for updates applies. */
  readonly byName: boolean
  readonly files: IngestedFile[]
}

export interface Grouped {
  readonly groups: readonly Group[]
  readonly refused: ReadonlyMap<IngestedFile, AppError>
}

/** The key by which earlier uploads are recognized; null: the file becomes a separate object. */
export function groupKey(
  file: IngestedFile,
  { recognizeSeries, recognizeVersion }: Pick<Target, 'recognizeSeries' | 'recognizeVersion'>,
): string | null {
  const { stem, series } = nameKeys(file.name)
  if (recognizeSeries && series !== null) return `s:${series}`
  return recognizeVersion ? `v:${stem}` : null
}

/** Groups files in the order in which they came; files of one series or of one stem become one object. */
export function groupFiles(target: Target, files: readonly IngestedFile[], known: KnownObjects): Grouped {
  const groups: Group[] = []
  const byKey = new Map<string, Group>()
  const byObject = new Map<number, Group>()
  const refused = new Map<IngestedFile, AppError>()

  function into(objectId: number, byName: boolean, file: IngestedFile): void {
    const group = byObject.get(objectId) ?? { objectId, byName, files: [] }
    if (!byObject.has(objectId)) groups.push(group)
    byObject.set(objectId, group)
    group.files.push(file)
  }

  for (const file of files) {
    const matching = known.matching.get(file) ?? []
    if (matching.length > 0) {
      for (const id of matching) into(id, true, file)
      continue
    }
    if (target.mode === 'update') {
      refused.set(file, new AppError('CollectionUploadNoObjectFound', { file: file.name }))
      continue
    }
    const key = groupKey(file, target)
    const uploaded = key === null ? undefined : known.uploaded.get(key)
    if (uploaded !== undefined) {
      into(uploaded, false, file)
      continue
    }
    const open = key === null ? undefined : byKey.get(key)
    if (open) {
      open.files.push(file)
      continue
    }
    const group: Group = { objectId: null, byName: false, files: [file] }
    groups.push(group)
    if (key !== null) byKey.set(key, group)
  }
  return { groups, refused }
}
