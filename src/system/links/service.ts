/** Share links: short addresses that lead to other addresses of this service only (docs/collections.md, *Share links*). */
import { randomBytes } from 'node:crypto'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { quotaExceeded } from '../../platform/limits/callers.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { beginsWithDay } from '../../platform/values/moments.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import type { ShareLinkInput, ShareLinkOutput } from './schema.ts'
import * as store from './store.ts'

export type ShareLinks = ReturnType<typeof createShareLinks>

export interface ShareLinkDeps {
  readonly db: Db
  readonly externalUrl: string
  /** Links of one user. */
  readonly most: number
  readonly clock: () => Date
}

const day = 86_400_000
const standardLife = 90 * day
const longestLife = 3653 * day
const longestPath = 2000

export function createShareLinks({ db, externalUrl, most, clock }: ShareLinkDeps) {
  const base = withoutEnd(externalUrl, '/')

  /**
   * One slash, then characters that browsers do not change: with two slashes, or a backslash, it would be the name of another host.
   * @throws {AppError} `ShareLinkPathInvalid`
   */
  function assertPath(path: string): void {
    const readable = path.length <= longestPath && /^\/(?!\/)[\x21-\x7e]*$/.test(path) && !/[\\"<>^`{|}]/.test(path)
    if (!readable || URL.parse(base + path)?.origin !== new URL(base).origin) {
      throw new AppError('ShareLinkPathInvalid', { path: 'path', value: path.slice(0, 200) })
    }
  }

  /** @throws {AppError} `ShareLinkExpirationDateInPast` */
  function endOf(sent: string | null | undefined): Date {
    const now = clock().getTime()
    if (sent === undefined || sent === null) return new Date(now + standardLife)
    const end = new Date(sent)
    if (!/^\d{4}-\d\d-\d\dT/i.test(sent) || !beginsWithDay(sent) || Number.isNaN(end.getTime())) {
      throw badRequest('expires_at must be a date-time', { path: 'expires_at', value: sent.slice(0, 100) })
    }
    if (end.getTime() <= now) throw new AppError('ShareLinkExpirationDateInPast', { path: 'expires_at', value: sent })
    if (end.getTime() > now + longestLife)
      throw badRequest('expires_at is more than ten years away', { path: 'expires_at', value: sent })
    return end
  }

  return {
    /**
     * Creates a link. @throws {AppError} `ShareLinkPathInvalid`, `ShareLinkAliasInvalid`, `ShareLinkExpirationDateInPast`,
     * `ShareLinkAlreadyExists`, `QuotaExceeded`, `InsufficientRights` for guests
     */
    async create(actor: Actor, { path, alias: sent, expires_at: end }: ShareLinkInput): Promise<ShareLinkOutput> {
      assertPath(path)
      const alias = sent || null
      assertAlias(alias)
      const expiresAt = endOf(end)
      return db.transaction(async (tx) => {
        if (!(await store.isPerson(tx, actor.userId)))
          throw new AppError('InsufficientRights', {}, { message: 'Guests make no links.' })
        await store.lockLinksOf(tx, actor.userId)
        await store.forgetEnded(tx, alias === null ? [] : [alias])
        const { count, seconds } = await store.countOf(tx, actor.userId)
        if (count >= most) throw quotaExceeded('svc.quotas.shareLinks', most, seconds)
        const made = await store.insertLink(tx, actor.userId, { id: newId(), alias, path, expiresAt })
        if (!made) throw new AppError('ShareLinkAlreadyExists', { path: 'alias', alias })
        return render(made)
      })
    },

    /** The caller's own links, oldest first. */
    async list(actor: Actor, { limit = 1000, offset = 0 }: { limit?: number; offset?: number }) {
      return (await store.linksOf(db, actor.userId, { limit, offset })).map(render)
    },

    /** Deletes a link of the caller; root may delete any. @throws {AppError} `ShareLinkInvalid` */
    async remove(actor: Actor, name: string): Promise<void> {
      if (!(await store.deleteLink(db, name, actor.isRoot ? null : actor.userId))) throw invalid(name)
    },

    /** The complete target address of a link. @throws {AppError} `ShareLinkInvalid`, also when it has ended */
    async target(name: string): Promise<string> {
      const link = await store.findLink(db, name)
      if (!link) throw invalid(name)
      return base + link.path
    },
  }
}

function assertAlias(alias: string | null): void {
  if (alias === null) return
  if (alias.length >= 3 && alias.length <= 100 && /^[a-z0-9][a-z0-9\-_~.]*[a-z0-9]$/i.test(alias)) return
  throw new AppError('ShareLinkAliasInvalid', { path: 'alias', value: alias.slice(0, 200) })
}

function invalid(name: string): AppError {
  return new AppError('ShareLinkInvalid', { id: name.slice(0, 100) })
}

/** Too long to be guessed. */
function newId(): string {
  return randomBytes(24).toString('base64').replaceAll(/[+/=]/g, '').slice(0, 16)
}

function render({ id, alias, path, createdAt, expiresAt }: store.ShareLink): ShareLinkOutput {
  return {
    share_id: id,
    path,
    ...(alias === null ? {} : { alias }),
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}
