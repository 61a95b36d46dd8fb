import type { BaseConfigService } from '../../config/service.ts'
import type { UserType } from '../../people/model.ts'
import { networkOf } from '../../platform/limits/callers.ts'
import { createLimiter } from '../../platform/limits/limiter.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Sessions } from '../sessions/service.ts'
import type { Directories } from './service.ts'
import type { SingleSignOn } from './single-sign-on.ts'
import { type DirectoryStatus, findWord, type StoredWord } from './status-store.ts'

export interface WordDependencies {
  db: Db
  baseConfig: BaseConfigService
  sessions: Pick<Sessions, 'endOfUsers'>
  directories: Pick<Directories, 'stillHas'>
  singleSignOn: Pick<SingleSignOn, 'validHours'>
}

export type DirectoryStatusService = ReturnType<typeof createDirectoryStatus>

/** Limits of requests to LDAP, running and waiting. */
const sizes = { concurrency: 4, maxWaiting: 200, maxWaitingOfShare: 100 }

/** Whether users of the type may sign in only as long as their directory or provider has them. */
export const isOfDirectory = (type: UserType): boolean => type === 'sso' || type === 'ldap'

/** Whether directories still have their users, for ways to sign in that do not ask the directory themselves. */
export function createDirectoryStatus({ db, baseConfig, sessions, directories, singleSignOn }: WordDependencies) {
  const limiter = createLimiter(sizes)

  async function ofLdap(userId: number, { name, minutesAgo }: StoredWord, remoteAddr: string, enough: number) {
    const { connections, unreachable_minutes } = baseConfig.get().ldap
    // No directory can confirm any more that the user exists.
    if (connections.length === 0 || name === null) return 'refused'
    const saidWithin = (minutes: number): boolean => minutesAgo !== null && minutesAgo < minutes
    if (saidWithin(enough)) return 'there'
    const word = await limiter.run(() => directories.stillHas(userId, name), networkOf(remoteAddr))
    return word === 'unavailable' && saidWithin(unreachable_minutes) ? 'there' : word
  }

  function ofProvider({ kind, provider, minutesAgo }: StoredWord): DirectoryStatus {
    if (kind === null || kind === 'ldap' || minutesAgo === null) return 'stale'
    const hours = singleSignOn.validHours(kind, provider ?? '')
    return hours !== null && minutesAgo < hours * 60 ? 'there' : 'stale'
  }

  async function ask(userId: number, remoteAddr: string, enough: number): Promise<DirectoryStatus> {
    const stored = await findWord(db, userId)
    if (!stored || !isOfDirectory(stored.type)) return 'there'
    if (stored.type === 'sso') return ofProvider(stored)
    const word = await ofLdap(userId, stored, remoteAddr, enough)
    if (word === 'gone') {
      await db.transaction((tx) => sessions.endOfUsers(tx, [{ userId, reason: 'left_directory' }], remoteAddr))
    }
    return word
  }

  return {
    /**
     * Before a sign-in by another method than the directory. The sessions of a user that the directory has deleted have ended
     * afterwards.
     */
    now: (userId: number, remoteAddr: string): Promise<DirectoryStatus> => ask(userId, remoteAddr, 0),

    /** Before a session is renewed: a statement of some minutes ago is sufficient. */
    lately: (userId: number, remoteAddr: string): Promise<DirectoryStatus> =>
      ask(userId, remoteAddr, baseConfig.get().ldap.recheck_minutes),
  }
}
