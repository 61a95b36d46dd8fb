/** An export as a document for its plugins: as in an answer, with all its files and their inner details. */
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { walkFiles } from '../files.ts'
import { type ExportFile, pathOf, type StoredExport } from '../model.ts'
import type { ShowExports } from '../show.ts'

export interface DocumentDeps {
  readonly db: Db
  readonly show: ShowExports
}

export async function* documentOf(
  { db, show }: DocumentDeps,
  { stored, runId, owner }: { readonly stored: StoredExport; readonly runId: number; readonly owner: Actor },
): AsyncGenerator<Buffer> {
  const [shown] = await show(owner, [stored], 'short', 0)
  const { _files: _, _files_count: _count, _progress, ...rest } = shown ?? {}
  yield Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"_files":[`)
  let separator = ''
  for await (const files of walkFiles(db, runId, { hidden: true })) {
    yield Buffer.from(separator + files.map((file) => JSON.stringify(toldOf(file))).join())
    separator = ','
  }
  yield Buffer.from(']}')
}

function toldOf(file: ExportFile) {
  const { id, kind, size, createdAt, hidden, action, mimeType } = file
  const path = pathOf(file)
  return {
    path,
    ...(size === null ? {} : { size }),
    date_created: createdAt.toISOString(),
    export_file_internal: {
      id,
      path,
      hidden,
      // The type of an object's file is known only when it is fetched.
      ...(kind === 'asset' ? {} : { content_type: mimeType }),
      plugin_action: action ?? '',
    },
  }
}
