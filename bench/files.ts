import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import sharp from 'sharp'
import { Pool } from 'undici'
import { type Context, openContext, temporaryFolder } from './context.ts'
import { childrenTime, postgresPid, postgresTime, processTime } from './cpu.ts'
import { measureDelivery } from './file-delivery.ts'
import { median } from './load.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'
import { highestMemory, memoryOfTrees } from './tree-memory.ts'

const connections = 4
/** Processes for previews, as many as in the service. */
const places = 2
const files = 24
const rounds = 2

/** The processes whose processor time is reported. */
const processes = {
  service: 'the service itself',
  postgres: 'PostgreSQL',
  renditions: 'processes that make renditions',
  client: 'the client',
  alone: 'libvips alone',
} as const

type Used = Readonly<Record<keyof typeof processes, number>>

/** An upload until its preview of 400 pixels is fetched, compared with libvips alone with as many processes. */
export async function measureFiles(say: (line: string) => void): Promise<Row[]> {
  const context = await openContext('', say)
  const folder = await temporaryFolder()
  const workers = Array.from({ length: places }, () => fork(join(import.meta.dirname, 'thumbnails.ts')))
  try {
    const paths = await photographs(folder.path)
    await uploadAll(context, paths, -1)
    await alone(workers, paths)
    const ours: number[] = []
    const shares: number[] = []
    const used: Used[] = []
    for (let round = 0; round < rounds; round++) {
      // No measurement shares the machine with other renditions of the round before.
      await untilRest(context.dsn)
      const alone0 = await timeOf(workers)
      const theirs = await alone(workers, paths)
      const alone1 = await timeOf(workers)
      const before = await usedBy(context)
      const rate = await uploadAll(context, paths, round)
      used.push({ ...perFile(before, await usedBy(context), paths.length), alone: (alone1 - alone0) / paths.length })
      ours.push(rate)
      shares.push((rate / theirs) * 100)
      say(`files: ${rate.toFixed(1)} a second, libvips alone ${theirs.toFixed(1)}`)
    }
    await untilRest(context.dsn)
    // Without a measurement of time beside it.
    const tops = [context.service.pid, await postgresPid(context.dsn)]
    const atRest = await memoryOfTrees(tops)
    const highest = await highestMemory(tops, async () => {
      await uploadAll(context, paths, rounds)
      await untilRest(context.dsn)
    })
    return [
      figureOnly('upload of 2.3 MB until its preview was fetched (4 connections)', median(ours), '/s'),
      atLeast('… of what libvips alone makes', 80, median(shares), '%'),
      ...Object.entries(processes).map(([name, what]) =>
        figureOnly(`  processor time for each: ${what}`, median(used.map((one) => one[name as keyof Used])), 'ms'),
      ),
      atMost(
        'memory of all processes with these uploads and their other renditions (PSS, highest)',
        600,
        highest,
        'MB',
      ),
      figureOnly('  behind them', atRest, 'MB'),
      ...(await measureDelivery(context)),
    ]
  } finally {
    for (const worker of workers) worker.kill()
    await context.close()
    await folder.remove()
  }
}

/** Waits until all renditions of the uploads are made: the next measurement has the machine for itself. */
async function untilRest(dsn: string): Promise<void> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    for (let left = 1; left > 0; await sleep(500)) {
      const { rows } = await db.query<{ left: number }>(
        'select count(*)::int as left from graphile_worker.jobs where run_at <= now() and attempts < max_attempts',
      )
      left = rows[0]?.left ?? 0
    }
  } finally {
    await db.end()
  }
}

/** Pictures as from cameras: 3000 x 2000 pixels, some 2.3 MB, no two alike. */
async function photographs(folder: string): Promise<string[]> {
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 24 }
  const coarse = sharp({ create: { width: 1500, height: 1000, channels: 3, background: 'gray', noise } }).png()
  const content = await sharp(await coarse.toBuffer())
    .resize(3000, 2000)
    .jpeg({ quality: 88 })
    .toBuffer()
  const paths: string[] = []
  for (let index = 0; index < files; index++) {
    const path = join(folder, `${index}.jpg`)
    await writeFile(path, content)
    paths.push(path)
  }
  return paths
}

/** Uploads a second. */
async function uploadAll({ service, client }: Context, paths: readonly string[], round: number): Promise<number> {
  const pool = new Pool(service.url, { connections: 2 * connections, pipelining: 1 })
  const authorization = `Bearer ${await client.token()}`
  const contents = await Promise.all(paths.map((path) => readFile(path)))
  const queue = contents.entries()
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const [index, content] of queue) {
        // Appended after the end of the picture, so that no two contents are the same.
        const body = Buffer.concat([content, Buffer.from(`${round}:${index}`)])
        const query = new URLSearchParams({
          filenames: JSON.stringify([`${round}-${index}.jpg`]),
          await_version: 'small',
        })
        const [made] = await json(pool, `/api/v1/eas/put?${query}`, {
          method: 'POST',
          headers: { authorization, 'content-type': 'image/jpeg' },
          body,
        })
        await preview(pool, made)
      }
    }),
  )
  const seconds = (performance.now() - begun) / 1000
  await pool.close()
  return paths.length / seconds
}

async function preview(pool: Pool, made: Answer | undefined): Promise<void> {
  const small = made?.versions.small
  if (small?.status !== 'done') throw new Error(`the preview of ${made?._id}: ${small?.status} ${small?.reason}`)
  const { pathname, search } = new URL(small.url)
  const answer = await pool.request({ method: 'GET', path: pathname + search })
  await answer.body.arrayBuffer()
  if (answer.statusCode !== 200) throw new Error(`the preview of ${made?._id}: ${answer.statusCode}`)
}

interface Answer {
  readonly _id: number
  readonly versions: Readonly<
    Record<string, { readonly status: string; readonly url: string; readonly reason?: string }>
  >
}

async function json(
  pool: Pool,
  path: string,
  request: { readonly method: 'GET' | 'POST'; readonly headers: Record<string, string>; readonly body?: Buffer },
): Promise<Answer & Answer[]> {
  const answer = await pool.request({ path, ...request })
  const body = (await answer.body.json()) as Answer & Answer[]
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(body)}`)
  return body
}

/** Files per second of the processes, each with a share of the files. */
async function alone(workers: readonly ChildProcess[], paths: readonly string[]): Promise<number> {
  const begun = performance.now()
  await Promise.all(
    workers.map(async (worker, number) => {
      worker.send(paths.filter((_, index) => index % workers.length === number))
      const [answer] = await once(worker, 'message')
      if (answer !== 'done') throw new Error(String(answer))
    }),
  )
  return paths.length / ((performance.now() - begun) / 1000)
}

/** Milliseconds of processor time so far. */
async function usedBy({ service, dsn }: Context): Promise<Omit<Used, 'alone'>> {
  const { user, system } = process.cpuUsage()
  return {
    service: await processTime(service.pid),
    postgres: await postgresTime(dsn),
    renditions: await childrenTime(service.pid),
    client: (user + system) / 1000,
  }
}

function perFile(before: Omit<Used, 'alone'>, after: Omit<Used, 'alone'>, count: number): Omit<Used, 'alone'> {
  const each = (name: keyof typeof before): number => (after[name] - before[name]) / count
  return {
    service: each('service'),
    postgres: each('postgres'),
    renditions: each('renditions'),
    client: each('client'),
  }
}

async function timeOf(workers: readonly ChildProcess[]): Promise<number> {
  const times = await Promise.all(workers.map(({ pid }) => processTime(pid ?? 0)))
  return times.reduce((sum, time) => sum + time, 0)
}
