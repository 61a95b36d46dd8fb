import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import { requireRight } from '../../platform/http/system-right.ts'
import type { OutgoingLimits } from '../../platform/outgoing/limits.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Throttle } from '../throttle.ts'
import { createLdap } from './ldap/service.ts'
import { createSteps, DirectoryRefusal, DirectoryUnavailable, type Person } from './model.ts'
import type { DirectoryPeople } from './people.ts'
import type { SingleSignOn } from './single-sign-on.ts'

/** The right to see the data of directories about people. */
export const checkDirectories = { name: 'system.config' } as const

export interface DirectoryCheckRequest {
  readonly kind: 'ldap' | 'openid' | 'saml'
  /** The name of the provider; default: the only or first one. */
  readonly provider?: string | undefined
  /** LDAP: the login of the entry to find. */
  readonly login?: string | undefined
  /** LDAP: checked together with the login. */
  readonly password?: string | undefined
}

/** The steps, and the user that would result. */
export interface DirectoryCheck {
  readonly ok: boolean
  readonly steps: string[]
  readonly user?: Awaited<ReturnType<DirectoryPeople['preview']>>
}

export interface DirectoryCheckDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  people: DirectoryPeople
  singleSignOn: Pick<SingleSignOn, 'check' | 'offers'>
  throttle: Throttle
  limits: OutgoingLimits
}

const logTypes = { ldap: 'LDAP_DEBUG', openid: 'OPENID_DEBUG', saml: 'SAML_DEBUG' } as const

/** Tries a directory for an administrator, as it is configured, and reports each step. Nothing is changed. */
export function createDirectoryCheck(deps: DirectoryCheckDependencies) {
  const { db, events, baseConfig, people, singleSignOn, throttle, limits } = deps
  const ldap = createLdap(limits)

  return async function check(actor: Actor, request: DirectoryCheckRequest): Promise<DirectoryCheck> {
    requireRight(actor, checkDirectories)
    const { kind, provider, login, password } = request
    const steps = createSteps()
    const run = kind === 'ldap' ? () => ofLdap(login, password) : () => ofProvider(kind, provider)
    let result: Omit<DirectoryCheck, 'steps'>
    try {
      result = await run()
    } catch (error) {
      if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
      steps.note(error.message)
      result = { ok: false }
    }
    const info = { log: steps.all, test: true }
    await events.append(db, [{ type: logTypes[kind], actor, info }])
    return { ...result, steps: [...steps.all] }

    async function ofLdap(
      name: string | undefined,
      secret: string | undefined,
    ): Promise<Omit<DirectoryCheck, 'steps'>> {
      const config = baseConfig.get().ldap
      if (provider !== undefined) throw badRequest('provider: LDAP has none', { path: 'provider' })
      if (secret !== undefined && name === undefined) {
        throw badRequest('login is missing: whose password is it?', { path: 'login' })
      }
      if (config.connections.length === 0) throw new DirectoryUnavailable('LDAP is not configured.')
      if (secret === undefined) {
        const person = await ldap.check(config, name ?? null, steps)
        if (name === undefined) steps.note('the directory answers')
        return { ok: name === undefined || person !== null, ...(await shown(config, person)) }
      }
      // Attempts with passwords are slowed down here as everywhere.
      const open = await throttle.openForUser(db, actor.userId)
      const { person, proved } = await ldap.find(config, name ?? '', secret, steps, async () => {})
      if (!proved) {
        await throttle.failed(db, open)
        return { ok: false }
      }
      await throttle.cleared(db, open)
      return { ok: true, ...(await shown(config, person)) }
    }

    async function shown(config: Parameters<DirectoryPeople['preview']>[1], person: Person | null) {
      return person === null ? {} : { user: await people.preview('ldap', config, person) }
    }

    async function ofProvider(of: 'openid' | 'saml', name: string | undefined): Promise<Omit<DirectoryCheck, 'steps'>> {
      if (login !== undefined || password !== undefined) {
        throw badRequest(`login and password are asked for by the provider: leave them out`, { path: 'login' })
      }
      const chosen = name ?? singleSignOn.offers().find((offer) => offer.kind === of)?.name
      if (chosen === undefined) throw new DirectoryUnavailable('No provider is configured.')
      await singleSignOn.check({ kind: of, name: chosen }, steps)
      return { ok: true }
    }
  }
}
