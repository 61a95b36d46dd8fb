/** Members of the events of a download (`export`, `files`). */
import type { Queryable } from '../../platform/postgres/db.ts'
import { walkFiles } from '../files.ts'
import { type ExportFile, pathOf, type StoredExport } from '../model.ts'

/** A single file, or all files of an archive: those in a folder and below it. */
export type Taken =
  | { readonly format: 'file'; readonly file: ExportFile }
  | { readonly format: 'zip' | 'tar_gz'; readonly folder: string }

export const toldExport = ({ name }: Pick<StoredExport, 'name'>, format: Taken['format']) => ({
  name,
  is_archive: format !== 'file',
  format,
})

/** A page of the files at most: an archive may hold a million. */
export async function toldFiles(from: Queryable, runId: number, taken: Taken): Promise<readonly object[]> {
  if (taken.format === 'file') return [told(taken.file)]
  for await (const files of walkFiles(from, runId, { folder: taken.folder })) return files.map(told)
  return []
}

const told = (file: ExportFile): object => ({
  path: pathOf(file),
  ...(file.source === null ? {} : { _id: file.source.fileId }),
  ...(file.size === null ? {} : { bytes: file.size }),
})
