import { existsSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'

/** An object that is in the trash, or was about to be moved there. */
export interface Trashed {
  readonly uuid: string
  readonly id: number
  /** The version with which it was deleted. */
  readonly version: number
}

interface Entry {
  readonly type: string
  readonly sent?: readonly string[]
  readonly trashed?: readonly Trashed[]
}

export interface LedgerState {
  /** For each type, in their order: objects that may be in the service. */
  readonly sent: ReadonlyMap<string, ReadonlySet<string>>
  readonly trashed: ReadonlyMap<string, readonly Trashed[]>
}

/** The log of what an import is about to save or to take back, written in advance: a uuid is never used for a second object. */
export function createLedger(file: string) {
  async function append(entry: Entry): Promise<void> {
    const handle = await open(file, 'a', 0o600)
    try {
      await handle.write(`${JSON.stringify(entry)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  return {
    exists: (): boolean => existsSync(file),
    addSent: (type: string, sent: readonly string[]): Promise<void> => append({ type, sent }),
    addTrashed: (type: string, trashed: readonly Trashed[]): Promise<void> => append({ type, trashed }),

    async state(): Promise<LedgerState> {
      const sent = new Map<string, Set<string>>()
      const trashed = new Map<string, Map<string, Trashed>>()
      for (const line of (await readFile(file, 'utf8').catch(() => '')).split('\n')) {
        const entry = entryOf(line)
        if (!entry) continue
        const [here, there] = [sent.get(entry.type) ?? new Set<string>(), trashed.get(entry.type) ?? new Map()]
        sent.set(entry.type, here)
        trashed.set(entry.type, there)
        for (const uuid of entry.sent ?? []) {
          here.add(uuid)
          there.delete(uuid)
        }
        for (const one of entry.trashed ?? []) {
          here.delete(one.uuid)
          there.set(one.uuid, one)
        }
      }
      return { sent, trashed: new Map([...trashed].map(([type, byUuid]) => [type, [...byUuid.values()]])) }
    },

    remove: (): Promise<void> => rm(file, { force: true }),
  }
}

export type Ledger = ReturnType<typeof createLedger>

/** Null for an incomplete last line after a crash: its request was not sent. */
function entryOf(line: string): Entry | null {
  try {
    return JSON.parse(line) as Entry
  } catch {
    return null
  }
}
