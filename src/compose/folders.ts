import { join } from 'node:path'
import { createCrawler, createDriveService, createHotfolderService } from '../drives/service.ts'
import type { Given } from './ground.ts'
import type { Objects } from './objects.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'
import type { Workflow } from './workflow.ts'

export type Folders = ReturnType<typeof composeFolders>

/** Collections as folders: mounted drives, and the hotfolder. */
export function composeFolders(
  { config, db, log }: Given,
  { baseConfig, languages, readOnly }: Readers,
  { signIn }: People,
  { files }: Workflow,
  { collections, ingest, uploadKeys: keys }: Objects,
  opened: AsyncDisposableStack,
) {
  const drives = createDriveService({
    db,
    keys,
    settings: () => baseConfig.get().webdav,
    actorsOf: signIn.actorsOf,
    files,
    ingest,
    collections,
    languages,
  })
  const hotfolderRoot = config.hotfolderPath ?? join(config.dataDir, 'hotfolder')
  const hotfolder = createHotfolderService({
    db,
    keys,
    root: hotfolderRoot,
    settings: () => baseConfig.get().webdav,
    actorsOf: signIn.actorsOf,
    files,
    ingest,
    limits: {
      files: config.quotaHotfolderFiles,
      bytes: config.quotaHotfolderBytes,
      reserve: config.hotfolderReserve * 1_000_000,
    },
  })
  const crawler = createCrawler({
    db,
    root: hotfolderRoot,
    log,
    settings: () => baseConfig.get().webdav,
    readOnly,
    actorsOf: signIn.actorsOf,
    files,
    ingest,
  })
  opened.defer(() => crawler.close())
  return { drives, hotfolder }
}
