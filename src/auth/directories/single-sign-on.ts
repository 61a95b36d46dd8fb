import { randomUUID, timingSafeEqual } from 'node:crypto'
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
import { newToken, tokenHash } from '../sessions/token.ts'
import { createSteps, DirectoryRefusal, DirectoryUnavailable, type RefusalReason } from './model.ts'
import { createOpenId, type OpenIdChallenge } from './openid/service.ts'
import { createSaml, type SamlProvider } from './saml/service.ts'
import { useAssertion } from './saml/store.ts'
import type { Directories } from './service.ts'
import { type DirectorySession, directorySessionOf, keepDirectorySession } from './sessions.ts'

/** Where providers send browsers back to. */
export const openidCallback = '/api/openid/callback'

/** Where the browser shows that it is the one that brought the assertion. */
export const samlContinue = '/api/saml/continue'

/** Its row of the sign-in in progress, and the name of its step. */
const stepName = 'directory'

/** What the sign-in keeps while its user is somewhere else. */
interface Note {
  readonly provider: string
  readonly challenge: OpenIdChallenge
  /** Of those who have come back. */
  readonly session?: string
}

/** The same with SAML. */
interface SamlNote {
  readonly provider: string
  /** Id of the request that the assertion must answer. */
  readonly request: string
  /** An assertion has come; sha256 of what the browser that brought it was given. */
  readonly proved?: { readonly userId: number; readonly secretHash: string }
}

export interface ProviderName {
  readonly kind: 'openid' | 'saml'
  readonly name: string
}

/** A button of the sign-in page. */
export interface ProviderOffer extends ProviderName {
  readonly label: BaseConfig['openid_connect']['providers'][number]['loginlink']
}

type SamlOffer = SamlProvider & { readonly loginlink: ProviderOffer['label'] }

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

  const saml = createSaml({ base: externalUrl.replace(/\/+$/, '') })

  const providers = () => baseConfig.get().openid_connect.providers
  const find = (name: string | undefined) => providers().find((provider) => provider.name === name) ?? null

  function samlProviders(): SamlOffer[] {
    const config = baseConfig.get().saml
    const first = config.url === '' && config.metadata === '' ? [] : [{ ...config, name: 'saml' }]
    return [...first, ...config.providers]
  }
  const findSaml = (name: string | undefined) => samlProviders().find((provider) => provider.name === name) ?? null

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

  /**
   * An assertion, brought by a form of the provider. The browser sends no cookie with it, so nobody is signed in by it:
   * it is given a secret, and goes on to where it shows both. Whoever makes somebody else's browser bring an assertion for
   * a sign-in of their own has the cookie, but not the secret.
   */
  async function takeAssertion(visit: Visit, form: Form, flows: LoginFlows): Promise<FastifyReply> {
    const login = await flows.findForMessage(form.get('RelayState'))
    const note = login.notes[stepName] as SamlNote | undefined
    const provider = findSaml(note?.provider)
    if (!note?.request || note.proved || !provider || login.userId !== null) {
      throw new AppError('PageExpired', { what: 'login' })
    }
    const config = baseConfig.get().saml
    const steps = createSteps()
    steps.note(`back from ${provider.name}`)
    try {
      const proof = await saml.finish(config, provider, form.get('SAMLResponse') ?? '', note.request, steps)
      if (!(await useAssertion(db, proof.assertionId, proof.expiresAt))) {
        throw new DirectoryRefusal('unproved', 'The assertion was used before.')
      }
      const userId = await directories.people.accept('sso', provider, proof.person, steps)
      await directories.log('SAML', steps, config.debug, null)
      const secret = newToken()
      const proved = { userId, secretHash: tokenHash(secret).toString('base64url') }
      await flows.note(login, stepName, { ...note, proved } satisfies SamlNote)
      const address = `${basePath}${samlContinue}?${new URLSearchParams({ flow: login.id, proof: secret })}`
      return visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
    } catch (error) {
      if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
      await directories.log('SAML', steps, config.debug, error.message)
      return refused(visit, login, error instanceof DirectoryRefusal ? error.reason : null)
    }
  }

  /** The browser that brought the assertion shows its cookie. */
  async function goOn(visit: Visit, query: Form, flows: LoginFlows): Promise<FastifyReply> {
    const login = await flows.find(visit, query.get('flow'), stepName)
    const { proved } = (login.notes[stepName] ?? {}) as Partial<SamlNote>
    const shown = tokenHash(query.get('proof') ?? '')
    if (!proved || login.userId !== null || !timingSafeEqual(Buffer.from(proved.secretHash, 'base64url'), shown)) {
      throw new AppError('PageExpired', { what: 'login' })
    }
    const address = await db.transaction(async (tx) => {
      await flows.proved(login, { userId: proved.userId, method: 'saml', login: null }, tx)
      return flows.passed(login, stepName, tx)
    })
    return visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
  }

  /** Where the browser goes, with what has to be kept of it. */
  async function leave({ kind, name }: ProviderName, id: string): Promise<{ address: string; note: Note | SamlNote }> {
    if (kind === 'saml') {
      const provider = findSaml(name)
      if (!provider) throw new DirectoryUnavailable('There is no such provider.')
      const request = `_${randomUUID()}`
      const address = await saml.begin(baseConfig.get().saml, provider, id, request)
      return { address, note: { provider: name, request } }
    }
    const provider = find(name)
    if (!provider) throw new DirectoryUnavailable('There is no such provider.')
    const { address, challenge } = await openid.begin(provider, id)
    return { address, note: { provider: name, challenge } }
  }

  const offers = (): readonly ProviderOffer[] => [
    ...providers().map(({ name, loginlink }) => ({ kind: 'openid' as const, name, label: loginlink })),
    ...samlProviders().map(({ name, loginlink }) => ({ kind: 'saml' as const, name, label: loginlink })),
  ]

  return {
    /** Which kinds there are. */
    active: () => ({ openid: providers().length > 0, saml: samlProviders().length > 0 }),

    offers,

    /** The provider that a request names, or the only one; null: the page has to ask. */
    chosen(kind: ProviderName['kind'], name: string | undefined): ProviderName | null {
      const all = offers().filter((offer) => offer.kind === kind)
      const [only, second] = name === undefined ? all : all.filter((offer) => offer.name === name)
      return only && !second ? { kind, name: only.name } : null
    },

    /** Where the browser goes to prove who it is. @throws {DirectoryUnavailable} */
    async begin(provider: ProviderName, login: NewLogin, flows: LoginFlows): Promise<string> {
      const begun = await flows.begin(db, login)
      try {
        const { address, note } = await leave(provider, begun.id)
        await flows.note(begun, stepName, note)
        return address
      } catch (error) {
        if (!(error instanceof DirectoryUnavailable)) throw error
        await directories.log(provider.kind === 'saml' ? 'SAML' : 'OPENID', createSteps(), false, error.message)
        throw error
      }
    },

    takeAssertion,
    goOn,

    /** What identity providers want to know; null: SAML is off. */
    async samlMetadata(): Promise<string | null> {
      if (samlProviders().length === 0) return null
      return saml.metadata(baseConfig.get().saml).catch((cause: unknown) => {
        if (!(cause instanceof DirectoryUnavailable)) throw cause
        throw new AppError('ServiceUnavailable', {}, { message: cause.message, cause })
      })
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
  }
}
