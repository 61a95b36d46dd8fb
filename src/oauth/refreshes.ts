import { AppError } from '../platform/errors.ts'
import {
  type DirectoryStatus,
  type DirectoryStatusService,
  type IssuedTokens,
  isOfDirectory,
  type Refresh,
  type Session,
  type Sessions,
} from '../signin/service.ts'

/** The directory of the user does not allow the session to continue. */
export type Stopped = Exclude<DirectoryStatus, 'there' | 'unavailable'>

export interface RefreshDependencies {
  sessions: Pick<Sessions, 'refresh' | 'renew' | 'ownerOfRefresh'>
  words: Pick<DirectoryStatusService, 'lately'>
}

export type Refreshes = ReturnType<typeof createRefreshes>

/** The renewal of sessions: by a refresh token or by the browser, and only for users that their directory still has. */
export function createRefreshes({ sessions, words }: RefreshDependencies) {
  /** @throws {AppError} `ServiceUnavailable` while the directory cannot be reached; no token is used up then */
  async function wordOf(userId: number, remoteAddr: string): Promise<'there' | Stopped> {
    const word = await words.lately(userId, remoteAddr)
    if (word !== 'unavailable') return word
    const message = 'The directory of users cannot be asked at the moment.'
    throw new AppError('ServiceUnavailable', { directory: true }, { message })
  }

  return {
    /**
     * Like `Sessions.refresh`; a statement of the directory instead of tokens: the directory stops it, and the refresh token is not
     * used up.
     */
    async refresh(request: Refresh): Promise<IssuedTokens | Stopped | null> {
      const owner = await sessions.ownerOfRefresh(request)
      const word = owner && isOfDirectory(owner.type) ? await wordOf(owner.userId, request.remoteAddr) : 'there'
      return word === 'there' ? sessions.refresh(request, owner?.userId ?? null) : word
    },

    /** Like `Sessions.renew`. @throws {AppError} `InvalidToken` */
    async renew(token: string, session: Session, remoteAddr: string): Promise<IssuedTokens> {
      if ((await wordOf(session.access.user.userId, remoteAddr)) !== 'there') throw new AppError('InvalidToken')
      return sessions.renew(token, session)
    },
  }
}
