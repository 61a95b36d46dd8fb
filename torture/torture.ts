import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../test/support/client.ts'
import { runCommand, type ServiceProcess, spawnService } from '../test/support/process.ts'
import {
  beginChores,
  type Chores,
  compareLeaves,
  compareRestored,
  endChores,
  fetchArchive,
  verifyArchive,
} from './chores.ts'
import { compareStored, resolveOpen } from './compare.ts'
import type { SmallDisk } from './disk.ts'
import { dsnOf, type FaultName, faults } from './faults.ts'
import { createHttpClient, password } from './http.ts'
import { createRandom } from './random.ts'
import { createBook } from './record.ts'
import { type Scene, setScene } from './scene.ts'
import { compareSearch } from './search.ts'
import { readStored } from './stored.ts'
import { type Load, startLoad } from './writers.ts'

export interface TortureOptions {
  readonly rounds: number
  /** Seconds of load in each round; the fault happens in the second half. */
  readonly seconds: number
  readonly seed: number
  readonly writers?: number
  /** Kinds of faults, used in turns. */
  readonly faults: readonly FaultName[]
  /** The file system of the data; needed for the fault of a full disk. */
  readonly disk: SmallDisk | null
  readonly say?: (line: string) => void
  /** No further round begins when this is true. */
  readonly ended?: () => boolean
}

export interface Outcome {
  /** One line for each difference between acknowledged and stored data. */
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly objects: number
  readonly unanswered: number
}

/** Seconds after which the service must serve requests again, and the index must be complete. */
const patience = 60

/** Rounds of load and faults on one service; after each round, all acknowledged writes are compared. */
export async function torture(options: TortureOptions): Promise<Outcome> {
  const { rounds, seconds, seed, disk, say = () => {}, ended = () => false } = options
  const dataDir = disk ? join(disk.path, 'data') : await mkdtemp(join(tmpdir(), 'strongroom-torture-'))
  if (!disk) await chmod(dataDir, 0o755)
  const random = createRandom(seed)
  const book = createBook()
  const found: string[] = []
  const archives = await mkdtemp(join(tmpdir(), 'strongroom-archives-'))
  /** The latest backup that can be restored. */
  let last: { readonly archive: string; readonly chores: Chores } | null = null
  let unanswered = 0
  let service = await start(dataDir)
  let client: Client = createHttpClient(service.url)
  let load: Load | null = null
  try {
    const scene = await setScene(client)
    for (let round = 1; round <= rounds && !ended(); round++) {
      const fault = options.faults[(round - 1) % options.faults.length] as FaultName
      book.touched = new Set()
      const before = book.acknowledged
      const chores = await beginChores(client, scene, book, round)
      load = startLoad({
        client: () => client,
        scene,
        book,
        seed: seed * 1000 + round,
        writers: options.writers ?? 6,
      })
      await sleep(seconds * (500 + random.below(400)))
      if (await faults[fault]({ dataDir, service, disk, random })) {
        service = await start(dataDir)
        client = createHttpClient(service.url)
      }
      const harmed = performance.now()
      const restored = await untilWriting(book)
      const writing = performance.now()
      await load.stop()
      unanswered += book.open.length
      const faultsNow = restored ? [] : [`no write succeeds within ${patience} seconds after the fault`]
      const stopped = performance.now()
      faultsNow.push(...(await endChores(client, chores, fault === 'disk')))
      faultsNow.push(...(await untilIndexed(client)))
      const indexed = performance.now()
      const stored = await readStored(dsnOf(dataDir), scene)
      faultsNow.push(...book.faults.splice(0), ...resolveOpen(book, stored), ...compareStored(book, stored))
      faultsNow.push(...compareLeaves(chores, stored, scene), ...(await compareSearch(client, book, scene)))
      const archive = await fetchArchive(client, { url: service.url, folder: archives }, chores)
      if (archive) {
        faultsNow.push(...(await verifyArchive(archive, environment)))
        last = { archive, chores }
      }
      found.push(...faultsNow.map((line) => `round ${round} (${fault}): ${line}`))
      say(
        `round ${round}: ${fault}, ${book.acknowledged - before} writes, ${book.things.length} objects, ${faultsNow.length} faults; ` +
          `writing after ${lapse(harmed, writing)}, index complete after ${lapse(stopped, indexed)}`,
      )
      for (const line of faultsNow.slice(0, 20)) say(`  ${line}`)
    }
    // Compares once more after an orderly stop.
    service.child.kill('SIGTERM')
    if ((await service.exited) !== 0) found.push('the last stop failed')
    service = await start(dataDir)
    const stored = await readStored(dsnOf(dataDir), scene)
    found.push(...compareStored(book, stored))
    if (last) found.push(...(await compareRestore(archives, last, scene)))
  } finally {
    // Writers would wait for ever for a service that does not come back.
    await load?.stop()
    service.child.kill('SIGTERM')
    await service.exited
    if (!disk) await rm(dataDir, { recursive: true, force: true })
    await rm(archives, { recursive: true, force: true })
  }
  return { faults: found, acknowledged: book.acknowledged, objects: book.things.length, unanswered }
}

const lapse = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`

const environment = { SVC_ROOT_PASSWORD: password, SVC_LOG_LEVEL: 'error' }

const start = (dataDir: string): Promise<ServiceProcess> => spawnService(dataDir, environment)

/** Restores a backup into a separate folder. */
async function compareRestore(
  folder: string,
  { archive, chores }: { readonly archive: string; readonly chores: Chores },
  scene: Scene,
): Promise<string[]> {
  const dataDir = join(folder, 'restored')
  await mkdir(dataDir, { mode: 0o755 })
  await chmod(folder, 0o755)
  const { code, stderr } = await runCommand(['restore', archive], { ...environment, SVC_DATA_DIR: dataDir })
  if (code !== 0) return [`the last backup cannot be restored: ${stderr.trim()}`]
  const service = await start(dataDir)
  try {
    return compareRestored(chores, await readStored(dsnOf(dataDir), scene))
  } finally {
    service.child.kill('SIGTERM')
    await service.exited
  }
}

/** The load continues until some writes have succeeded after the fault. */
async function untilWriting(book: { acknowledged: number }): Promise<boolean> {
  const wanted = book.acknowledged + 20
  const deadline = Date.now() + patience * 1000
  while (book.acknowledged < wanted) {
    if (Date.now() > deadline) return false
    await sleep(50)
  }
  return true
}

async function untilIndexed(client: Client): Promise<string[]> {
  const deadline = Date.now() + patience * 1000
  for (;;) {
    const answer = await client.get('system/status').catch(() => null)
    if (answer?.status === 200 && answer.body.total_not_indexed === 0) return []
    if (Date.now() > deadline)
      return [`${answer?.body?.total_not_indexed ?? 'unknown'} objects are not indexed within ${patience} seconds`]
    await sleep(100)
  }
}
