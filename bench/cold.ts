import pg from 'pg'
import type { Context } from './context.ts'
import { type Load, load, type Request } from './load.ts'
import { type Process, startProcess } from './process.ts'
import { signInReader } from './reader.ts'
import { atLeast, figureOnly, type Row } from './report.ts'
import type { SearchAnswer } from './search.ts'
import { commitTypes, field, value } from './types.ts'
import { titleWords } from './words.ts'

/** Seconds of each measurement. */
const seconds = 6
/** Requests for warming up: the warm measurement uses a hundred targets, some of them chosen at random. */
const drawn = 300

interface Scene {
  readonly context: Context
  readonly headers: Record<string, string>
  readonly bare: Process
  /** All artworks that the caller may read, in no order. */
  readonly ids: readonly number[]
}

/**
 * Each path with targets drawn from the whole collection, by a caller who is not root, beside a bare server with the
 * least work for the same answer. Both programs have run before. Cold: each target is requested once, so that no cache
 * helps. Warm: a hundred targets again and again.
 */
export async function measureCold(context: Context): Promise<Row[]> {
  const headers = await signInReader(context)
  const bare = await startProcess('bench/baseline-server.ts', [], { BENCH_DSN: context.dsn })
  try {
    const scene = { context, headers, bare, ids: await readableIds(context, headers) }
    return [...(await reads(scene)), ...(await pages(scene)), ...(await facets(scene)), ...(await saves(scene))]
  } finally {
    await bare.stop()
  }
}

/** The objects that the caller may read, from the database: the service has not been asked for any of them. */
async function readableIds({ dsn, client }: Context, headers: Record<string, string>): Promise<number[]> {
  const { count } = await client.post<SearchAnswer>('/search', { objecttypes: ['artwork'], limit: 0 })
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    const { rows } = await db.query<{ id: string }>(
      `select o.system_object_id as id from object o join pool p on p.id = o.pool_id
       where o.deleted_at is null and (p.id % 2 = (select min(id) % 2 from pool where parent_id = 1 and not is_system)
         or o.tags <> '{}') order by random()`,
    )
    if (rows.length === 0 || rows.length > count || !headers.authorization) throw new Error('nothing to read')
    return rows.map((row) => Number(row.id))
  } finally {
    await db.end()
  }
}

/** Draws from a list, each member once. */
function once<T>(list: readonly T[]): () => T {
  let next = 0
  return () => {
    const member = list[next++ % list.length]
    if (member === undefined) throw new Error('nothing to draw from')
    return member
  }
}

const anyOf = <T>(list: readonly T[]): (() => T) => {
  return () => list[Math.floor(Math.random() * list.length)] as T
}

async function beside(
  { context, bare }: Scene,
  connections: number,
  ofService: () => Request,
  ofBare: () => Request,
  warmUp: boolean,
): Promise<{ share: number; service: Load; bare: Load }> {
  const service = (duration: number) =>
    load({ origin: context.service.url, connections, seconds: duration, request: ofService })
  const other = (duration: number) => load({ origin: bare.url, connections, seconds: duration, request: ofBare })
  await other(2)
  // The program has run as long as the bare server's; in the cold case, no target is requested again.
  await service(2)
  // Warm: until every later target has been requested.
  for (let asked = 0; warmUp && asked < drawn; ) asked += (await service(2)).perSecond * 2
  const first = await other(seconds / 2)
  const served = await service(seconds)
  const second = await other(seconds / 2)
  const perSecond = (first.perSecond + second.perSecond) / 2
  return { share: (100 * served.perSecond) / perSecond, service: served, bare: { ...first, perSecond } }
}

async function both(
  scene: Scene,
  name: string,
  connections: number,
  limits: { readonly cold: number; readonly warm: number | null },
  request: (warm: boolean) => { service: () => Request; bare: () => Request },
): Promise<Row[]> {
  const rows: Row[] = []
  for (const warm of limits.warm === null ? [false] : [false, true]) {
    const { service, bare } = request(warm)
    const found = await beside(scene, connections, service, bare, warm)
    rows.push(
      atLeast(`${name}, ${warm ? 'warm' : 'cold'}`, (warm ? limits.warm : limits.cold) ?? 0, found.share, '% of bare'),
      figureOnly('  the service', found.service.perSecond, '/s'),
      figureOnly('  p95', found.service.p95, 'ms'),
      figureOnly('  the bare server', found.bare.perSecond, '/s'),
    )
  }
  return rows
}

function reads(scene: Scene): Promise<Row[]> {
  const { headers, ids } = scene
  return both(scene, 'read one of all objects, 16 connections', 16, { cold: 33, warm: 65 }, (warm) => {
    const id = warm ? anyOf(ids.slice(0, 100)) : once(ids)
    return {
      service: () => ({
        path: `/api/v1/db/artwork/artwork/system_object_id/${id()}?format=standard`,
        headers,
      }),
      bare: () => ({ path: `/one/${anyOf(ids)()}` }),
    }
  })
}

/** Pages of 50: with a filter that no other request has, and by words of all titles. */
async function pages(scene: Scene): Promise<Row[]> {
  const { context, headers, ids } = scene
  const word = await titleWords(context.source)
  const words = Array.from({ length: 100 }, word)
  let times = 0
  // For a small collection, only its existing pages.
  const deepest = Math.min(400, Math.ceil(ids.length / 100))
  const filtered = (format: string, warm: boolean): object => ({
    objecttypes: ['artwork'],
    // A number below 20,000 and prime to it: in the cold case, each search has its own condition, and mostly its own
    // page.
    search: [
      {
        type: 'range',
        field: 'artwork.tate_id',
        from: ((warm ? times++ % 100 : times++) * 7919) % 20_000,
        to: 9_999_999,
      },
    ],
    sort: [{ field: 'artwork.title', order: 'asc' }],
    limit: 50,
    offset: warm ? 0 : 50 * Math.floor(Math.random() * deepest),
    format,
  })
  const worded = (warm: boolean): object => ({
    objecttypes: ['artwork'],
    search: [
      { type: 'match', mode: 'fulltext', string: warm ? anyOf(words)() : word() },
      ...(warm ? [] : [unseen(times++)]),
    ],
    limit: 50,
    format: 'standard',
  })
  const rows: Row[] = []
  const kinds = [
    [
      'a page of 50, standard, filter, sort, total',
      { cold: 25, warm: 60 },
      (warm: boolean) => filtered('standard', warm),
    ],
    ['a page of 50, short, filter, sort, total', { cold: 35, warm: 60 }, (warm: boolean) => filtered('short', warm)],
    ['full text, total, 50 in standard', { cold: 20, warm: null }, worded],
  ] as const
  for (const [name, limits, body] of kinds) {
    const bytes = {
      cold: await answerBytes(scene, () => body(false)),
      warm: await answerBytes(scene, () => body(true)),
    }
    rows.push(
      figureOnly(`  bytes of an answer (${name}), cold`, bytes.cold, 'bytes'),
      ...(await both(scene, `${name}, 16 connections`, 16, limits, (warm) => ({
        service: () => ({ method: 'POST', path: '/api/v1/search', body: JSON.stringify(body(warm)), headers }),
        bare: () => ({
          method: 'POST',
          path: '/page',
          body: JSON.stringify({
            ids: Array.from({ length: 50 }, anyOf(ids)),
            bytes: warm ? bytes.warm : bytes.cold,
          }),
        }),
      }))),
    )
  }
  return rows
}

/** The mean of some answers. */
async function answerBytes({ context, headers }: Scene, body: () => object): Promise<number> {
  const some = 20
  let sum = 0
  for (let n = 0; n < some; n++) {
    const answer = await fetch(`${context.service.url}/api/v1/search`, {
      method: 'POST',
      body: JSON.stringify(body()),
      headers,
    })
    if (!answer.ok) throw new Error(`search was answered ${answer.status}: ${await answer.text()}`)
    sum += (await answer.arrayBuffer()).byteLength
  }
  return Math.round(sum / some)
}

/** A condition that all objects fulfil and no other search has. */
const unseen = (number: number) => ({
  type: 'in',
  bool: 'must_not',
  fields: ['_system_object_id'],
  in: [1_000_000_000 + number],
})

/** A facet over all artworks, compared with the plainest SQL that counts the same column. */
async function facets({ context, headers }: Scene): Promise<Row[]> {
  let times = 0
  const facet = await load({
    origin: context.service.url,
    connections: 1,
    seconds,
    request: () => ({
      method: 'POST',
      path: '/api/v1/search',
      headers,
      body: JSON.stringify({
        objecttypes: ['artwork'],
        search: [unseen(times++)],
        limit: 0,
        aggregations: { kind: { type: 'term', field: 'artwork.classification', limit: 10 } },
      }),
    }),
  })
  const db = new pg.Client({ connectionString: context.dsn })
  await db.connect()
  try {
    const { rows: columns } = await db.query<{ key: string }>(
      `select c ->> 'column_id' as key from datamodel_version d, jsonb_array_elements(d.schema -> 'tables') t,
         jsonb_array_elements(t -> 'columns') c
       where t ->> 'name' = 'artwork' and c ->> 'name' = 'classification' order by d.version desc limit 1`,
    )
    const times: number[] = []
    for (let round = 0; round < 5; round++) {
      const begun = performance.now()
      await db.query(
        `select v.content -> $1, count(*) from object o join object_version v using (system_object_id, version)
         where o.deleted_at is null group by 1`,
        [columns[0]?.key],
      )
      times.push(performance.now() - begun)
    }
    const plain = Math.min(...times)
    return [
      atLeast('a facet over all artworks, nothing kept', 50, (100 * plain) / facet.median, '% of plain SQL'),
      figureOnly('  the service, median', facet.median, 'ms'),
      figureOnly('  p95', facet.p95, 'ms'),
      figureOnly('  plain SQL', plain, 'ms'),
    ]
  } finally {
    await db.end()
  }
}

/** Objects with a title, one and a hundred in a request; indexing runs at the same time, and its end is waited for. */
async function saves(scene: Scene): Promise<Row[]> {
  const { context } = scene
  await commitTypes(
    context,
    [{ name: 'bench_note', columns: [value('title', 'text_oneline')] }],
    [{ name: 'bench_note', table_name_hint: 'bench_note', is_preferred: true, fields: [field('title', true)] }],
  )
  const headers = await context.headers()
  let number = 0
  const named = () => ({
    _objecttype: 'bench_note',
    _mask: 'bench_note',
    bench_note: { title: `Note ${number++}` },
  })
  const request = (size: number) => ({
    service: (): Request => ({
      method: 'POST',
      path: '/api/v1/db/bench_note',
      headers,
      body: JSON.stringify(Array.from({ length: size }, named)),
    }),
    bare: (): Request => ({ method: 'POST', path: '/save', body: JSON.stringify(Array.from({ length: size }, named)) }),
  })
  const rows: Row[] = []
  for (const [size, connections, limit] of [
    [1, 8, 20],
    [100, 1, 0],
    [100, 4, 0],
  ] as const) {
    const { service, bare } = request(size)
    const found = await beside(scene, connections, service, bare, true)
    rows.push(
      atLeast(`save ${size} a request, ${connections} connections`, limit, found.share, '% of bare'),
      figureOnly('  the service', found.service.perSecond * size, 'objects/s'),
      figureOnly('  p95', found.service.p95, 'ms'),
      figureOnly('  the bare server', found.bare.perSecond * size, 'objects/s'),
    )
    await indexed(context)
  }
  return rows
}

async function indexed({ dsn, say }: Context): Promise<void> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  const begun = performance.now()
  try {
    while ((await db.query('select from index_queue limit 1')).rowCount !== 0) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } finally {
    await db.end()
  }
  say(`  indexed ${Math.round(performance.now() - begun)} ms after the last save`)
}
