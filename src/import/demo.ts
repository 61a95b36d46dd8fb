import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import type { Config } from '../platform/config/config.ts'
import { hasCluster } from '../platform/postgres/cluster.ts'
import { withOwnDatabase } from '../platform/postgres/own-database.ts'
import { createProgress, type ProgressOutput } from '../platform/process/progress.ts'
import { createServiceClient } from './client.ts'
import { addPictures } from './pictures.ts'
import { importTate } from './tate/import.ts'
import { assertOurs, type KnownTables, ModelConflict, poolReference } from './tate/setup.ts'

const help = `Usage: strongroom demo [options]

Starts a service with its own data folder, loads a sample of the Tate collection and prints searches to try.

Options
  --data <folder>       where the demo keeps its data (default demo-data; SVC_DATA_DIR does not count, so that the sample
                        never goes into a collection)
  --port <n>            port to listen on (default: as configured, 8080)
`

/** Folder of the sample in the package. */
export const sampleFolder = join(import.meta.dirname, '..', '..', 'examples', 'tate-sample')

export interface DemoDeps {
  config: Config
  startServer: (config: Config, onStep: (step: string) => void) => Promise<{ url: string; stop(): Promise<void> }>
  /** Resolves when the demo shall end. */
  ended: Promise<unknown>
  out?: ProgressOutput & NodeJS.WritableStream
}

/** `strongroom demo`: runs until `ended`; returns the exit code. */
export async function runDemo(
  args: string[],
  { config, startServer, ended, out = process.stdout }: DemoDeps,
): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string', default: 'demo-data' },
      port: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    out.write(help)
    return 0
  }
  const dataDir = resolve(values.data)
  const older = await assertDemo(dataDir)
  const password = config.rootPassword ?? randomBytes(9).toString('base64url')
  const port = values.port === undefined ? config.port : portOf(values.port)
  // If no address is configured, the default has the port in it, which links need. Port 0 is replaced only once the service
  // listens.
  const isUsual = port !== 0 && config.externalUrl === `http://localhost:${config.port}`
  const service = await startServer(
    {
      ...config,
      externalUrl: isUsual ? `http://localhost:${port}` : config.externalUrl,
      dataDir,
      dbDsn: null,
      rootPassword: password,
      port,
      // The demo prints messages for people; log lines of requests would hide them.
      logLevel: config.logLevel === 'info' ? 'warn' : config.logLevel,
    },
    (step) => out.write(`  ${step}\n`),
  )
  try {
    const progress = createProgress(out)
    const client = createServiceClient({ url: service.url, login: 'root', password })
    const stop = new AbortController()
    const over = ended.then(() => stop.abort())
    out.write(
      '  loading the sample: movements, subjects, artists, artworks, their index, pictures; what is there already is kept\n',
    )
    const { total, interrupted } = await importTate({
      client,
      folder: sampleFolder,
      progress,
      batch: 200,
      extend: older,
      signal: stop.signal,
    })
    if (!interrupted) await addPictures(client, progress, stop.signal)
    progress.stop()
    if (!interrupted) out.write(guide({ url: service.url, password, total }))
    await over
    return 0
  } finally {
    await service.stop()
  }
}

/**
 * Checks the content of the folder, before the start changes the password of root and the schema. Returns whether it is a demo
 * already, perhaps of an older release. @throws {Error} when it is another instance that has types of these names.
 */
async function assertDemo(dataDir: string): Promise<boolean> {
  if (!(await hasCluster(dataDir))) return false
  return withOwnDatabase({ dataDir, dbDsn: null }, async (dsn) => {
    const { tables, isDemo } = await storedIn(dsn)
    try {
      if (!isDemo) assertOurs(tables)
    } catch (cause) {
      if (!(cause instanceof ModelConflict)) throw cause
      throw new Error(`${dataDir} has data that are not those of a demo; choose another folder with --data`, { cause })
    }
    return isDemo
  })
}

async function storedIn(dsn: string): Promise<{ tables: KnownTables; isDemo: boolean }> {
  const client = new pg.Client({ connectionString: dsn, application_name: 'strongroom demo' })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows: known } = await client.query<{ there: boolean }>(
      `select to_regclass('public.datamodel_version') is not null and to_regclass('public.pool') is not null as there`,
    )
    if (!known[0]?.there) return { tables: [], isDemo: false }
    const { rows } = await client.query<{ tables: KnownTables | null; isDemo: boolean }>(
      `select (select schema -> 'tables' from datamodel_version order by version desc limit 1) as tables,
         exists (select from pool where reference = $1) as "isDemo"`,
      [poolReference],
    )
    return { tables: rows[0]?.tables ?? [], isDemo: rows[0]?.isDemo ?? false }
  } finally {
    await client.end().catch(() => {})
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`--port ${JSON.stringify(text)} is no port`)
  return port
}

interface Example {
  says: string
  search: object
}

/** Searches that show the features of the service; each is a body of `POST /api/v1/search`. */
export const exampleSearches: readonly Example[] = [
  {
    says: 'Works about rivers, best match first, with the kinds of works as a facet',
    search: {
      objecttypes: ['artwork'],
      search: [{ type: 'match', mode: 'fulltext', string: 'river' }],
      sort: [{ field: '_score', order: 'desc' }],
      aggregations: { classification: { type: 'term', field: 'artwork.classification', limit: 10 } },
      limit: 5,
      format: 'short',
    },
  },
  {
    says: 'Paintings of the nineteenth century, the oldest first, with their artists as a facet',
    search: {
      objecttypes: ['artwork'],
      search: [
        { type: 'in', fields: ['artwork.classification'], in: ['painting'] },
        { type: 'range', field: 'artwork.date', from: '1800', to: '1899' },
      ],
      sort: [{ field: 'artwork.date', order: 'asc' }],
      aggregations: {
        artist: {
          type: 'linked_object',
          field: 'artwork._nested:artwork__contributor.artist',
          objecttype: 'artist',
          limit: 10,
        },
      },
      limit: 5,
      format: 'short',
    },
  },
  {
    says: 'What has a picture, by its kind',
    search: {
      objecttypes: ['artwork'],
      search: [{ type: 'in', fields: ['_linked._asset.class'], in: ['image'] }],
      aggregations: { formats: { type: 'term', field: '_linked._asset.technical_metadata.format' } },
      limit: 5,
      format: 'standard',
    },
  },
  {
    says: 'Artists whose place of birth starts with "Lond"',
    search: {
      objecttypes: ['artist'],
      search: [{ type: 'match', mode: 'wildcard', fields: ['artist.birth_place'], string: 'Lond*' }],
      sort: [{ field: 'artist.name', order: 'asc' }],
      limit: 5,
      format: 'short',
    },
  },
]

function guide({ url, password, total }: { url: string; password: string; total: number }): string {
  const token = `TOKEN=$(curl -s ${url}/api/oauth2/token -d grant_type=password -d client_id=web-client \\
    -d username=root -d password='${password}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
  const searches = exampleSearches.map(
    ({ says, search }, index) => `  # ${index + 1}. ${says}
  curl -s ${url}/api/v1/search -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '${JSON.stringify(search)}'`,
  )
  return `
Strongroom runs with ${total} objects of the Tate collection (CC0 1.0).

  address   ${url}
  login     root
  password  ${password}
  interface ${url}/api/v1/system/openapi/

Searches to try, after signing in:

  ${token}

${searches.join('\n\n')}

Ctrl+C ends the demo; the next start finds its data again.
`
}
