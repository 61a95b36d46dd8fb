import { randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { BaseConfig, BaseConfigService } from '../../config/service.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Form } from '../../platform/http/form.ts'
import type { OutgoingLimits } from '../../platform/outgoing/limits.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { html } from '../../platform/values/html.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import { authorizeAddress, type LoginFlows } from '../flows/flows.ts'
import type { Login, NewLogin } from '../flows/login.ts'
import type { LoginPart } from '../flows/part.ts'
import type { Visit } from '../pages/service.ts'
import type { Sessions } from '../sessions/service.ts'
import { newToken, tokenHash } from '../sessions/token.ts'
import { type KnownCertificate, samlCertificates } from './certificates.ts'
import { reasonOf } from './known-providers.ts'
import { createSteps, DirectoryRefusal, DirectoryUnavailable, type RefusalReason, type Steps } from './model.ts'
import { createOpenId, type OpenIdChallenge } from './openid/service.ts'
import { hintProvider, takeProviderHint } from './provider-hint.ts'
import { createSaml, type SamlProvider, type SamlSession, samlSessionOf } from './saml/service.ts'
import { createSamlSignOut } from './saml/sign-out.ts'
import { useAssertion } from './saml/store.ts'
import type { Directories } from './service.ts'
import { type DirectorySession, directorySessionOf, keepDirectorySession } from './sessions.ts'

/** The address to which providers send browsers back. */
export const openidCallback = '/api/openid/callback'

/** The address at which the browser proves that it is the one that brought the assertion. */
export const samlContinue = '/api/saml/continue'

/** The name of its step in the sign-in in progress. */
const stepName = 'directory'

/** The data of the sign-in while its user is at the provider. */
interface Note {
  readonly provider: string
  readonly challenge: OpenIdChallenge
  /** Set after the user has come back. */
  readonly session?: string
}

/** The same for SAML. */
interface SamlNote {
  readonly provider: string
  /** Id of the request that the assertion must answer. */
  readonly request: string
  /** Set after an assertion has arrived; sha256 of the secret that was given to the browser that brought it. */
  readonly proved?: { readonly userId: number; readonly secretHash: string; readonly session: SamlSession }
  /** Set after the browser has proved its identity. */
  readonly session?: string
}

export interface ProviderName {
  readonly kind: 'openid' | 'saml'
  readonly name: string
}

/** A button of the sign-in page. */
export interface ProviderOffer extends ProviderName {
  readonly label: BaseConfig['openid_connect']['providers'][number]['loginlink']
}

type SamlOffer = SamlProvider & { readonly loginlink: ProviderOffer['label']; readonly valid_hours: number }

export interface SingleSignOnDependencies {
  db: Db
  seal: Pick<Seal, 'seal' | 'open'>
  baseConfig: BaseConfigService
  directories: Directories
  sessions: Pick<Sessions, 'endSessions'>
  externalUrl: string
  /** The path under which a proxy serves the service. */
  basePath: string
  /** Limits for answers of other servers. */
  limits: OutgoingLimits
}

/** The purpose under which tokens of providers are sealed, which sign-out sends back to the provider. */
const aboutToken = 'id token of a provider'

export type SingleSignOn = ReturnType<typeof createSingleSignOn>

/** Sign-ins by redirect to another server and back: the browser leaves with the id of its sign-in as `state`. */
export function createSingleSignOn(given: SingleSignOnDependencies) {
  const { db, seal, baseConfig, directories, sessions, externalUrl, basePath, limits } = given
  const openid = createOpenId({ redirectUri: withoutEnd(externalUrl, '/') + openidCallback, limits })

  const saml = createSaml({ base: withoutEnd(externalUrl, '/'), limits })

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
      const speaker = { kind: 'openid', provider: provider.name, name: null } as const
      const userId = await directories.people.accept(speaker, provider, proof.person, steps)
      await directories.log('OPENID', steps, provider.debug, null)
      const { subject, idToken } = proof
      const sealed = await seal.seal(Buffer.from(idToken), aboutToken)
      const details = { idToken: sealed.toString('base64url'), idp: provider.issuer }
      const kept: DirectorySession = { kind: 'openid', provider: provider.name, userId, subject, details }
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

  /** Shows the problem with a link to the sign-in page: the redirect to the provider could be used only once. */
  function refused(visit: Visit, login: Login, reason: RefusalReason | null): FastifyReply {
    const { text } = visit
    const address = basePath + authorizeAddress(login, { auth_method: 'native' })
    const content = html`<p class="more"><a href="${address}">${text('login.startAgain')}</a></p>`
    const problem = text(reason === null ? 'login.providerDown' : `login.refused.${reason}`)
    return visit.send({ title: text('login.title'), content, problem, status: reason === null ? 503 : 403 })
  }

  /**
   * An assertion, brought by a form of the provider. The browser sends no cookie with it, so it does not sign in yet: the browser
   * gets a secret, and is redirected to an address where it shows cookie and secret. An attacker who makes another person's browser
   * bring an assertion for the attacker's sign-in has the cookie, but not the secret.
   */
  async function takeAssertion(visit: Visit, form: Form, flows: LoginFlows): Promise<FastifyReply> {
    const login = await flows.findForMessage(form.get('RelayState')).catch((error: unknown) => {
      const open = error instanceof AppError && samlProviders().some(({ idp_initiated }) => idp_initiated !== '')
      if (open) return null
      throw error
    })
    if (login === null) return begunThere(visit, form)
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
      const speaker = { kind: 'saml', provider: provider.name, name: null } as const
      const userId = await directories.people.accept(speaker, provider, proof.person, steps)
      await directories.log('SAML', steps, config.debug, null)
      const secret = newToken()
      const { session } = proof
      const proved = { userId, secretHash: tokenHash(secret).toString('base64url'), session }
      await flows.note(login, stepName, { ...note, proved } satisfies SamlNote)
      const address = `${basePath}${samlContinue}?${new URLSearchParams({ flow: login.id, proof: secret })}`
      return visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
    } catch (error) {
      if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
      await directories.log('SAML', steps, config.debug, error.message)
      return refused(visit, login, error instanceof DirectoryRefusal ? error.reason : null)
    }
  }

  /**
   * An assertion without a request: a person has begun at the provider. It signs nobody in, since an attacker could make a browser
   * bring the attacker's assertion. The browser is redirected to the configured address; the sign-in that begins there is
   * redirected to the provider automatically, and requests an assertion.
   */
  async function begunThere(visit: Visit, form: Form): Promise<FastifyReply> {
    const config = baseConfig.get().saml
    const steps = createSteps()
    const encoded = form.get('SAMLResponse') ?? ''
    try {
      const issuer = await issuerOf(() =>
        saml.reader('issuer', { xml: Buffer.from(encoded, 'base64').toString('utf8') }),
      )
      const provider = await providerOfIssuer(issuer)
      if (!provider || provider.idp_initiated === '')
        throw new DirectoryRefusal('unproved', 'The sign-in was not begun here.')
      steps.note(`${provider.name} has sent somebody`)
      const proof = await saml.finish(config, provider, encoded, null, steps)
      if (!(await useAssertion(db, proof.assertionId, proof.expiresAt))) {
        throw new DirectoryRefusal('unproved', 'The assertion was used before.')
      }
      await directories.log('SAML', steps, config.debug, null)
      hintProvider(visit.reply, provider.name)
      return visit.reply.header('Cache-Control', 'no-store').redirect(provider.idp_initiated, 303)
    } catch (error) {
      if (!(error instanceof DirectoryRefusal || error instanceof DirectoryUnavailable)) throw error
      await directories.log('SAML', steps, config.debug, error.message)
      throw new AppError('PageExpired', { what: 'login' }, { cause: error })
    }
  }

  async function providerOfIssuer(issuer: string): Promise<SamlOffer | null> {
    for (const provider of samlProviders()) {
      const known = await saml.identityOf(provider).catch((error: unknown) => {
        if (error instanceof DirectoryUnavailable) return null
        throw error
      })
      if (known?.entityId === issuer) return provider
    }
    return null
  }

  /** The browser that brought the assertion sends its cookie. */
  async function goOn(visit: Visit, query: Form, flows: LoginFlows): Promise<FastifyReply> {
    const login = await flows.find(visit, query.get('flow'), stepName)
    const { proved } = (login.notes[stepName] ?? {}) as Partial<SamlNote>
    const shown = tokenHash(query.get('proof') ?? '')
    if (!proved || login.userId !== null || !timingSafeEqual(Buffer.from(proved.secretHash, 'base64url'), shown)) {
      throw new AppError('PageExpired', { what: 'login' })
    }
    const { userId, session } = proved
    const { provider } = login.notes[stepName] as SamlNote
    const kept: DirectorySession = { kind: 'saml', provider, userId, subject: session.nameId, details: { ...session } }
    const address = await db.transaction(async (tx) => {
      await flows.proved(login, { userId, method: 'saml', login: null }, tx)
      const note = { ...(login.notes[stepName] as SamlNote), session: await keepDirectorySession(tx, kept) }
      await flows.note(login, stepName, note, tx)
      return flows.passed(login, stepName, tx)
    })
    return visit.reply.header('Cache-Control', 'no-store').redirect(address, 303)
  }

  /** The target of the browser, with the data to keep for it. */
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

  /** The sign-out address of the provider; null: it has none. @throws {DirectoryUnavailable} */
  async function leaveFor({ kind, provider: name, details }: DirectorySession): Promise<string | null> {
    if (kind === 'openid') {
      const provider = find(name)
      const token = await seal.open(Buffer.from(details.idToken ?? '', 'base64url'), aboutToken)
      return provider && openid.end(provider, token?.toString() ?? null)
    }
    const provider = findSaml(name)
    return provider && saml.leave(baseConfig.get().saml, provider, samlSessionOf(details))
  }

  const offers = (): readonly ProviderOffer[] => [
    ...providers().map(({ name, loginlink }) => ({ kind: 'openid' as const, name, label: loginlink })),
    ...samlProviders().map(({ name, loginlink }) => ({ kind: 'saml' as const, name, label: loginlink })),
  ]

  return {
    /** The active kinds of providers. */
    active: () => ({ openid: providers().length > 0, saml: samlProviders().length > 0 }),

    offers,

    /** Hours for which the statement of a provider is valid; null: the provider no longer exists. */
    validHours: (kind: ProviderName['kind'], name: string): number | null =>
      (kind === 'openid' ? find(name) : findSaml(name))?.valid_hours ?? null,

    /** The provider that a request names, or the only one; null: the page has to ask. */
    chosen(kind: ProviderName['kind'], name: string | undefined): ProviderName | null {
      const all = offers().filter((offer) => offer.kind === kind)
      const [only, second] = name === undefined ? all : all.filter((offer) => offer.name === name)
      return only && !second ? { kind, name: only.name } : null
    },

    /** The provider to which people are redirected before they choose a method; null: the page asks. */
    first(): ProviderName | null {
      const { url, metadata, loginredirect } = baseConfig.get().saml
      return loginredirect && (url !== '' || metadata !== '') ? { kind: 'saml', name: 'saml' } : null
    },

    /** The provider in the browser's hint, which is used once; null: none. */
    hinted({ request, reply }: Pick<Visit, 'request' | 'reply'>): ProviderName | null {
      const name = takeProviderHint(request, reply)
      return name !== null && findSaml(name) ? { kind: 'saml', name } : null
    },

    /** The address at which the user proves their identity. @throws {DirectoryUnavailable} */
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

    /** Metadata for identity providers; null: SAML is off. */
    async samlMetadata(): Promise<string | null> {
      if (samlProviders().length === 0) return null
      return saml.metadata(baseConfig.get().saml).catch((cause: unknown) => {
        if (!(cause instanceof DirectoryUnavailable)) throw cause
        throw new AppError('ServiceUnavailable', {}, { message: cause.message, cause })
      })
    },

    comeBack,

    /** The step stops no sign-in: a user who has not come back has proved nothing, and cannot continue anyway. */
    part: {
      step: { name: stepName, phase: 'proof', page: async () => null },
      pages: () => [],
    } satisfies LoginPart,

    /** The directory session to store with the code of a sign-in. */
    sessionOf: ({ notes }: Pick<Login, 'notes'>): string | null =>
      (notes[stepName] as Note | undefined)?.session ?? null,

    /**
     * The address at which a browser that signs out here signs out at its provider, too; null: none. Called before its sessions
     * end.
     */
    async signOutAddress(browserHashes: readonly Buffer[]): Promise<string | null> {
      const session = await directorySessionOf(db, browserHashes)
      if (!session) return null
      return leaveFor(session).catch((error: unknown) => {
        if (error instanceof DirectoryUnavailable) return null
        throw error
      })
    },

    /**
     * Requests everything from a provider that a sign-in needs. @throws {DirectoryUnavailable} {AppError} when there is no provider
     * of that name
     */
    async check({ kind, name }: ProviderName, steps: Steps): Promise<void> {
      const unknown = () =>
        badRequest(`provider: there is no ${kind} provider ${name}`, { path: 'provider', provider: name })
      if (kind === 'saml') {
        const provider = findSaml(name)
        if (!provider) throw unknown()
        return saml.check(baseConfig.get().saml, provider, steps)
      }
      const provider = find(name)
      if (!provider) throw unknown()
      return openid.check(provider, steps)
    },

    /** Certificates of SAML in the configuration; no server is requested. */
    certificates: (): Promise<readonly KnownCertificate[]> => samlCertificates(baseConfig.get().saml, samlProviders()),

    /** A message of a SAML provider about signing out. */
    takeSignOut: createSamlSignOut({ db, baseConfig, directories, sessions, saml, providers: samlProviders }),
  }
}

/** @throws {DirectoryRefusal} when it cannot be read */
async function issuerOf(read: () => Promise<string>): Promise<string> {
  try {
    return await read()
  } catch (error) {
    throw new DirectoryRefusal('unproved', `The answer of the provider was not accepted: ${reasonOf(error)}`)
  }
}
