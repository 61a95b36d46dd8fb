import type { Logger } from 'pino'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import type { Standstill } from '../../platform/postgres/standstill.ts'
import { redirectUriRule } from '../../platform/values/redirect-uris.ts'
import { emptyTables, isOpen } from './store.ts'

/** A purge resets the whole instance to its initial state. */
export interface PurgeDeps {
  readonly db: Db
  readonly log: Logger
  readonly standstill: Pick<Standstill, 'run' | 'alone'>
  /** Whether the configuration of the process allows it. */
  readonly allowed: boolean
  /** The settings of the base configuration for purging. */
  readonly settings: () => { readonly allow_purge: boolean; readonly purge_storage: boolean }
  readonly externalUrl: string
  readonly rootPassword: {
    hash(password: string): Promise<string>
    requireFreshSignIn(tx: Tx, actor: Actor): Promise<void>
    replaced(): Promise<void>
  }
  readonly jobs: { drop(tx: Tx): Promise<void> }
  readonly datamodel: { clear(tx: Tx): Promise<void> }
}

export interface PurgeRequest {
  /** A new password of root. */
  readonly set_password?: string
  /** The address to which the caller is redirected at once, while the work continues. */
  readonly redirect?: string
}

export const purgeRight: NeededRight = { name: 'system.root' }

/** The lifecycle word of the instance during a purge. */
const word = 'purge'
/** Maximum bytes of a password. */
const longestPassword = 1000

export type PurgeService = ReturnType<typeof createPurgeService>

export function createPurgeService(deps: PurgeDeps) {
  const { db, log, standstill, rootPassword, jobs, datamodel } = deps

  /** @throws {AppError} `PurgeSystemRootOnly`, `PurgeNotAllowed` */
  function assertAllowed(actor: Actor): void {
    requireRight(actor, purgeRight)
    if (actor.reference !== 'system:root') throw new AppError('PurgeSystemRootOnly')
    if (deps.allowed && deps.settings().allow_purge) return
    const setting = deps.allowed ? 'purge.allow_purge' : 'svc.allowPurgeAll'
    throw new AppError('PurgeNotAllowed', { setting }, { message: `${setting} does not allow to purge the instance.` })
  }

  function addressOf(redirect: string): string {
    const address = /^\/(?![/\\])/.test(redirect) ? URL.parse(redirect, deps.externalUrl)?.href : redirect
    const isWeb = address !== undefined && /^https?:/i.test(address) && redirectUriRule(address) === null
    if (!isWeb) throw badRequest('redirect must be an http or https address, or a path here', { name: 'redirect' })
    return address
  }

  async function hashOf(password: string | undefined): Promise<string | null> {
    if (password === undefined) return null
    if (password === '') throw new AppError('NoPassword', { name: 'set_password' })
    if (Buffer.byteLength(password) > longestPassword) {
      throw badRequest(`set_password has at most ${longestPassword} bytes`, { name: 'set_password' })
    }
    return rootPassword.hash(password)
  }

  const empty = (actor: Actor, newHash: string | null): Promise<void> =>
    db.transaction(async (tx) => {
      await standstill.alone(tx)
      if (!(await isOpen(tx, actor.session?.id ?? null))) throw new AppError('InvalidToken')
      if (newHash !== null) await rootPassword.requireFreshSignIn(tx, actor)
      const contentsGo = deps.settings().purge_storage
      await datamodel.clear(tx)
      await emptyTables(tx, { newHash, contentsGo })
      await jobs.drop(tx)
    })

  async function purge(actor: Actor, newHash: string | null): Promise<void> {
    await standstill.run(word, () => empty(actor, newHash))
    if (newHash !== null) await rootPassword.replaced()
    log.warn({ remote_addr: actor.remoteAddr }, 'root has purged the instance')
  }

  return {
    /**
     * Purges the instance; with `redirect` it only begins, and returns the address for the caller.
     * @throws {AppError} `PurgeSystemRootOnly`, `PurgeNotAllowed`, `FreshSignInRequired` with a new password, `DatabaseLockError`
     */
    async purge(actor: Actor, { set_password: password, redirect }: PurgeRequest): Promise<string | null> {
      assertAllowed(actor)
      const address = redirect === undefined ? null : addressOf(redirect)
      const newHash = await hashOf(password)
      if (newHash !== null) await db.transaction((tx) => rootPassword.requireFreshSignIn(tx, actor))
      if (address === null) {
        await purge(actor, newHash)
        return null
      }
      outsideDeadlines(() => purge(actor, newHash)).catch((error: unknown) => {
        log.error({ err: error }, 'the instance could not be purged')
      })
      return address
    },
  }
}
