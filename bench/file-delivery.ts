import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { Pool } from 'undici'
import { type Context, temporaryFolder } from './context.ts'
import { load, median } from './load.ts'
import { noise, pathOf, stored } from './pictures.ts'
import { startProcess } from './process.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const downloadBytes = 400_000_000
const rounds = 5

/** Delivery of files: whole, in parts for viewers, and as addresses in objects. */
export async function measureDelivery(context: Context): Promise<Row[]> {
  const rows: Row[] = []
  for (const part of [firstByte, pageOfObjects, download, tiles]) {
    const found = await part(context)
    for (const { path, measured } of found) context.say(`${path}: ${measured}`)
    rows.push(...found)
  }
  return rows
}

/** A large content, compared with a bare server that streams the same file, in turns. */
async function download(context: Context): Promise<Row[]> {
  const folder = await temporaryFolder()
  try {
    const content = randomBytes(downloadBytes)
    const path = join(folder.path, 'content.bin')
    await writeFile(path, content)
    const { versions } = await stored(context, 'content.bin', content, ['original'])
    const bare = await startProcess('bench/file-server.ts', [], { BENCH_FILE: path })
    try {
      const ours = { origin: context.service.url, path: pathOf(versions.original?.url ?? '') }
      const theirs = { origin: bare.url, path: '/' }
      await Promise.all([ours, theirs].map(taken))
      const found = []
      for (let round = 0; round < rounds; round++) found.push({ theirs: await taken(theirs), ours: await taken(ours) })
      const shares = found.map((each) => (100 * each.ours) / each.theirs)
      return [
        atLeast('download of 400 MB', 70, median(shares), '% of a bare server'),
        figureOnly('  the service', median(found.map((each) => each.ours)), 'MB/s'),
        figureOnly('  the bare server', median(found.map((each) => each.theirs)), 'MB/s'),
      ]
    } finally {
      await bare.stop()
    }
  } finally {
    await folder.remove()
  }
}

/** MB a second. */
async function taken({ origin, path }: { origin: string; path: string }): Promise<number> {
  const pool = new Pool(origin, { connections: 1 })
  try {
    const begun = performance.now()
    const answer = await pool.request({ method: 'GET', path })
    let bytes = 0
    for await (const chunk of answer.body) bytes += (chunk as Buffer).length
    if (answer.statusCode !== 200 || bytes !== downloadBytes) throw new Error(`${bytes} bytes came of ${path}`)
    return bytes / 1000 / (performance.now() - begun)
  } finally {
    await pool.close()
  }
}

/** From the request to the first byte of a signed address. */
async function firstByte(context: Context): Promise<Row[]> {
  const { versions } = await stored(context, 'first.bin', randomBytes(200_000), ['original'])
  const path = pathOf(versions.original?.url ?? '')
  const pool = new Pool(context.service.url, { connections: 1 })
  const times: number[] = []
  try {
    for (let count = 0; count < 300; count++) {
      const begun = performance.now()
      const answer = await pool.request({ method: 'GET', path })
      for await (const chunk of answer.body) {
        if (times.length === count && (chunk as Buffer).length > 0) times.push(performance.now() - begun)
      }
    }
  } finally {
    await pool.close()
  }
  return [atMost('first byte of a signed download (median)', 5, median(times.slice(50)), 'ms')]
}

const perObject = 3
const objects = 100

/** A list of objects with three files of five renditions each, compared with the same without files. */
async function pageOfObjects(context: Context): Promise<Row[]> {
  const { client, dsn } = context
  const versions = ['small', 'preview', 'huge', 'full', 'zoom']
  const source = await stored(context, 'page.jpg', await noise(3000, 2000, 2, 80), versions)
  const files = await copies(dsn, source._id, objects * perObject)
  await commitTypes(context, pageTypes, pageMasks)
  const save = (type: string, image: (index: number) => object) =>
    client.post(
      `/db/${type}`,
      Array.from({ length: objects }, (_, index) => ({
        _objecttype: type,
        _mask: type,
        [type]: { name: `Object ${index}`, ...image(index) },
      })),
      { format: 'short' },
    )
  await save('bench_plain', () => ({}))
  await save('bench_pictures', (index) => ({
    image: files.slice(perObject * index, perObject * (index + 1)).map((_id) => ({ _id })),
  }))
  const { authorization = '' } = await context.headers()
  const pool = new Pool(context.service.url, { connections: 1 })
  const times: Record<string, number[]> = { bench_plain: [], bench_pictures: [] }
  let page = Buffer.alloc(0)
  try {
    for (let round = 0; round < 100; round++) {
      for (const [type, list] of Object.entries(times)) {
        const path = `/api/v1/db/${type}/${type}/list?format=standard&limit=${objects}`
        const begun = performance.now()
        const answer = await pool.request({ method: 'GET', path, headers: { authorization } })
        const body = Buffer.from(await answer.body.arrayBuffer())
        list.push(performance.now() - begun)
        if (type === 'bench_pictures') page = body
        const signatures = body.toString('latin1').split('x-svc-signature').length - 1
        const expected = type === 'bench_plain' ? 0 : objects * perObject * (versions.length + 1)
        if (answer.statusCode !== 200 || signatures < expected) throw new Error(`${signatures} signed addresses`)
      }
    }
  } finally {
    await pool.close()
  }
  const [plain = 0, pictures = 0] = Object.values(times).map((list) => median(list.slice(20)))
  return [
    atMost('page of 100 objects: three files of five renditions each, signed, add', 3, pictures - plain, 'ms'),
    figureOnly('  the page with them', pictures, 'ms'),
    figureOnly(`  its ${(page.length / 1e6).toFixed(1)} MB from a bare server`, await bareTime(page), 'ms'),
  ]
}

/** Milliseconds until a bare server has sent these bytes (median). */
async function bareTime(content: Buffer): Promise<number> {
  const folder = await temporaryFolder()
  try {
    const path = join(folder.path, 'content')
    await writeFile(path, content)
    const bare = await startProcess('bench/file-server.ts', [], { BENCH_FILE: path })
    const pool = new Pool(bare.url, { connections: 1 })
    const times: number[] = []
    for (let count = 0; count < 100; count++) {
      const begun = performance.now()
      const answer = await pool.request({ method: 'GET', path: '/' })
      await answer.body.arrayBuffer()
      times.push(performance.now() - begun)
    }
    await pool.close()
    await bare.stop()
    return median(times.slice(20))
  } finally {
    await folder.remove()
  }
}

/** Files with copies of the versions of one file. */
async function copies(dsn: string, source: number, count: number): Promise<number[]> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    const { rows } = await db.query<{ id: string }>(
      `insert into file (upload_user, filepath) select 1, 'page-' || n || '.jpg' from generate_series(1, $1) n returning id`,
      [count],
    )
    const ids = rows.map(({ id }) => Number(id))
    for (const table of ['file_version', 'file_rendition']) {
      const { rows: columns } = await db.query<{ name: string }>(
        `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped
           and attname <> 'file_id'`,
        [table],
      )
      const names = columns.map(({ name }) => name).join(', ')
      await db.query(
        `insert into ${table} (file_id, ${names}) select x, ${names} from ${table} cross join unnest($1::bigint[]) x
         where file_id = $2`,
        [ids, source],
      )
    }
    return ids
  } finally {
    await db.end()
  }
}

const pageTypes = [
  { name: 'bench_plain', columns: [value('name', 'text_oneline'), value('image', 'eas')] },
  { name: 'bench_pictures', columns: [value('name', 'text_oneline'), value('image', 'eas')] },
]
const pageMasks = pageTypes.map(({ name }) => ({
  name,
  table_name_hint: name,
  is_preferred: true,
  require_comment: 'never',
  fields: [field('name', true), field('image')],
}))

const side = 10_000

/** Parts of a picture of 100 megapixels, at any place and in any of the sizes of its pyramid. */
async function tiles(context: Context): Promise<Row[]> {
  const { versions } = await stored(context, 'large.jpg', await noise(side, side, 8, 80), ['zoom'])
  const at = pathOf(versions.original?.iiif_url ?? '')
  const tile = (): string => {
    const scale = 2 ** Math.floor(Math.random() * 5)
    const place = (): number => 512 * scale * Math.floor(Math.random() * Math.floor(side / 512 / scale))
    const [x, y, size] = [place(), place(), 512 * scale]
    return `${at}/${x},${y},${size},${size}/512,512/0/default.jpg`
  }
  const { url: origin } = context.service
  await load({ origin, connections: 4, seconds: 3, request: () => ({ path: tile() }) })
  const found = await load({ origin, connections: 4, seconds: 10, request: () => ({ path: tile() }) })
  const info = await load({ origin, connections: 1, seconds: 3, request: () => ({ path: `${at}/info.json` }) })
  return [
    atMost('IIIF tile of 100 megapixels, 4 connections (95 %)', 60, found.p95, 'ms'),
    figureOnly('  tiles', found.perSecond, '/s'),
    atMost('info.json (median)', 5, info.median, 'ms'),
  ]
}
