/**
 * Pages for people: sign-in and everything around it, rendered here, without scripts. A *visit* is one request for a page: it has
 * the language, browser and instance, and sends the answer.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type BaseConfig, type BaseConfigService, inLanguage } from '../../config/service.ts'
import { AppError } from '../../platform/errors.ts'
import { type Html, html } from '../../platform/values/html.ts'
import { isOwnForm, type PageBrowser, pageBrowser } from './browser.ts'
import { pageColours } from './colours.ts'
import { hiddenFields } from './fields.ts'
import { languageOf, type OwnTexts, type PageLanguage } from './language.ts'
import { type Layout, pagePolicy, pageStyle, renderLayout, type Style } from './layout.ts'
import type { TextName } from './texts.en.ts'

export type { PageBrowser } from './browser.ts'
export type { TextName } from './texts.en.ts'

export interface Page extends Layout {
  /** Default: 200. */
  readonly status?: number
  /** Addresses of other sites to which the answer to a form of this page may lead. */
  readonly formTargets?: readonly string[]
  /** `'sha256-…'` of scripts in the content; pages must also work without scripts. */
  readonly scripts?: readonly string[]
}

export interface Visit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly language: PageLanguage
  readonly text: PageLanguage['text']
  /** Name of the instance for people. */
  readonly instance: string
  readonly browser: PageBrowser
  /** A localised text of the base configuration in the language of the page, else in another language. */
  localized(texts: string | Readonly<Record<string, string>>): string
  /** A form of this page: sent to this service, with a value that proves that it is ours. */
  form(action: string, content: Html, hidden?: Readonly<Record<string, string | undefined>>): Html
  /** An address of the service from a page, under the path of the proxy: `/docs/`. */
  link(path: string): string
  /** Whether the form that was sent is one of ours, in this browser. */
  isOwnForm(csrf: string | undefined): boolean
  /** @throws {AppError} `PageExpired` when it is not. */
  assertOwnForm(csrf: string | undefined): void
  send(page: Page): FastifyReply
}

export interface Pages {
  visit(request: FastifyRequest, reply: FastifyReply): Visit
  /** Shows a person the problem and its solution. */
  sendError(request: FastifyRequest, reply: FastifyReply, error: AppError): FastifyReply
}

export interface PagesDependencies {
  baseConfig: BaseConfigService
  /** The path under which a proxy serves the service: the part before `/api` in its external address. */
  basePath: string
  ownTexts: OwnTexts
}

export function createPages({ baseConfig, basePath, ownTexts }: PagesDependencies): Pages {
  const styles = new WeakMap<BaseConfig, Style>()

  function styleOf(config: BaseConfig): Style {
    const known = styles.get(config)
    if (known) return known
    const { brand_color, background_color, login_background } = config.appearance
    const style = pageStyle(pageColours(brand_color, background_color), login_background)
    styles.set(config, style)
    return style
  }

  function visit(request: FastifyRequest, reply: FastifyReply): Visit {
    const config = baseConfig.get()
    const language = languageOf(request.headers['accept-language'], ownTexts)
    const preferred = [language.tag, ...baseConfig.databaseLanguages()]
    const localized: Visit['localized'] = (texts) => inLanguage(texts, preferred)
    const instance = localized(config.name.title) || 'Strongroom'
    const browser = pageBrowser(request, reply)
    const style = styleOf(config)
    const { favicon, logo_external_url } = config.appearance
    const logo = { picture: config.appearance.logo, address: localized(logo_external_url) }
    return {
      request,
      reply,
      language,
      text: language.text,
      instance,
      browser,
      localized,
      form: (action, content, hidden = {}) =>
        html`<form method="post" action="${basePath}${action}">${hiddenFields({ ...hidden, csrf: browser.csrf })}${content}</form>`,
      link: (path) => `${basePath}${path}`,
      isOwnForm: (csrf) => isOwnForm(browser, csrf),
      assertOwnForm(csrf) {
        if (!isOwnForm(browser, csrf)) throw new AppError('PageExpired', { what: 'form' })
      },
      send({ status = 200, formTargets = [], scripts = [], ...layout }) {
        return reply
          .status(status)
          .headers(pageHeaders)
          .header('Content-Security-Policy', pagePolicy({ style, formTargets, scripts, connects: scripts.length > 0 }))
          .type('text/html; charset=utf-8')
          .send(renderLayout(layout, { instance, logo, favicon, language, style, basePath }).toString())
      },
    }
  }

  return {
    visit,
    sendError(request, reply, error) {
      const shown = visit(request, reply)
      const { text } = shown
      const [name, values] = explanation(error)
      // RFC 6749 defines other codes.
      const code = typeof error.parameters.error === 'string' ? error.parameters.error : error.code
      const detail = text('error.technical', { detail: `${code}: ${error.message}` })
      const back =
        code === 'UnknownEndpointMethod'
          ? html`<a href="${shown.link('/')}">${text('error.home')}</a>`
          : text('error.back')
      const content = html`<p>${back}</p><p class="muted">${error.status < 500 ? detail : text('error.request', { id: request.id })}</p>`
      return shown.send({ title: text('error.title'), problem: text(name, values), content, status: error.status })
    },
  }
}

const pageHeaders = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  Vary: 'Accept-Language, Cookie',
} as const

/** The sentence for a failure; technical details are below it. */
function explanation({ code, status, parameters }: AppError): [TextName, Record<string, number>] {
  if (code === 'UnknownEndpointMethod') return ['error.nowhere', {}]
  if (code === 'PageExpired') return [parameters.what === 'form' ? 'error.formExpired' : 'error.loginExpired', {}]
  if (status === 429) return ['error.tooMany', { minutes: Math.ceil(Number(parameters.retry_after ?? 60) / 60) }]
  if (status === 503) return ['error.unavailable', {}]
  return [status >= 500 ? 'error.internal' : 'error.badRequest', {}]
}

/** Whether the client is a person with a browser. */
export function wantsPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return (headers.accept ?? '').split(',').some((type) => type.trim().startsWith('text/html'))
}
