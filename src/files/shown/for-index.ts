import type { Queryable } from '../../platform/postgres/db.ts'
import { originalOf, type StoredFile } from '../model.ts'
import { baseOf } from '../records/file-name.ts'
import { readFiles } from '../records/store.ts'
import { readTags } from '../renditions/make/store.ts'
import { metadataName } from '../renditions/plan/describe.ts'
import type { Tag } from '../renditions/workshop/technical.ts'
import { bestDate, statusOf, technicalMetadata } from './render.ts'

/** A file, for the search. */
export interface FileForIndex {
  readonly id: number
  readonly uploadUser: number
  readonly uploadedAt: string
  readonly bestDate: string
  readonly filename: string
  readonly basename: string
  readonly class: string
  readonly extension: string
  readonly mimeType: string
  readonly size: number
  readonly status: string
  readonly versions: readonly { readonly name: string; readonly status: string }[]
  readonly technical: Readonly<Record<string, unknown>>
  readonly tags: readonly Tag[]
  readonly text: string
}

/** Most characters of a text that are indexed. */
const mostText = 200_000

/** The files with all searchable data. */
export async function filesForIndex(from: Queryable, ids: readonly number[]): Promise<Map<number, FileForIndex>> {
  const [files, tags, texts] = await Promise.all([readFiles(from, ids), readTags(from, ids), readTexts(from, ids)])
  return new Map(files.map((file) => [file.id, forIndex(file, tags.get(file.id) ?? [], texts.get(file.id) ?? '')]))
}

async function readTexts(from: Queryable, ids: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await from.query<{ fileId: number; text: string }>(
    'select file_id as "fileId", left(text, $2) as text from file_text where file_id = any($1::bigint[])',
    [ids, mostText],
    'read-file-texts',
  )
  return new Map(rows.map(({ fileId, text }) => [fileId, text]))
}

function forIndex(file: StoredFile, tags: readonly Tag[], text: string): FileForIndex {
  const version = originalOf(file)
  const there = new Set(file.versions.map(({ name }) => name))
  return {
    id: file.id,
    uploadUser: file.uploadUser,
    uploadedAt: file.uploadedAt.toISOString(),
    bestDate: bestDate(file, version),
    filename: file.filepath,
    basename: baseOf(file.filepath),
    class: version.class,
    extension: version.extension,
    mimeType: version.mimeType,
    size: version.size,
    status: statusOf(file),
    versions: [
      ...file.versions.map(({ name, status }) => ({ name, status })),
      ...file.renditions
        .filter(
          ({ name, status }) =>
            name !== metadataName && status !== 'too_small' && status !== 'unmarked' && !there.has(name),
        )
        .map(({ name, status }) => ({ name, status })),
    ],
    technical: technicalMetadata(version),
    tags,
    text,
  }
}
