import type { FastifyReply } from 'fastify'
import type { BaseConfig } from '../../config/service.ts'
import { type Html, html, joined, nothing } from '../../platform/values/html.ts'
import { button, checkbox, field, type PasswordMethod, type ProviderOffer, type Visit } from '../../signin/service.ts'
import type { AuthorizeRequest } from './request.ts'

/** Pages for people who cannot sign in yet. */
export interface LoginOffers {
  readonly forgotPassword: boolean
  readonly register: boolean
}

export interface LoginPage {
  readonly offers: LoginOffers
  /** Whether passkeys sign in. */
  readonly passkeys: boolean
  /** Other servers that can identify the user. */
  readonly providers: readonly ProviderOffer[]
  /** The path under which a proxy serves the service. */
  readonly basePath: string
  readonly asked: AuthorizeRequest
  /** The methods to check the password. */
  readonly methods: readonly PasswordMethod[]
  readonly config: BaseConfig
  /** The typed login, never the password. */
  readonly login?: string | undefined
  readonly keep?: boolean
  readonly problem?: string | null
  /** The problem is in a typed value. */
  readonly invalid?: boolean
  readonly status?: number
}

/** The form with the methods that are on. Its hidden fields contain the request of the client, which is sent back with it. */
export function sendLoginPage(visit: Visit, page: LoginPage): FastifyReply {
  const { asked, config, login = '', keep = false, problem = null, invalid = false, status = 200 } = page
  const { text, localized } = visit
  const { label, placeholder, info } = config.login
  const told = localized(info)
  const preferred = config.saml.loginpreferred ? providerLinks(visit, page, isFirst) : []
  const own = localized(config.saml.loginlink_internal)
  const content = html`${told ? html`<p>${told}</p>` : ''}${preferred}${preferred.length > 0 ? html`<p class="or">${text('login.or')}</p>` : ''}${own ? html`<h2>${own}</h2>` : ''}${visit.form(
    '/api/oauth2/auth',
    joined([
      field({
        name: 'login',
        label: localized(label) || text('login.login'),
        value: login,
        autocomplete: 'username',
        placeholder: localized(placeholder),
        invalid,
        autofocus: login === '',
      }),
      field({
        name: 'password',
        type: 'password',
        label: text('login.password'),
        autocomplete: 'current-password',
        maxLength: 1000,
        invalid,
        autofocus: login !== '',
      }),
      keepBox(visit, page, keep),
      button(text('login.submit')),
    ]),
    { ...requestFields(asked), auth_method: page.methods.join(',') },
  )}${otherWays(visit, page)}${offersOf(visit, page)}`
  return visit.send({ title: text('login.title'), content, problem, status, formTargets: [asked.destination.uri] })
}

/** The provider in the section `saml` itself. */
const isFirst = ({ kind, name }: ProviderOffer): boolean => kind === 'saml' && name === 'saml'

/** Links and not forms, since the policy of the page lets no form lead to another server. */
function providerLinks(
  { localized }: Visit,
  { asked, providers, basePath }: LoginPage,
  shown: (offer: ProviderOffer) => boolean,
): Html[] {
  return providers.filter(shown).map(({ kind, name, label }) => {
    const fields = Object.entries({ ...requestFields(asked), auth_method: kind, provider: name })
    const query = new URLSearchParams(fields.filter((one): one is [string, string] => Boolean(one[1])))
    return html`<p class="way"><a class="button second" href="${basePath}/api/oauth2/auth?${query.toString()}">${localized(label) || name}</a></p>`
  })
}

/** Methods that need no password. */
function otherWays(visit: Visit, page: LoginPage): Html {
  const { text, form } = visit
  const { asked, config, passkeys } = page
  const way = (method: string, label: string): Html =>
    form('/api/oauth2/auth', button(label, { second: true }), { ...requestFields(asked), auth_method: method })
  const links = providerLinks(visit, page, (offer) => !(config.saml.loginpreferred && isFirst(offer)))
  const ways = [
    ...links,
    ...(passkeys ? [way('passkey', text('passkey.signIn'))] : []),
    ...(config.login.guest && !asked.managed ? [way('anonymous', text('login.guest'))] : []),
  ]
  return ways.length === 0 ? nothing : html`<p class="or">${text('login.or')}</p>${ways}`
}

function offersOf({ text }: Visit, { offers, basePath }: LoginPage): Html {
  const link = (name: string, label: string): Html =>
    html`<p class="more"><a href="${basePath}/api/page/${name}">${label}</a></p>`
  return joined([
    offers.forgotPassword ? link('forgotPassword', text('login.forgot')) : nothing,
    offers.register ? link('register', text('login.register')) : nothing,
  ])
}

function keepBox({ text }: Visit, { config }: LoginPage, checked: boolean): Html {
  const { keep_login: span } = config.login
  if (span === 'off') return nothing
  return checkbox('keep_login', text('login.keep', { days: Number.parseInt(span, 10) }), { checked })
}

/** The parameters of the client's request. */
function requestFields({ client, destination, state, scopes, codeChallenge, managed }: AuthorizeRequest) {
  return {
    client_id: client.id,
    response_type: 'code',
    state,
    redirect_uri: destination.given ? destination.uri : undefined,
    scope: scopes.join(' '),
    code_challenge: codeChallenge ?? undefined,
    code_challenge_method: codeChallenge === null ? undefined : 'S256',
    action: managed ? 'security' : undefined,
  }
}
