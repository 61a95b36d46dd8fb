import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Pool } from 'undici'
import { createServiceClient } from '../src/import/client.ts'
import { openContext } from './context.ts'
import { median } from './load.ts'
import { noise, pathOf, stored } from './pictures.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const files = 1_000_000
const objects = 1000

/** A million records of files of a pool's objects, whose pictures are all dissimilar. */
export async function measureFileMillions(say: (line: string) => void): Promise<Row[]> {
  const context = await openContext('', say)
  const db = new pg.Client({ connectionString: context.dsn })
  await db.connect()
  const pool = new Pool(context.service.url, { connections: 1 })
  try {
    const { client } = context
    const record = await stored(context, 'one.jpg', await noise(60, 40, 2, 80), ['small'])
    await commitTypes(context, types, masks)
    const [{ pool: made }] = await client.post<[{ pool: { _id: number } }]>('/pool', [
      { pool: { _id_parent: 1, name: { 'en-US': 'Many' } } },
    ])
    await client.post(
      '/db/bench_many',
      Array.from({ length: objects }, (_, index) => ({
        _objecttype: 'bench_many',
        _mask: 'bench_many',
        _pool: { pool: { _id: made._id } },
        bench_many: { name: `Object ${index}` },
      })),
      { format: 'short' },
    )
    say('a million records …')
    await fill(db, record._id, await columnOf(client))
    say('a million hashes …')
    await look(db)
    const begun = performance.now()
    for (let left = 1; left > 0; ) {
      const { rows } = await db.query<{ left: string }>('select count(*) as left from file_count_due')
      left = Number(rows[0]?.left)
      if (left > 0) await sleep(500)
    }
    say(`counted after ${((performance.now() - begun) / 1000).toFixed(0)} s`)
    const first = record._id
    const anyFile = (): number => first + 1 + Math.floor(Math.random() * files)
    const { authorization = '' } = await context.headers()
    const visitor = await visitorOf(context.service.url, client, made._id)

    async function times(count: number, path: () => string, headers: Record<string, string> = {}): Promise<number> {
      const found: number[] = []
      for (let index = 0; index < count; index++) {
        const sent = performance.now()
        const answer = await pool.request({ method: 'GET', path: path(), headers })
        const body = await answer.body.arrayBuffer()
        found.push(performance.now() - sent)
        if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${Buffer.from(body).toString()}`)
      }
      return median(found.slice(Math.floor(count / 5)))
    }

    const download = () => `/api/v1/eas/download/${anyFile()}/${record.hash}/original`
    const signed = pathOf(record.versions.original?.url ?? '')
    const own = await times(300, download, { authorization: visitor })
    const bySignature = await times(300, () => signed)
    const stats = await times(30, () => `/api/v1/pool/${made._id}/stats`, { authorization })
    const similar = await times(100, () => `/api/v1/eas/${anyFile()}/similar`, { authorization })
    return [
      atMost('1,000,000 files: rights of a download (beside a signed one)', 2, own - bySignature, 'ms'),
      figureOnly('  the download as a whole', own, 'ms'),
      atMost('1,000,000 files: statistics of their pool', 200, stats, 'ms'),
      figureOnly('1,000,000 hashes: pictures that look like one', similar, 'ms'),
    ]
  } finally {
    await pool.close()
    await db.end()
    await context.close()
  }
}

/** Copies of the record, a thousand for each object. */
async function fill(db: pg.Client, source: number, column: number): Promise<void> {
  await db.query('set synchronous_commit = off')
  const { rows } = await db.query<{ first: string }>(
    `with made as (
       insert into file (upload_user, filepath, unlinked_at)
       select 1, n || '.jpg', null from generate_series(1, $1) n returning id
     ) select min(id) as first from made`,
    [files],
  )
  const first = Number(rows[0]?.first)
  if (first !== source + 1) throw new Error('others upload files')
  await db.query(
    `insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status, metadata)
     select $1 + n, name, location_id, sha256, size, extension, class, mime_type, status, metadata
     from file_version cross join generate_series(0, $2 - 1) n where file_id = $3 and name = 'original'`,
    [first, files, source],
  )
  await db.query(
    `insert into file_use (file_id, system_object_id, column_id, latest)
     select $1 + n, o.id, $4, true from generate_series(0, $2 - 1) n
     join (select system_object_id as id, row_number() over () - 1 as place from object) o on o.place = n % $3`,
    [first, files, objects, column],
  )
  await db.query('analyze file, file_version, file_use, object')
}

async function columnOf(client: ReturnType<typeof createServiceClient>): Promise<number> {
  const { tables } = await client.get<{ tables: { name: string; columns: { name: string; column_id: number }[] }[] }>(
    '/schema/user/CURRENT',
  )
  const columns = tables.find(({ name }) => name === 'bench_many')?.columns ?? []
  return columns.find(({ name }) => name === 'image')?.column_id ?? 0
}

/** Random hashes, as of unrelated pictures. */
async function look(db: pg.Client): Promise<void> {
  const { rows } = await db.query<{ definition: string }>(
    `select indexdef as definition from pg_indexes where indexname = 'file_likeness_bands_idx'`,
  )
  await db.query('drop index file_likeness_bands_idx')
  await db.query(
    `insert into file_likeness (file_id, made_of, hash)
     select file_id, sha256, (random() * 9.2e18)::bigint # (random() * 4e9)::bigint from file_version
     where name = 'original' on conflict do nothing`,
  )
  await db.query(rows[0]?.definition ?? '')
  await db.query('analyze file_likeness')
}

/** The authorization of a user who may download files of the pool's objects. */
async function visitorOf(url: string, client: ReturnType<typeof createServiceClient>, pool: number): Promise<string> {
  const password = 'bench-visitor-password'
  const [{ user }] = await client.post<[{ user: { _id: number } }]>('/user', [
    { user: { login: 'bench_visitor' }, _password: password },
  ])
  const [{ pool: stored }] = await client.get<[{ pool: { _version: number } }]>(`/pool/${pool}`)
  const _acl = [
    {
      who: { _basetype: 'user', user: { _id: user._id } },
      rights: { read: {}, asset_show: {}, asset_download: {} },
    },
  ]
  await client.post('/pool', [{ pool: { _id: pool, _version: stored._version }, _acl }])
  return `Bearer ${await createServiceClient({ url, login: 'bench_visitor', password }).token()}`
}

const types = [
  {
    name: 'bench_many',
    columns: [value('name', 'text_oneline'), value('image', 'eas')],
    pool_link: true,
  },
]
const masks = [
  {
    name: 'bench_many',
    table_name_hint: 'bench_many',
    is_preferred: true,
    require_comment: 'never',
    fields: [field('name', true), field('image')],
  },
]
