import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { onSurface, type Surface } from '../platform/http/surface.ts'
import { type Pages, pageSurface, type SignInService, wantsPage } from '../signin/service.ts'
import { parametersOf, wantedForm } from './response-form.ts'
import type { Console, Reader } from './service.ts'
import { type ConsoleSession, createConsoleSessions } from './session.ts'
import { consoleLanguage } from './view/language.ts'
import { onwardPage } from './view/layout.ts'

type ConsoleSessions = ReturnType<typeof createConsoleSessions>

export interface ConsoleRoutes {
  readonly console: Console
  readonly sessions: ConsoleSessions
  readonly bearer: SignInService['bearer']
  readonly pages: Pages
}

export { createConsoleSessions }

/** The authenticated caller of a request, with the session where there is one. */
const found = new WeakMap<FastifyRequest, ConsoleSession>()

/** The console on the public port: with a session of the browser, or for programs that read JSON with a token. */
export async function registerConsoleRoutes(app: HttpApp, routes: ConsoleRoutes): Promise<void> {
  const { console, sessions } = routes
  const names = [...console.parameters]
  const querystring = Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Unknown())])))
  const open = { access: 'public', writes: false, neverKept: 'a sign-in is of one browser and one moment' } as const
  const closed = { access: 'user', systemRight: { name: 'system.root' } } as const
  await onSurface(app, consoleSurface(app.surface, routes), (scope) => {
    const Code = Type.Object(
      Object.fromEntries(['code', 'state', 'iss'].map((name) => [name, Type.Optional(Type.Unknown())])),
    )
    scope.get('/inspect/login/', { schema: { querystring: Code }, config: open }, async (request, reply) => {
      const to = await sessions.finish(request, reply, parametersOf(request.query))
      return lead(request, reply, to)
    })
    scope.post(
      '/inspect/logout/',
      { config: { ...open, body: 'none', outlivesClient: true } },
      async (request, reply) => {
        await sessions.end(request, reply)
        return reply.header('Cache-Control', 'no-store').redirect(console.base.replace(/inspect\/$/, ''), 303)
      },
    )
    const reads = { ...closed, writes: false, neverKept: 'a page of the console shows one moment' } as const
    for (const url of ['/inspect', '/inspect/*']) {
      scope.get(url, { schema: { querystring }, config: reads }, (request, reply) => show(routes, request, reply))
    }
    const acts = { ...closed, writes: true, body: 'none' } as const
    scope.post('/inspect/*', { schema: { querystring }, config: acts }, async (request, reply) => {
      const to = await console.act(readerOf(request), {
        path: pathOf(request),
        query: parametersOf(request.query),
        form: parametersOf(request.body),
      })
      return reply.header('Cache-Control', 'no-store').redirect(to, 303)
    })
  })
}

/**
 * People are sent to sign in, and get errors as pages; programs get the envelope. A token is accepted for JSON only: a person who
 * uses one in a browser must still sign in.
 */
function consoleSurface(api: Surface, routes: ConsoleRoutes): Surface {
  const { console, sessions, bearer, pages } = routes
  const forPages = pageSurface(pages, api)
  async function authenticate(request: FastifyRequest): Promise<Actor | null> {
    const session = await sessions.of(request)
    if (session) found.set(request, session)
    if (session) return session.actor
    return wantsPage(request) ? null : bearer(request)
  }
  function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (!wantsPage(request) || wantedForm(request) !== 'html') return api.sendError(error, request, reply)
    const unknown = error.code === 'UserRequired' && request.method === 'GET'
    if (unknown && request.headers['sec-fetch-site'] === 'cross-site') return lead(request, reply, request.url)
    if (unknown) return sessions.begin(request, reply)
    if (!request.actor?.isRoot) return pages.sendError(request, reply, error)
    const { html, policy } = console.failure(readerOf(request), error, request.id)
    return sendPage(reply.status(error.status), html, policy)
  }
  return { ...forPages, name: 'inspect', authenticators: [authenticate], sendError }
}

/** Redirects from a page of ours: then the browser sends the cookie that it withholds from redirects of other sites. */
function lead(request: FastifyRequest, reply: FastifyReply, to: string): FastifyReply {
  const language = consoleLanguage(request.headers['accept-language'])
  return sendPage(reply, onwardPage(language, to).toString(), "default-src 'none'")
}

async function show({ console }: ConsoleRoutes, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = parametersOf(request.query)
  // A token is accepted for JSON only.
  if (!found.has(request) && wantedForm(request) !== 'json') throw new AppError('UserRequired')
  const answer = await console.show(readerOf(request), {
    path: pathOf(request),
    query,
    json: wantedForm(request) === 'json',
  })
  reply.header('Cache-Control', 'no-store').header('Vary', 'Accept, Accept-Language, Cookie')
  if (answer.kind === 'stream') return reply.type('text/event-stream').send(answer.stream)
  if (answer.kind === 'json') return reply.send(answer.body)
  return sendPage(reply, answer.html, answer.policy)
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? ''

function readerOf(request: FastifyRequest): Reader {
  const session = found.get(request)
  return {
    actor: actorOf(request),
    language: consoleLanguage(request.headers['accept-language']),
    secret: session?.token ?? null,
    signedIn: session !== undefined,
  }
}

export function sendPage(reply: FastifyReply, html: string, policy: string): FastifyReply {
  return reply
    .headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin', 'X-Frame-Options': 'DENY' })
    .header('Content-Security-Policy', policy)
    .type('text/html; charset=utf-8')
    .send(html)
}
