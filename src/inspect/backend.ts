import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Actor } from '../platform/actor.ts'
import { AppError, errorBody } from '../platform/errors.ts'
import { toAppError } from '../platform/http/error-responses.ts'
import { securityHeaders } from '../platform/http/security-headers.ts'
import { RequestDeadline, withinDeadline } from '../platform/limits/deadline.ts'
import { parametersOf, wantedForm } from './response-form.ts'
import { sendPage } from './routes.ts'
import type { Console, Reader } from './service.ts'
import { consoleLanguage } from './view/language.ts'

export interface BackendConsoleOptions {
  readonly console: Console
  readonly log: Logger
  /** Everybody who can reach the port may make changes. */
  readonly actions: boolean
  readonly readOnly: () => boolean
  /** Host name of the port, in addition to addresses and names of a private network. */
  readonly host: string
  /** Milliseconds for which a page may keep the database busy. */
  readonly timeLimit: number
  /** The actor for reading and for actions. */
  readonly actor: () => Promise<Actor>
}

const longestForm = 64 * 1024

/** The console on the backend port: without authentication. */
export function registerBackendConsole(backend: FastifyInstance, options: BackendConsoleOptions): void {
  const { console, log, actions, readOnly, timeLimit } = options
  // Forms of another process, or of an earlier run, are not valid here.
  const secret = actions ? randomBytes(32) : null
  const readerOf = async (request: FastifyRequest): Promise<Reader> => ({
    actor: { ...(await options.actor()), remoteAddr: request.ip },
    language: consoleLanguage(request.headers['accept-language']),
    secret: readOnly() ? null : secret,
    signedIn: false,
  })
  backend.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: longestForm },
    (_request, body, done) => done(null, grouped(new URLSearchParams(String(body)))),
  )

  backend.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.headers(securityHeaders).header('Cache-Control', 'no-store')
      requirePrivateName(request, options.host)
    })
    scope.addHook('preHandler', (_request, reply, done) => {
      withinDeadline(new RequestDeadline(reply.raw, timeLimit, () => 'console'), done)
    })
    scope.setErrorHandler(async (error, request, reply) => {
      const failure = toAppError(error)
      if (failure.status >= 500) log.error({ err: error }, 'a page of the console on the backend port failed')
      reply.status(failure.status)
      if (wantedForm(request) !== 'html') return reply.send(errorBody(failure, request.id))
      const reader = await readerOf(request).catch(() => null)
      if (!reader) return reply.type('text/plain').send(failure.message)
      const { html, policy } = console.failure(reader, failure, request.id)
      return sendPage(reply, html, policy)
    })
    for (const url of ['/inspect', '/inspect/*']) {
      scope.get(url, async (request, reply) => {
        const path = request.url.split('?', 1)[0] ?? ''
        const asked = { path, query: parametersOf(request.query), json: wantedForm(request) === 'json' }
        return send(reply, await console.show(await readerOf(request), asked))
      })
    }
    scope.post('/inspect/*', async (request, reply) => {
      if (readOnly()) throw new AppError('ReadOnlyMode')
      if (secret === null) throw new AppError('InsufficientRights')
      const path = request.url.split('?', 1)[0] ?? ''
      const asked = { path, query: parametersOf(request.query), form: parametersOf(request.body) }
      return reply.redirect(await console.act(await readerOf(request), asked), 303)
    })
  })
}

function send(reply: FastifyReply, answer: Awaited<ReturnType<Console['show']>>): FastifyReply {
  if (answer.kind === 'stream') return reply.type('text/event-stream').send(answer.stream)
  if (answer.kind === 'json') return reply.send(answer.body)
  return sendPage(reply, answer.html, answer.policy)
}

function grouped(parameters: URLSearchParams): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const [name, value] of parameters) {
    const before = values.get(name)
    values.set(name, before === undefined ? value : [before, value].flat())
  }
  return Object.fromEntries(values)
}

/**
 * Protection against DNS rebinding: a page of the internet whose host name resolves to this port would be same-origin with it, and
 * could read it in the browser of a user within the network. Such a page needs a public name; addresses and private names are not
 * public.
 */
function requirePrivateName({ hostname }: FastifyRequest, own: string): void {
  const name = hostname.toLowerCase()
  const isPrivate = /^[\d.]+$|^\[[\da-f:.]+\]$|^[^.]+$|\.(?:localhost|local|internal|lan|home\.arpa)$/.test(name)
  if (isPrivate || name === own.toLowerCase()) return
  const message = `The backend port is not asked as ${name}: use an address, or the name in svc.http.backendHost.`
  throw new AppError('InsufficientRights', { name }, { message })
}
