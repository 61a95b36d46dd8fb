import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readForeign } from '../process/own-folders.ts'
import { freeSpace, type PostgresFolders } from './server-files.ts'

const MB = 1024 * 1024
/** The size of a WAL segment: with less space PostgreSQL cannot continue. */
const leastSpace = 16 * MB
/** Number of characters of a log that are read. */
const tail = 64 * 1024

/** The output of the program before it writes to its log. */
export function startLog({ home }: PostgresFolders): string {
  return join(home, 'start.log')
}

/** The way in which a program ended, for programs without output. */
export interface Ending {
  readonly exitCode: number | null
  readonly signalCode: NodeJS.Signals | null
}

/** Milliseconds until the last output of the program is in its log: another process writes it, and lives longer. */
const logDelay = 3000

/**
 * The reason why a program of the server that was started at `since` has ended, in one line: from its log, else from its output,
 * else from its exit code. A full disk is checked too, since then the program could not write anything.
 */
export async function whyItEnded(folders: PostgresFolders, since: Date, ending: Ending): Promise<string> {
  const free = await freeSpace(folders).catch(() => leastSpace)
  const full = free < leastSpace ? `the disk is full (${Math.floor(free / MB)} MB free in ${folders.home})` : null
  const said = await lastWords(folders, since, Date.now() + (full ? 0 : logDelay))
  const end = ending.signalCode ?? `exit code ${ending.exitCode}`
  return [full, said].filter(Boolean).join(': ') || `no message, ${end}`
}

async function lastWords(folders: PostgresFolders, since: Date, deadline: number): Promise<string | undefined> {
  for (;;) {
    const said = lastFailure(await loggedSince(folders, since)) ?? lastFailure(await printed(folders))
    if (said !== undefined || Date.now() > deadline) return said
    await sleep(50)
  }
}

function lastFailure(lines: readonly string[]): string | undefined {
  return (
    lines.filter((line) => /FATAL|PANIC|ERROR|error/.test(line)).at(-1) ??
    // A hint only points to the log that is read here.
    lines.filter((line) => line !== '' && !/(HINT|LOG|DETAIL): /.test(line)).at(-1)
  )
}

async function printed(folders: PostgresFolders): Promise<string[]> {
  return (await readForeign(startLog(folders), tail)).split('\n')
}

/** Lines of the server's log, each without its time. */
async function loggedSince({ data }: PostgresFolders, since: Date): Promise<string[]> {
  const folder = join(data, 'log')
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.log'))
  const texts = await Promise.all(names.map((name) => readForeign(join(folder, name), tail)))
  const from = since.toISOString().replace('T', ' ').slice(0, 23)
  const dated = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) UTC \[\d+\] (.*)$/
  return texts
    .flatMap((text) => text.split('\n'))
    .flatMap((line) => {
      const [, at = '', said = ''] = dated.exec(line) ?? []
      return at >= from ? [{ at, said: said.trimStart() }] : []
    })
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(({ said }) => said)
}
