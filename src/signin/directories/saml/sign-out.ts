import type { FastifyReply } from 'fastify'
import type { BaseConfigService } from '../../../config/service.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Db } from '../../../platform/postgres/db.ts'
import { html } from '../../../platform/values/html.ts'
import type { Visit } from '../../pages/service.ts'
import type { Sessions } from '../../sessions/service.ts'
import { reasonOf } from '../known-providers.ts'
import { createSteps, DirectoryUnavailable } from '../model.ts'
import type { Directories } from '../service.ts'
import { takeDirectorySessions } from '../sessions.ts'
import type { SignOutMessage } from './metadata.ts'
import { readRedirectMessage } from './redirect-message.ts'
import type { Saml, SamlProvider } from './service.ts'
import { useAssertion } from './store.ts'

/** Milliseconds by which clocks may differ; milliseconds for which a request without an end is valid. */
const [skew, lifetime] = [60_000, 5 * 60_000]

export interface SamlSignOutDependencies {
  db: Db
  baseConfig: BaseConfigService
  directories: Pick<Directories, 'log'>
  sessions: Pick<Sessions, 'endSessions'>
  saml: Saml
  providers: () => readonly SamlProvider[]
}

/**
 * Single logout (SAML profiles, 4.4), by HTTP-Redirect: a provider signs a person out here, or confirms a sign-out that we have
 * requested. Unsigned messages are ignored, and so are repeated requests.
 */
export function createSamlSignOut({ db, baseConfig, directories, sessions, saml, providers }: SamlSignOutDependencies) {
  async function providerOf(
    issuer: string,
  ): Promise<{ provider: SamlProvider; certificates: readonly string[] } | null> {
    for (const provider of providers()) {
      // A provider that cannot be reached now may not be the one that is looked for.
      const known = await saml.identityOf(provider).catch((error: unknown) => {
        if (error instanceof DirectoryUnavailable) return null
        throw error
      })
      if (known?.entityId === issuer) return { provider, certificates: known.certificates }
    }
    return null
  }

  /** @throws {Error} with the reason */
  async function read(search: string) {
    const message = await readRedirectMessage(search)
    const said = await saml.reader('signOut', { xml: message.xml })
    const known = await providerOf(said.issuer)
    if (!known) throw new Error('the message is of no provider that is configured')
    if (!message.isSignedBy(known.certificates)) throw new Error('the message is not signed by its provider')
    if (said.destination !== saml.signOutUrl) throw new Error('the message is for another address')
    return { said, provider: known.provider, relayState: message.relayState }
  }

  async function signOut({ said, provider }: { said: SignOutMessage; provider: SamlProvider }, remoteAddr: string) {
    const end = said.validTo ?? new Date(said.issuedAt.getTime() + lifetime)
    const now = Date.now()
    if (end.getTime() + skew <= now || said.issuedAt.getTime() - skew > now) throw new Error('the request is too old')
    if (said.nameId === '') throw new Error('the request does not say who it is about')
    const until = new Date(Math.min(end.getTime(), now + 24 * 3_600_000) + 2 * skew)
    if (!(await useAssertion(db, `logout ${said.issuer} ${said.id}`, until)))
      throw new Error('the request was used before')
    return db.transaction(async (tx) => {
      const about = { provider: provider.name, subject: said.nameId, indexes: said.sessionIndexes }
      const ended = await takeDirectorySessions(tx, about)
      await sessions.endSessions(tx, ended, remoteAddr, 'signed_out')
      return ended.length
    })
  }

  function signedOut(visit: Visit): FastifyReply {
    const { text } = visit
    return visit.send({ title: text('signedOut.title'), content: html`<p>${text('signedOut.text')}</p>` })
  }

  /** A message that a browser brings. @throws {AppError} `ServerGeneric` for the person at the browser, when it is not valid */
  return async function take(visit: Visit, search: string): Promise<FastifyReply> {
    const config = baseConfig.get().saml
    if (providers().length === 0 || !saml.signsOut(config)) {
      throw new AppError('ResourceNotFound', {}, { message: 'Signing out by SAML is not configured.' })
    }
    const steps = createSteps()
    try {
      const message = await read(search)
      steps.note(`${message.provider.name} has sent a ${message.said.kind} to sign out`)
      if (message.said.kind === 'response') {
        if (!message.said.success) steps.note('the provider could not sign out everywhere')
        await directories.log('SAML', steps, config.debug, null)
        return signedOut(visit)
      }
      const ended = await signOut(message, visit.request.ip)
      steps.note(`sessions that have ended: ${ended}`)
      await directories.log('SAML', steps, config.debug, null)
      const address = await saml.answer(config, message.provider, message.said.id, message.relayState)
      return address === null
        ? signedOut(visit)
        : visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
    } catch (error) {
      if (error instanceof AppError || !(error instanceof Error)) throw error
      await directories.log('SAML', steps, config.debug, `The message to sign out was not accepted: ${reasonOf(error)}`)
      const message = 'The message of the identity provider was not accepted.'
      throw new AppError('ServerGeneric', {}, { message, cause: error })
    }
  }
}
