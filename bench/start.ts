import { rootPassword, temporaryFolder } from './context.ts'
import { startProcess } from './process.ts'
import { atMost, type Row } from './report.ts'

/** The first start on an empty data folder (with initdb and migrations), and later ones. */
export async function measureStart(): Promise<Row[]> {
  const folder = await temporaryFolder()
  const start = async (): Promise<number> => {
    const service = await startProcess('src/main.ts', ['start'], {
      SVC_DATA_DIR: folder.path,
      SVC_PORT: '0',
      SVC_LOG_LEVEL: 'warn',
      SVC_ROOT_PASSWORD: rootPassword,
    })
    await service.stop()
    return service.startMs / 1000
  }
  try {
    return [atMost('first start', 8, await start(), 's'), atMost('later start', 3, await start(), 's')]
  } finally {
    await folder.remove()
  }
}
