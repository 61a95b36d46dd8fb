import { hash } from 'node:crypto'
/**
 * The acting user. Built once per request from the token (or by a job, a plugin, a share) and passed explicitly: no code reads "the
 * current user" from global state.
 */
export interface Actor {
  readonly userId: number
  readonly login: string
  readonly displayname: string
  readonly reference: string | null
  /** Groups of the user, system groups (`:all`, `:authenticated`) included. */
  readonly groupIds: readonly number[]
  /** Has `system.root`: passes every right check (RIGHTS-001). */
  readonly isRoot: boolean
  /** Effective system rights: name (`system.datamodel`) to parameters (`{ level: ['commit'] }`). */
  readonly systemRights: ReadonlyMap<string, Readonly<Record<string, unknown>>>
  /** Address of the client for the event log; empty for jobs. */
  readonly remoteAddr: string
  /** Languages in which the user reads, best first; the instance's languages when the user has none. */
  readonly languages: readonly string[]
  /** The sign-in behind the request; null for jobs, shares and explanations, which have no sign-in. */
  readonly session: ActorSession | null
}

export interface ActorSession {
  readonly id: string
  /** The OAuth2 client that signed in for the user. */
  readonly clientId: string
  /** sha256 of the id of the browser that it is bound to; null or absent: of none. */
  readonly browserHash?: Buffer | null
}

/** The visitor behind a user that many people share: a browser, or a session where no browser is known. */
export function visitorOf({ session }: Pick<Actor, 'session'>): Buffer {
  if (!session) return Buffer.alloc(0)
  return session.browserHash ?? hash('sha256', `session ${session.id}`, 'buffer')
}
