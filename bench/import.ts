import { importTate, type TateImportSummary } from '../src/import/tate/import.ts'
import { silentProgress } from '../src/platform/progress.ts'
import type { Context } from './context.ts'
import { atLeast, figureOnly, type Row } from './report.ts'

/** The whole collection through HTTP until every object is searchable; the importer runs in the bench's process. */
export async function measureImport({ client, source }: Context): Promise<Row[]> {
  const { created, seconds, rebuiltSeconds } = await importTate({ client, folder: source, progress: silentProgress })
  const objects = sum(created)
  return [
    atLeast(`import until searchable (${objects} objects)`, 3000, objects / seconds, 'objects/s'),
    figureOnly('  time of the import', seconds, 's'),
    figureOnly('  until the search indexes are built', rebuiltSeconds, 's'),
  ]
}

function sum(created: TateImportSummary['created']): number {
  return Object.values(created).reduce((all, count) => all + count, 0)
}
