/**
 * Sessions: one per sign-in, with its access and refresh tokens. A *token* is a random text of which only the sha256 is stored. A
 * token belongs to a session, and a session to a user; from both follows the `Actor` of a request.
 */

import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog, NewEvent } from '../../events/service.ts'
import { rootUserId, type UserType } from '../../people/model.ts'
import type { EndedSessions } from '../../people/service.ts'
import { signInObstacle } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Bus } from '../../platform/postgres/bus.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { endKeptLogins } from '../keep-login.ts'
import { actorFrom, compileAccess } from './access.ts'
import { createSessionCache, type Session } from './cache.ts'
import * as store from './store.ts'
import { newToken, tokenHash, tokenKey } from './token.ts'

export type { Session } from './cache.ts'

export type Sessions = ReturnType<typeof createSessions>

export interface SessionDependencies {
  db: Db
  bus: Bus
  events: EventLog
  baseConfig: BaseConfigService
  /** Bytes of the sessions in memory. */
  maxBytes: number
  /** Maximum number of sessions of one user; default: any number. */
  most?: number
  clock?: () => Date
}

/** Tokens for the client; they are known at this moment only. */
export interface IssuedTokens {
  accessToken: string
  refreshToken: string | null
  /** Seconds. */
  expiresIn: number
  scopes: readonly string[]
}

export interface SignIn {
  userId: number
  clientId: string
  scopes: readonly string[]
  /** The method by which the user proved their identity: `native`, … */
  method: string
  /** The typed login; logged. */
  login?: string | undefined
  /** The second factor of the sign-in; logged. */
  twoFactor?: string | null
  /** The external server that has identified the user; logged. */
  idp?: string | null
  remoteAddr: string
  /** The user agent of the program that opened it. */
  userAgent?: string | null
  /** The browser id that must come with its tokens; null: any, or none. */
  browserHash?: Buffer | null
  /** Seconds of the access token's life, if different from the base configuration. */
  accessSeconds?: number
}

export interface Refresh {
  refreshToken: string
  clientId: string
  /** Null: unchanged. */
  scopes: readonly string[] | null
  remoteAddr: string
  /** Of the browser ids that came with it. */
  browserHashes: readonly Buffer[]
}

const topic = 'sessions'

/** Seconds in which a used refresh token returns its successor once more. */
const refreshGrace = 10

/** The owner of the used token can compute it; the stored seed alone is not enough. */
function successorOf(refreshToken: string, seed: Buffer): string {
  return createHmac('sha256', seed).update(refreshToken).digest('base64url')
}

export function createSessions({
  db,
  bus,
  events,
  baseConfig,
  maxBytes,
  most,
  clock = () => new Date(),
}: SessionDependencies) {
  const cache = createSessionCache({
    async load(key) {
      const row = await store.findByAccessToken(db, Buffer.from(key, 'base64url'))
      // The time of last use is shown to people who check their sessions; to the minute is precise enough.
      if (row?.notSeenLately) await outsideDeadlines(() => store.touch(db, row.sessionId))
      return row
    },
    loadAll: async (keys) => {
      const rows = await store.findByAccessTokens(
        db,
        keys.map((key) => Buffer.from(key, 'base64url')),
      )
      return new Map(rows.map((row) => [row.hash.toString('base64url'), row]))
    },
    maxBytes,
    now: () => clock().getTime(),
  })
  const unsubscribe = bus.subscribe(topic, (payload) => {
    if (payload.startsWith('s:')) cache.forgetSession(payload.slice(2))
    else if (payload.startsWith('u:')) cache.forgetUsers(new Set(payload.slice(2).split(',').map(Number)))
    else cache.forgetAll()
  })

  function newTokens(
    scopes: readonly string[],
    refreshToken: string | null,
    ownSeconds?: number,
  ): { issued: IssuedTokens; stored: store.NewTokens } {
    const { access_token: usual, refresh_token: refreshSeconds } = baseConfig.get().oauth2.expirations
    const accessSeconds = ownSeconds ?? usual
    const accessToken = newToken()
    return {
      issued: { accessToken, refreshToken, expiresIn: accessSeconds, scopes },
      stored: {
        accessHash: tokenHash(accessToken),
        refreshHash: refreshToken === null ? null : tokenHash(refreshToken),
        scopes,
        accessSeconds,
        refreshSeconds,
      },
    }
  }

  async function actorsOf(
    source: Db | Tx,
    userIds: readonly number[],
    remoteAddr: string,
  ): Promise<Map<number, Actor>> {
    const rows = await store.findAccess(source, [...new Set(userIds)])
    const languages = baseConfig.databaseLanguages()
    return new Map(rows.map((row) => [row.userId, actorFrom(compileAccess(row), remoteAddr, languages)]))
  }

  /** Tells all processes after the commit that sessions of these users must be read again. */
  function changed(tx: Tx, userIds: Iterable<number>): Promise<void> {
    const payload = `u:${[...userIds].join(',')}`
    return bus.publish(tx, topic, payload.length < 6000 ? payload : '')
  }

  /** Opens a session in the caller's transaction; null when the user may not sign in now. */
  async function openWithin(tx: Tx, signIn: SignIn): Promise<{ sessionId: string; issued: IssuedTokens } | null> {
    const { userId, clientId, scopes, method, remoteAddr, userAgent = null, browserHash = null } = signIn
    const user = (await store.findAccess(tx, [userId]))[0]
    if (!user || signInObstacle(user, clock())) return null
    const { issued, stored } = newTokens(scopes, scopes.includes('offline') ? newToken() : null, signIn.accessSeconds)
    const sessionId = randomUUID()
    const { login, twoFactor = null, idp } = signIn
    const session = { id: sessionId, userId, clientId, scopes, method, remoteAddr, userAgent, browserHash, twoFactor }
    await store.insertSession(tx, session, stored)
    await store.noteLastSeen(tx, userId)
    await store.removeEnded(tx)
    const oldest = most === undefined ? [] : await store.removeOldest(tx, userId, sessionId, most)
    await logEnded(tx, oldest, remoteAddr, 'too_many_sessions')
    const opened = { id: sessionId, clientId }
    const actor = actorFrom(compileAccess(user), remoteAddr, baseConfig.databaseLanguages(), opened)
    const info = {
      method,
      client: clientId,
      groups: actor.groupIds,
      ...(login === undefined ? {} : { login }),
      ...(twoFactor ? { two_factor: twoFactor } : {}),
      ...(idp ? { idp } : {}),
    }
    await events.append(tx, [{ type: 'USER_LOGIN', actor, basetype: 'user', objectId: userId, info }])
    return { sessionId, issued }
  }

  return {
    /**
     * @throws {AppError} `InvalidToken` when it is unknown, expired, revoked, bound to a browser that is not among those of the
     * request, or its user may not sign in now.
     */
    async resolve(token: string, browserHashes: () => readonly Buffer[]): Promise<Session> {
      const session = await cache.get(tokenKey(token))
      if (!session || !isBoundTo(session.browserHash, browserHashes)) throw new AppError('InvalidToken')
      if (signInObstacle(session.access.user, clock())) throw new AppError('InvalidToken')
      return session
    },

    /** The sessions of the tokens with these keys that are still valid, with one statement. */
    async stillOpen(keys: readonly string[]): Promise<ReadonlyMap<string, Session>> {
      const sessions = await cache.getAll(keys)
      const now = clock()
      return new Map([...sessions].filter(([, { access }]) => !signInObstacle(access.user, now)))
    },

    keyOf: tokenKey,

    actorOf: (session: Session, remoteAddr: string): Actor =>
      actorFrom(session.access, remoteAddr, baseConfig.databaseLanguages(), session),

    /** The actor for a job, a deep link or a plugin; `null` when there is no such user. */
    actorOfUser: async (userId: number, remoteAddr = '', from: Db | Tx = db): Promise<Actor | null> =>
      (await actorsOf(from, [userId], remoteAddr)).get(userId) ?? null,

    /** The actors of the users, of those given, who may sign in now, and of root in any case. */
    async actorsWhoMayAct(from: Queryable, userIds: readonly number[]): Promise<ReadonlyMap<number, Actor>> {
      const now = clock()
      const rows = await store.findAccess(from, userIds)
      const able = rows.filter((row) => row.userId === rootUserId || !signInObstacle(row, now))
      const languages = baseConfig.databaseLanguages()
      return new Map(able.map((row) => [row.userId, actorFrom(compileAccess(row), '', languages)]))
    },

    openWithin,

    /** Opens a session for a user who has proved their identity. `alongside` joins the transaction. */
    open(signIn: SignIn, alongside: (tx: Tx) => Promise<void> = async () => {}): Promise<IssuedTokens> {
      return db.transaction(async (tx) => {
        await alongside(tx)
        const opened = await openWithin(tx, signIn)
        if (!opened) throw new AppError('InvalidToken')
        return opened.issued
      })
    },

    /**
     * New tokens for a refresh token, which is used up. A used token that is sent again indicates theft: the whole session ends.
     * But two tabs may refresh at once, so for some seconds it returns the same successor again. `null` when the token is not
     * valid.
     * @param owner the user of the token, by `ownerOfRefresh`; null: it is not valid any more
     * @throws {AppError} `ServerGeneric` when more scopes are requested than the session has.
     * @see RFC 9700 section 4.14.2
     */
    async refresh(request: Refresh, owner: number | null): Promise<IssuedTokens | null> {
      const hash = tokenHash(request.refreshToken)
      const issued = owner === null ? null : await db.transaction((tx) => rotate(tx, hash, request, owner))
      if (!issued) await endStolen(hash, request)
      return issued
    },

    /** The user of a refresh token, if it belongs to this client and is still valid; null: it is not. */
    async ownerOfRefresh({ refreshToken, clientId }: Refresh): Promise<{ userId: number; type: UserType } | null> {
      const found = await store.findToken(db, tokenHash(refreshToken))
      if (found?.kind !== 'r' || found.clientId !== clientId) return null
      return (found.usedSecondsAgo ?? 0) > refreshGrace ? null : { userId: found.userId, type: found.userType }
    },

    /** Ends the session of a token of either kind (logout). `false` when there is no such token of this client. */
    async revoke(token: string, clientId: string | null, remoteAddr: string): Promise<boolean> {
      const found = await store.findToken(db, tokenHash(token))
      if (!found || (clientId !== null && found.clientId !== clientId)) return false
      await end(found, remoteAddr)
      return true
    },

    /** Ends a session that is no longer to be trusted. */
    async endSession(sessionId: string, remoteAddr: string, reason: string): Promise<void> {
      const found = await store.findSession(db, sessionId)
      if (found) await end(found, remoteAddr, reason)
    },

    /** Ends these sessions, in the caller's transaction. */
    async endSessions(tx: Tx, sessionIds: readonly string[], remoteAddr: string, reason: string): Promise<void> {
      if (sessionIds.length === 0) return
      await logEnded(tx, await store.revokeByIds(tx, sessionIds), remoteAddr, reason)
    },

    /** Ends all sessions of a user but one, and forgets the kept sign-ins of all browsers but that one's. */
    async endOthers(userId: number, kept: Session, remoteAddr: string): Promise<number> {
      return db.transaction(async (tx) => {
        const ended = await store.revokeOthers(tx, userId, kept.id)
        const own = kept.access.user.userId === userId && kept.browserHash ? [kept.browserHash] : []
        await endKeptLogins(tx, [userId], own)
        await logEnded(tx, ended, remoteAddr, 'signed_out')
        return ended.length
      })
    },

    /** Ends the sessions that are bound to a browser: its user has signed out there. */
    async endOfBrowsers(browserHashes: readonly Buffer[], remoteAddr: string): Promise<void> {
      if (browserHashes.length === 0) return
      await db.transaction(async (tx) => {
        await logEnded(tx, await store.revokeOfBrowsers(tx, browserHashes), remoteAddr, 'logout')
      })
    },

    /** The session of a token of either kind; null when it is unknown, expired, revoked, used, or its user may not sign in. */
    async inspect(token: string) {
      const found = await store.inspectToken(db, tokenHash(token))
      return found && !signInObstacle(found.user, clock()) ? found : null
    },

    /**
     * A refresh by the browser alone: a new access token for one that is valid and bound to it, as long as a refresh token would
     * last from the sign-in on. The old token stays valid for a minute, for requests in flight.
     * @throws {AppError} `InvalidToken`
     */
    async renew(token: string, session: Session): Promise<IssuedTokens> {
      const last = session.authenticatedAt.getTime() + 1000 * baseConfig.get().oauth2.expirations.refresh_token
      if (session.browserHash === null || clock().getTime() > last) throw new AppError('InvalidToken')
      const tokens = newTokens(session.scopes, null)
      return db.transaction(async (tx) => {
        if (!(await store.replaceAccessToken(tx, tokenHash(token), session.id))) throw new AppError('InvalidToken')
        await store.addTokens(tx, { id: session.id, scopes: session.scopes }, tokens.stored)
        return tokens.issued
      })
    },

    /** The client of a refresh token whose session is bound to a browser; null when there is no such token. */
    clientOfBoundRefresh: (refreshToken: string): Promise<string | null> =>
      store.findBoundRefresh(db, tokenHash(refreshToken)),

    changed,

    /** All processes read all sessions again: a group changed, and with it the rights of an unknown number of users. */
    allChanged: (tx: Tx): Promise<void> => bus.publish(tx, topic, ''),

    /** Ends all sessions of users, in the caller's transaction; logs a USER_LOGOUT for each user with a session. */
    async endOfUsers(tx: Tx, ended: readonly EndedSessions[], remoteAddr: string): Promise<void> {
      if (ended.length === 0) return
      const ids = ended.map((one) => one.userId)
      const open = await store.revokeOfUsers(tx, ids)
      await endKeptLogins(tx, ids)
      const actors = await actorsOf(tx, [...open], remoteAddr)
      const logouts = ended
        .filter((one) => open.has(one.userId))
        .map(({ userId, reason }): NewEvent => {
          const info = { scope: 'user', user_id: userId, ...(reason ? { reason } : {}) }
          return { type: 'USER_LOGOUT', actor: actors.get(userId) ?? null, basetype: 'user', objectId: userId, info }
        })
      await events.append(tx, logouts)
      await changed(tx, ids)
    },

    close: unsubscribe,
  }

  /** Uses up the refresh token of this hash; null when it is not valid, or its owner may not sign in now. */
  async function rotate(tx: Tx, hash: Buffer, request: Refresh, owner: number): Promise<IssuedTokens | null> {
    const [first, [user]] = await Promise.all([
      store.useRefreshToken(tx, hash, randomBytes(32), request),
      store.findAccess(tx, [owner]),
    ])
    const rotated = first ?? (await store.findJustUsed(tx, hash, request, refreshGrace))
    if (!rotated || !user || signInObstacle(user, clock())) return null
    const scopes = request.scopes ?? rotated.scopes
    const excess = scopes.find((scope) => !rotated.scopes.includes(scope))
    if (excess !== undefined) throw new AppError('ServerGeneric', { scope: excess })
    const next = scopes.includes('offline') ? successorOf(request.refreshToken, rotated.seed) : null
    const tokens = newTokens(scopes, next)
    if (!first && next !== null && !(await store.hasToken(tx, tokenHash(next)))) return null
    const stored = first ? tokens.stored : { ...tokens.stored, refreshHash: null }
    await Promise.all([
      store.addTokens(tx, { id: rotated.sessionId, scopes: rotated.scopes }, stored),
      store.noteLastSeen(tx, rotated.userId),
    ])
    return tokens.issued
  }

  function isBoundTo(browserHash: Buffer | null, presented: () => readonly Buffer[]): boolean {
    return browserHash === null || presented().some((hash) => hash.equals(browserHash))
  }

  /** A used refresh token: the owner of the other copy must not keep the session either. */
  async function endStolen(hash: Buffer, { clientId, remoteAddr }: Refresh): Promise<void> {
    const found = await store.findToken(db, hash)
    if (found?.kind !== 'r' || found.clientId !== clientId) return
    if (found.usedSecondsAgo !== null && found.usedSecondsAgo > refreshGrace)
      await end(found, remoteAddr, 'token_reuse')
  }

  function end(found: store.FoundSession, remoteAddr: string, reason?: string): Promise<void> {
    return db.transaction(async (tx) => {
      const open = await store.revokeSessions(tx, [found.sessionId])
      if (open.length > 0) await logEnded(tx, [found], remoteAddr, reason)
    })
  }

  /** Logs that sessions have ended, and tells all processes. */
  async function logEnded(tx: Tx, ended: readonly store.FoundSession[], remoteAddr: string, reason?: string) {
    if (ended.length === 0) return
    const users = ended.map(({ userId }) => userId)
    const actors = await actorsOf(tx, users, remoteAddr)
    const logouts = ended.map(({ userId, method, clientId, bound }): NewEvent => {
      const info = {
        method,
        client: clientId,
        scope: 'session',
        user_id: userId,
        bound_browser: bound,
        ...(reason ? { reason } : {}),
      }
      return { type: 'USER_LOGOUT', actor: actors.get(userId) ?? null, basetype: 'user', objectId: userId, info }
    })
    await events.append(tx, logouts)
    const [only, ...more] = ended
    if (only && more.length === 0) await bus.publish(tx, topic, `s:${only.sessionId}`)
    else await changed(tx, new Set(users))
  }
}
