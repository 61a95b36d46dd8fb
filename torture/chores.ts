/** A task and a backup that are in progress when a fault happens, and the checks of their results. */
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Answer, Client, Json } from '../test/support/client.ts'
import { runCommand } from '../test/support/process.ts'
import { inPool, payload } from '../test/support/seed/museum.ts'
import type { Book, State } from './record.ts'
import type { Scene } from './scene.ts'
import type { Stored } from './stored.ts'

/** Objects for the task of a round: several batches. */
const many = 250
/** Seconds in which both must end after the fault: there are pauses between attempts. */
const patience = 180

/** An acknowledged object at the beginning of a backup. */
interface Moment {
  readonly systemObjectId: number
  readonly code: string
  readonly versions: readonly State[]
}

export interface Chores {
  readonly leaves: readonly number[]
  readonly task: number
  readonly backup: number
  readonly moment: readonly Moment[]
}

/** Saves objects of a round, has a task tag them, and begins a backup. */
export async function beginChores(client: Client, scene: Scene, book: Book, round: number): Promise<Chores> {
  const mark = `leafround${round}`
  const body = Array.from({ length: many }, (_, index) =>
    payload('leaf', { ...inPool(scene.pool), mark, code: `${round}-${index}` }),
  )
  const saved = await must(client.post('db/leaf', body, { await_index: 60 }))
  const search = { objecttypes: ['leaf'], search: [{ type: 'match', string: mark }] }
  const task = {
    task_module: 'set_unset_tags',
    next_run_at: '2020-01-01T00:00:00Z',
    task_params: { search, set_tags: [scene.tags.wanted] },
  }
  const { task: begun } = await must(client.post('task', { task }, { confirm: 'yes' }))
  const moment = book.things
    .filter(({ purged, systemObjectId }) => !purged && systemObjectId > 0)
    .map(({ systemObjectId, code, versions }) => ({ systemObjectId, code, versions: [...versions] }))
  // Both formats in turns.
  const format = round % 2 === 1 ? 'native' : 'postgres'
  const backup = await must(client.put('system/backup/new', { format }))
  return {
    leaves: saved.map((one: Json) => one._system_object_id),
    task: begun._id,
    backup: backup.id,
    moment,
  }
}

/** Waits until both have ended. A backup may fail on a full disk, but must report it. */
export async function endChores(client: Client, { task, backup }: Chores, mayFail: boolean): Promise<string[]> {
  const faults: string[] = []
  const run = await ended(async () => (await client.get(`task/${task}`)).body.task)
  const { done, changed, failed } = run?.state ?? {}
  if (run?.status !== 'done' || done !== many || changed !== many || failed !== 0) {
    faults.push(`task ${task} is ${run?.status ?? 'unknown'}: ${JSON.stringify(run?.state)} ${run?.status_msg}`)
  }
  const made = await ended(async () => (await client.get(`system/backup/${backup}`)).body)
  if (made?.status !== 'done' && !(mayFail && made?.status === 'error'))
    faults.push(`backup ${backup} is ${made?.status ?? 'unknown'}: ${JSON.stringify(made?.log?.at(-1))}`)
  return faults
}

async function ended(read: () => Promise<Json>): Promise<Json | null> {
  let last: Json | null = null
  for (const deadline = Date.now() + 1000 * patience; Date.now() < deadline; await sleep(200)) {
    last = (await read().catch(() => null)) ?? last
    if (last?.status === 'done' || last?.status === 'error' || last?.status === 'canceled') return last
  }
  return last
}

/** Checks that each object was tagged by exactly one version, however often the run was restarted. */
export function compareLeaves({ leaves }: Chores, stored: Stored, { tags }: Scene): string[] {
  const wanted = { version: 2, tags: [tags.checked, tags.wanted].sort((a, b) => a - b) }
  return leaves.flatMap((id) => {
    const there = stored.leaves.get(id)
    return isDeepStrictEqual(there, wanted)
      ? []
      : [`leaf ${id}: ${JSON.stringify(there)} in place of ${JSON.stringify(wanted)}`]
  })
}

/** The archive of the backup in a file, if it can be restored; null: there is none, or it has failed. */
export async function fetchArchive(
  client: Client,
  { url, folder }: { readonly url: string; readonly folder: string },
  { backup }: Chores,
): Promise<string | null> {
  const { status, opts } = (await must(client.get(`system/backup/${backup}`))) as Json
  const native = status === 'done' && opts.format === 'native'
  const file = join(folder, `backup-${backup}.tar.zst`)
  if (native) {
    const headers = { authorization: `Bearer ${await client.token()}` }
    const answer = await fetch(`${url}/api/v1/system/backup/${backup}/download`, { headers })
    if (answer.status !== 200 || !answer.body) throw new Error(`the archive of backup ${backup}: ${answer.status}`)
    await rm(file, { force: true })
    await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(file))
  }
  await must(client.delete(`system/backup/${backup}`))
  return native ? file : null
}

/** The errors of `strongroom verify` for an archive. */
export async function verifyArchive(file: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const { code, stderr } = await runCommand(['verify', file], { ...env })
  return code === 0 ? [] : [`the archive ${file} cannot be restored: ${stderr.trim()}`]
}

/** Checks that everything acknowledged at the beginning of the backup is in the restored data. */
export function compareRestored({ moment }: Chores, restored: Stored): string[] {
  return moment.flatMap(({ systemObjectId: id, code, versions }) => {
    if (restored.tombstones.has(id)) return []
    const there = restored.things.get(id)?.versions.slice(0, versions.length)
    const wanted = versions.map(({ operation, mark, author, tags }, index) => ({
      ...{ version: index + 1, operation, mark, code, author, tags },
    }))
    return isDeepStrictEqual(there, wanted)
      ? []
      : [`restored ${code} ${id}: ${JSON.stringify(there)} in place of ${JSON.stringify(wanted)}`]
  })
}

async function must(answer: Promise<Answer>): Promise<Json> {
  const { status, body } = await answer
  if (status === 200) return body
  throw new Error(`a chore was answered ${status}: ${JSON.stringify(body).slice(0, 500)}`)
}
