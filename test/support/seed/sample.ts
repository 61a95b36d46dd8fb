import { createServiceClient } from '../../../src/import/client.ts'
import { sampleFolder } from '../../../src/import/demo.ts'
import { importTate } from '../../../src/import/tate/import.ts'
import { silentProgress } from '../../../src/platform/process/progress.ts'
import type { TestService } from '../service.ts'

/** Loads works and artists of the sample through the front door, until all of it is searchable. */
export async function importSample(svc: TestService, limit = 100): Promise<void> {
  const url = await svc.listen()
  const password = svc.config.rootPassword ?? ''
  const client = createServiceClient({ url, login: 'root', password, patience: 30_000 })
  await importTate({ client, folder: sampleFolder, progress: silentProgress, limit })
}
