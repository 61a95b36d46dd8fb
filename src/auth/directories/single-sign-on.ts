import type { FastifyReply } from 'fastify'
import { html } from 'ghtml'
import type { BaseConfig, BaseConfigService } from '../../config/service.ts'
import type { Db } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Form } from '../oauth/form.ts'
import { authorizeAddress, type LoginFlows } from '../oauth/login/flows.ts'
import type { Login, NewLogin } from '../oauth/login/login.ts'
import type { LoginPart } from '../oauth/login/part.ts'
import type { Visit } from '../pages/service.ts'
import { createSteps, DirectoryRefusal, DirectoryUnavailable, type RefusalReason } from './model.ts'
import { createOpenId, type OpenIdChallenge } from './openid/service.ts'
import type { Directories } from './service.ts'
import { type DirectorySession, directorySessionOf, keepDirectorySession } from './sessions.ts'

/** Where providers send browsers back to. */
export const openidCallback = '/api/openid/callback'

/** Its row of the sign-in in progress, and the name of its step. */
const stepName = 'directory'

/** What the sign-in keeps while its user is somewhere else. */
interface Note {
  readonly provider: string
  readonly challenge: OpenIdChallenge
  /** Of those who have come back. */
  readonly session?: string
}

/** A button of the sign-in page. */
export interface ProviderOffer {
  readonly name: string
  readonly label: BaseConfig['openid_connect']['providers'][number]['loginlink']
}

export interface SingleSignOnDependencies {
  db: Db
  baseConfig: BaseConfigService
  directories: Directories
  externalUrl: string
  /** Where a proxy has put the service. */
  basePath: string
}

export type SingleSignOn = ReturnType<typeof createSingleSignOn>

/** Sign-ins that go to another server and come back: the browser leaves with the id of its sign-in as `state`. */
export function createSingleSignOn(given: SingleSignOnDependencies) {
  const { db, baseConfig, directories, externalUrl, basePath } = given
  const openid = createOpenId({ redirectUri: externalUrl.replace(/\/+$/, '') + openidCallback })

  const providers = () => baseConfig.get().openid_connect.providers
  const find = (name: string | undefined) => providers().find((provider) => provider.name === name) ?? null

  async function comeBack(visit: Visit, query: Form, search: string, flows: LoginFlows): Promise<FastifyReply> {
    const login = await flows.find(visit, query.get('state'), stepName)
    const note = login.notes[stepName] as Note | undefined
    const provider = find(note?.provider)
    if (!note || !provider || login.userId !== null) throw new AppError('PageExpired', { what: 'login' })
    const steps = createSteps()
    steps.note(`back from ${provider.name}`)
    try {
      const proof = await openid.finish(provider, search, login.id, note.challenge, steps)
      const userId = await directories.people.accept('sso', provider, proof.person, steps)
      await directories.log('OPENID', steps, provider.debug, null)
      const { subject, idToken } = proof
      const kept: DirectorySession = { kind: 'openid', provider: provider.name, userId, subject, details: { idToken } }
      const address = await db.transaction(async (tx) => {
        await flows.proved(login, { userId, method: 'openid', login: null }, tx)
        await flows.note(login, stepName, { ...note, session: await keepDirectorySession(tx, kept) }, tx)
        return flows.passed(login, stepName, tx)
      })
      return visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
    } catch (error) {
      if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
      await directories.log('OPENID', steps, provider.debug, error.message)
      await flows.end(db, login)
      return refused(visit, login, error instanceof DirectoryRefusal ? error.reason : null)
    }
  }

  /** Says what is wrong and leads back to the sign-in page: the way to the provider was of use once. */
  function refused(visit: Visit, login: Login, reason: RefusalReason | null): FastifyReply {
    const { text } = visit
    const address = basePath + authorizeAddress(login, { auth_method: 'native' })
    const content = html`<p class="more"><a href="${address}">${text('login.startAgain')}</a></p>`
    const problem = text(reason === null ? 'login.providerDown' : `login.refused.${reason}`)
    return visit.send({ title: text('login.title'), content, problem, status: reason === null ? 503 : 403 })
  }

  return {
    active: (): boolean => providers().length > 0,

    offers: (): readonly ProviderOffer[] => providers().map(({ name, loginlink }) => ({ name, label: loginlink })),

    /** The provider that a request names, or the only one; null: the page has to ask. */
    chosen(name: string | undefined): string | null {
      const all = providers()
      return find(name)?.name ?? (name === undefined && all.length === 1 ? (all[0]?.name ?? null) : null)
    },

    /** Where the browser goes to prove who it is. @throws {DirectoryUnavailable} */
    async begin(name: string, login: NewLogin, flows: LoginFlows): Promise<string> {
      const provider = find(name)
      if (!provider) throw new DirectoryUnavailable('There is no such provider.')
      const begun = await flows.begin(db, login)
      const steps = createSteps()
      try {
        const { address, challenge } = await openid.begin(provider, begun.id)
        await flows.note(begun, stepName, { provider: name, challenge } satisfies Note)
        return address
      } catch (error) {
        if (error instanceof DirectoryUnavailable) await directories.log('OPENID', steps, provider.debug, error.message)
        throw error
      }
    },

    comeBack,

    /** Nobody is kept by it: whoever has not come back has proved nothing, and cannot go on. */
    part: {
      step: { name: stepName, phase: 'proof', page: async () => null },
      pages: () => [],
    } satisfies LoginPart,

    /** What the code of a sign-in is to be remembered by. */
    sessionOf: ({ notes }: Pick<Login, 'notes'>): string | null =>
      (notes[stepName] as Note | undefined)?.session ?? null,

    /** Where a browser that signs out here signs out at its provider, too; null: nowhere. Asked before its sessions end. */
    async signOutAddress(browserHashes: readonly Buffer[]): Promise<string | null> {
      const session = await directorySessionOf(db, browserHashes)
      const provider = find(session?.provider)
      if (!session || !provider) return null
      return openid.end(provider, session.details.idToken ?? '').catch((error: unknown) => {
        if (error instanceof DirectoryUnavailable) return null
        throw error
      })
    },

    /** For administrators: whether a provider answers. @throws {DirectoryUnavailable} */
    reach: openid.reach,
  }
}
