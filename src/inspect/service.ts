/**
 * The console, independent of how its reader was authenticated: finds the page of an address, loads it, and renders it in the
 * requested form. Access is decided before: by the session on the public port (`routes.ts`), by the network on the backend port
 * (`backend.ts`).
 */
import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'
import { html } from '../platform/values/html.ts'
import type { Figures } from './figures.ts'
import { type FoundPage, findPage, pageNames } from './find-page.ts'
import { formTokens } from './forms.ts'
import type { ConsolePage } from './model.ts'
import { consolePages, type PageDeps } from './pages/all.ts'
import { readQuery } from './query.ts'
import type { ConsoleLanguage } from './view/language.ts'
import { consoleLayout, consolePolicy } from './view/layout.ts'
import { english, type TextName } from './view/texts.en.ts'
import { createView, type View } from './view/view.ts'

export interface ConsoleDeps extends PageDeps {
  readonly figures: Figures
  readonly instanceName: () => string
  /** The path under which a proxy serves the service: the part before `/inspect`. */
  readonly basePath: string
}

/** The reader, and the form of the pages for them. */
export interface Reader {
  readonly actor: Actor
  readonly language: ConsoleLanguage
  /** The secret for the reader's forms; null: the reader may not run actions. */
  readonly secret: string | Buffer | null
  /** Whether the reader can sign out. */
  readonly signedIn: boolean
}

export interface ConsoleRequest {
  /** Path of the address, unchanged, without the query. */
  readonly path: string
  readonly query: Form
  readonly json: boolean
}

export type ConsoleAnswer =
  | { readonly kind: 'json'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: 'page'; readonly html: string; readonly policy: string }
  | { readonly kind: 'stream'; readonly stream: Readable }

export type Console = ReturnType<typeof createConsole>

export function createConsole(deps: ConsoleDeps) {
  const { basePath, figures } = deps
  const base = `${basePath}/inspect/`
  const pages: readonly ConsolePage[] = consolePages(deps)

  function viewOf(reader: Reader, path: string, query: Form): View {
    const tokens = reader.secret === null ? null : formTokens(reader.secret)
    return createView({ language: reader.language, base, path, query, tokens })
  }

  function written(
    view: View,
    reader: Reader,
    page: Pick<Parameters<typeof consoleLayout>[1], 'title' | 'content' | 'section' | 'notice'>,
  ): { readonly html: string; readonly policy: string } {
    const nonce = randomBytes(18).toString('base64url')
    const { text } = view
    const signOut = reader.signedIn
      ? html`<form class="act" method="post" action="${base}logout/"><button class="quiet">${text('signOut')}</button></form>`
      : null
    const layout = {
      ...page,
      ...{ nonce, basePath, signOut, instance: deps.instanceName(), sql: deps.config.debugSqlQuery },
      who: reader.signedIn ? text('who', { name: reader.actor.displayname || reader.actor.login }) : text('backend'),
    }
    return { html: consoleLayout(view, layout).toString(), policy: consolePolicy(nonce) }
  }

  return {
    base,
    /** The parameters of all pages. */
    parameters: pageNames(pages),

    /** The page of an address. @throws {AppError} `ResourceNotFound`; `ServerGeneric` for a parameter that it does not have. */
    find: (path: string, query: Form): FoundPage => findPage(pages, path, query),

    async show(reader: Reader, { path, query, json }: ConsoleRequest): Promise<ConsoleAnswer> {
      const { page, params, at } = findPage(pages, path, query)
      if (at === 'figures/stream/') return { kind: 'stream', stream: streamOf(figures) }
      const loaded = await page.load({ actor: reader.actor, params, query: readQuery(query) })
      if (json) return { kind: 'json', body: only(page.members, loaded.json) }
      const view = viewOf(reader, at, query)
      const done = query.get('done')
      const notice = done !== undefined && isNotice(done) ? view.text(done) : null
      const content = loaded.show(view)
      return {
        kind: 'page',
        ...written(view, reader, { title: loaded.title(view), content, section: page.section, notice }),
      }
    },

    /** Carries out a form of a page; returns the next address for the browser. @throws {AppError} `PageExpired` */
    async act(
      reader: Reader,
      { path, query, form }: { readonly path: string; readonly query: Form; readonly form: Form },
    ) {
      const { page, params, at } = findPage(pages, path, query)
      const name = form.get('action') ?? ''
      const action = Object.hasOwn(page.actions ?? {}, name) ? page.actions?.[name] : undefined
      if (!action) throw badRequest('There is no such action on this page.', { name: 'action' })
      if (reader.secret === null) throw new AppError('InsufficientRights')
      if (!formTokens(reader.secret).fits(`${at} ${name}`, form.get('csrf')))
        throw new AppError('PageExpired', { what: 'form' })
      const { said, to = at } = await action({ actor: reader.actor, params, query: readQuery(query) }, form)
      return `${base}${to}?done=${said}`
    },

    /** The page for a failure, within the console. */
    failure(reader: Reader, error: AppError, requestId: string) {
      const view = viewOf(reader, '', new Map())
      const told =
        error.status < 500 ? `${error.code}: ${error.message}` : view.text('error.request', { id: requestId })
      const content = html`<p class="problem" role="alert">${view.text(error.status === 404 ? 'error.nothing' : error.status < 500 ? 'error.request.wrong' : 'error.internal')}</p><p class="muted">${told}</p>`
      return written(view, reader, { title: view.text('error.title'), content, section: null })
    },

    close: figures.close,
  }
}

/** Exactly the listed members of the page, in their order: other members are only for its HTML. */
function only(members: readonly string[], loaded: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(members.map((name) => [name, loaded[name] ?? null]))
}

const isNotice = (name: string): name is TextName => name.startsWith('done.') && Object.hasOwn(english, name)

function streamOf(figures: Figures): Readable {
  const stream = figures.stream()
  if (!stream) throw new AppError('ServiceUnavailable', {}, { message: 'Too many pages show figures already.' })
  return stream
}
