import { importTate, type TateImportSummary } from '../src/import/tate/import.ts'
import { silentProgress } from '../src/platform/process/progress.ts'
import type { Context } from './context.ts'
import { postgresTime, processTime } from './cpu.ts'
import { atLeast, figureOnly, type Row } from './report.ts'

/** The whole collection through HTTP until every object is searchable; the importer runs in the bench's process. */
export async function measureImport({ client, source, service, dsn }: Context): Promise<Row[]> {
  const times = async () => ({ service: await processTime(service.pid), postgres: await postgresTime(dsn) })
  const before = await times()
  const { created, seconds, rebuiltSeconds } = await importTate({ client, folder: source, progress: silentProgress })
  const after = await times()
  const objects = sum(created)
  const perThousand = (of: keyof typeof before): number => (1000 * (after[of] - before[of])) / objects
  return [
    atLeast(`import until searchable (${objects} objects)`, 3000, objects / seconds, 'objects/s'),
    figureOnly('  time of the import', seconds, 's'),
    figureOnly('  until the search indexes are built', rebuiltSeconds, 's'),
    figureOnly('  processor time of the service for 1,000 objects', perThousand('service'), 'ms'),
    figureOnly('  that of PostgreSQL', perThousand('postgres'), 'ms'),
  ]
}

function sum(created: TateImportSummary['created']): number {
  return Object.values(created).reduce((all, count) => all + count, 0)
}
