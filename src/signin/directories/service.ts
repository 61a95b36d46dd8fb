/**
 * Sign-in with an external account. Each kind of directory has a folder; the common part, from the attributes of a person to a user
 * with groups, is here and in `people.ts`.
 */

import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Principals } from '../../people/service.ts'
import { outsideDeadlines } from '../../platform/limits/deadline.ts'
import type { OutgoingLimits } from '../../platform/outgoing/limits.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Sessions } from '../sessions/service.ts'
import { isPlainLogin } from './ldap/filter.ts'
import { createLdap } from './ldap/service.ts'
import { createSteps, DirectoryRefusal, DirectoryUnavailable, type RefusalReason, type Steps } from './model.ts'
import { createPeople } from './people.ts'
import type { DirectoryStatus } from './status-store.ts'

export interface DirectoryDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  sessions: Sessions
  principals: Principals
  limits: OutgoingLimits
  clock: () => Date
}

/** The answer of a directory to a login and a password. */
export type DirectoryAnswer =
  | { readonly kind: 'user'; readonly userId: number }
  /** The user whose password was checked; 0: none. */
  | { readonly kind: 'nobody'; readonly userId: number }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'unavailable' }

/** Events that report the steps of an attempt. */
const logTypes = {
  LDAP: { debug: 'LDAP_DEBUG', error: 'LDAP_ERROR' },
  SAML: { debug: 'SAML_DEBUG', error: 'SAML_ERROR' },
  OPENID: { debug: 'OPENID_DEBUG', error: 'OPENID_ERROR' },
} as const
type LoggedKind = keyof typeof logTypes

export type Directories = ReturnType<typeof createDirectories>

export function createDirectories(given: DirectoryDependencies) {
  const { db, events, baseConfig, sessions, principals, limits, clock } = given
  const people = createPeople({ db, events, sessions, principals, clock })
  const ldap = createLdap(limits)

  /** Faults are always reported to administrators, other steps only if they have switched that on. */
  async function log(kind: LoggedKind, steps: Steps, debug: boolean, fault: string | null): Promise<void> {
    if (fault !== null) steps.note(fault)
    if (fault === null && !debug) return
    const type = logTypes[kind][fault === null ? 'debug' : 'error']
    await outsideDeadlines(() => events.append(db, [{ type, actor: null, info: { log: steps.all } }]))
  }

  return {
    people,
    log,

    /** Whether users of LDAP can sign in with their password. */
    asksForPasswords: (): boolean => baseConfig.get().ldap.connections.length > 0,

    /**
     * The user of these credentials in the directory; created or updated. `found` is called with the entry, or with a substitute
     * when there is none, before the password is tried; an error in it ends the attempt.
     */
    async verify(login: string, password: string, found: (entry: string) => Promise<void>): Promise<DirectoryAnswer> {
      const config = baseConfig.get().ldap
      const steps = createSteps()
      // A name of another form finds no entry, and may be one that cannot be stored.
      const speaker = { kind: 'ldap', provider: '', name: isPlainLogin(login) ? login : null } as const
      try {
        const { person, proved } = await ldap.find(config, login, password, steps, found)
        const userId =
          proved && person
            ? await people.accept(speaker, config, person, steps)
            : await people.rehearse(speaker, config, person)
        await log('LDAP', steps, config.debug, null)
        return { kind: proved ? 'user' : 'nobody', userId }
      } catch (error) {
        if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
        await log('LDAP', steps, config.debug, error.message)
        return error instanceof DirectoryRefusal ? { kind: 'refused', reason: error.reason } : { kind: 'unavailable' }
      }
    },

    /** Whether LDAP still has a user under a name, and lets them in; takes over its data. Needs no password. */
    async stillHas(userId: number, name: string): Promise<DirectoryStatus> {
      const config = baseConfig.get().ldap
      const steps = createSteps()
      steps.note(`is user ${userId} still there?`)
      try {
        const person = await ldap.check(config, name, steps)
        const speaker = { kind: 'ldap', provider: '', name } as const
        const there = person !== null && (await people.confirm(userId, speaker, config, person, steps))
        if (!there) steps.note('the directory no longer has them')
        await log('LDAP', steps, config.debug, null)
        return there ? 'there' : 'gone'
      } catch (error) {
        if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
        await log('LDAP', steps, config.debug, error.message)
        return error instanceof DirectoryRefusal ? 'refused' : 'unavailable'
      }
    },
  }
}
