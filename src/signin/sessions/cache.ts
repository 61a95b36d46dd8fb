import { callClient } from '../../platform/config/versions.ts'
import { createByteCache, heapBytes } from '../../platform/memory/byte-cache.ts'
import { compileAccess, type UserAccess } from './access.ts'
import type { SessionRow } from './store.ts'

/** The data of a session that requests need. */
export interface Session {
  readonly id: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly method: string
  readonly authenticatedAt: Date
  /** sha256 of the browser id that must come with the token; null: any. */
  readonly browserHash: Buffer | null
  readonly access: UserAccess
}

interface Entry {
  readonly session: Session
  /** Milliseconds; never beyond the token's own end. */
  readonly until: number
}

export interface SessionCacheOptions {
  /** Reads a session by the key of its token. */
  load: (key: string) => Promise<SessionRow | null>
  /** Reads sessions by the keys of their tokens with one statement; unknown ones are absent. */
  loadAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, SessionRow>>
  /** Maximum bytes of all sessions in memory. */
  maxBytes: number
  now?: () => number
  /** Milliseconds for which a session is used without reading it again: the longest effect of a lost message of the bus. */
  lifetime?: number
}

/**
 * Sessions by token, for a few seconds: signing in costs one query per token and interval, not per request. `forget…` must be
 * called for changes; sessions that were being read at that time are not kept.
 */
export function createSessionCache({ load, loadAll, maxBytes, now = Date.now, lifetime = 5000 }: SessionCacheOptions) {
  const entries = createByteCache<string, Entry>({
    name: 'sessions',
    maxBytes,
    sizeOf: ({ session }) => heapBytes(session),
  })
  const loading = new Map<string, Promise<Session | null>>()
  let generation = 0

  async function read(key: string): Promise<Session | null> {
    const before = generation
    const row = await load(key)
    return row ? keep(key, row, before) : null
  }

  /** The session of a row that was requested in the generation `asked`. */
  function keep(key: string, row: SessionRow, asked: number): Session {
    const session = toSession(row)
    // It ends with its call, in all processes at once and without a message.
    if (row.clientId === callClient) return session
    // The end of a share causes no message: sessions of links are read anew each time.
    if (asked === generation && row.type !== 'collection') {
      entries.set(key, { session, until: Math.min(now() + lifetime, row.tokenExpiresAt.getTime()) })
    }
    return session
  }

  function forget(matches: (session: Session) => boolean): void {
    generation++
    loading.clear()
    for (const [key, entry] of entries) if (matches(entry.session)) entries.delete(key)
  }

  return {
    /** `null` when there is no such session. Equal requests at the same time share one read. */
    get(key: string): Promise<Session | null> | Session {
      const entry = entries.get(key)
      if (entry && entry.until > now()) return entry.session
      const pending = loading.get(key)
      if (pending) return pending
      const fresh = read(key).finally(() => {
        if (loading.get(key) === fresh) loading.delete(key)
      })
      loading.set(key, fresh)
      return fresh
    },
    /** Several at once; sessions that have ended are left out. */
    async getAll(keys: readonly string[]): Promise<ReadonlyMap<string, Session>> {
      const found = new Map<string, Session>()
      for (const key of keys) {
        const entry = entries.get(key)
        if (entry && entry.until > now()) found.set(key, entry.session)
      }
      const missing = [...new Set(keys)].filter((key) => !found.has(key))
      if (missing.length === 0) return found
      const asked = generation
      for (const [key, row] of await loadAll(missing)) found.set(key, keep(key, row, asked))
      return found
    },
    forgetSession: (id: string) => forget((session) => session.id === id),
    forgetUsers: (ids: ReadonlySet<number>) => forget((session) => ids.has(session.access.user.userId)),
    forgetAll: () => forget(() => true),
  }
}

function toSession(row: SessionRow): Session {
  return {
    id: row.sessionId,
    clientId: row.clientId,
    scopes: row.scopes,
    method: row.method,
    authenticatedAt: row.authenticatedAt,
    browserHash: row.browserHash,
    access: compileAccess(row),
  }
}
