import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../platform/errors.ts'
import { streamedBody } from '../platform/http/body/streamed.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { requestFacts } from '../platform/http/request-facts.ts'
import { onSurface } from '../platform/http/surface.ts'
import { whenClosed } from '../platform/limits/when-closed.ts'
import { type BrowserFile, type BundleKind, bundleKinds } from './browser/files.ts'
import { headerText } from './extensions/answer.ts'
import { ExtensionFailed } from './extensions/call.ts'
import { languagePattern } from './packages/l10n.ts'
import { Acknowledged, ManagedPlugin, ManagedPlugins, PluginInput, PluginList } from './schema.ts'
import { managePlugins, type PluginService } from './service.ts'

const tags = ['plugin']
const Id = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the plugin.' }),
})
const FilePath = Type.Object({
  plugin: Type.String({ maxLength: 200, description: 'Name of the plugin.' }),
  '*': Type.String({ maxLength: 2000, description: 'Path of a file.' }),
})
const Language = Type.Object({ lang: Type.String({ pattern: languagePattern, description: 'For example `de-DE`.' }) })
const binary = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })
const content = (type: string) => ({ description: 'The content.', content: { [type]: { schema: binary } } })
const NotModified = Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' })

export async function registerPluginRoutes(http: HttpApp, { plugins }: { plugins: PluginService }): Promise<void> {
  http.get(
    '/api/v1/plugin',
    {
      schema: {
        tags,
        operationId: 'listPlugins',
        summary: 'The plugins that are on',
        description: 'In the order in which they are asked, and where their files for browsers are.',
        response: { 200: PluginList },
      },
      config: { access: 'user', writes: false },
    },
    () => plugins.list(),
  )
  registerBrowserRoutes(http, plugins)
  registerManageRoutes(http, plugins)
  await registerExtensionRoutes(http, plugins)
}

function registerBrowserRoutes(http: HttpApp, { browser }: Pick<PluginService, 'browser'>): void {
  for (const kind of Object.keys(bundleKinds) as BundleKind[]) {
    http.get(
      `/api/v1/plugin/bundle.${kind}`,
      {
        schema: {
          tags,
          operationId: `get${kind.toUpperCase()}Bundle`,
          summary: `The ${kind} files of all plugins that are on, one after the other`,
          description: 'In the order of the plugins: dependencies first. No token is needed.',
          response: { 200: content(`text/${kind === 'js' ? 'javascript' : kind}`), 304: NotModified },
        },
        config: { access: 'public', writes: false },
      },
      async (request, reply) => sendFile(request, reply, await browser.bundle(kind)),
    )
  }

  http.get(
    '/api/v1/plugin/bundle/l10n/:lang.json',
    {
      schema: {
        tags,
        operationId: 'getPluginTexts',
        summary: 'The texts of all plugins that are on, in one language',
        description: 'By key. A language that no plugin has is empty. No token is needed.',
        params: Language,
        response: { 200: Type.Record(Type.String(), Type.String()) },
      },
      config: { access: 'public', writes: false },
    },
    (request) => browser.texts(request.params.lang),
  )

  http.get(
    '/api/v1/plugin/static/:plugin/*',
    {
      schema: {
        tags,
        operationId: 'getPluginFile',
        summary: 'A file of a plugin for browsers',
        description:
          'From the folder that its manifest names as `base_url_prefix`; nothing else is served. No token is needed.',
        params: FilePath,
        response: { 200: content('application/octet-stream'), 304: NotModified },
      },
      config: { access: 'public', writes: false, errors: ['PluginDisabled', 'PluginNotFound', 'ResourceNotFound'] },
    },
    async (request, reply) => sendFile(request, reply, await browser.file(request.params.plugin, request.params['*'])),
  )
}

/** A browser asks each time whether the file has changed: its address does not show it. */
function sendFile(request: FastifyRequest, reply: FastifyReply, file: BrowserFile): FastifyReply {
  reply
    .header('Cache-Control', 'public, no-cache')
    .header('ETag', file.etag)
    .header('X-Content-Type-Options', 'nosniff')
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  if (known.includes(file.etag) || known.includes('*')) return reply.status(304).send()
  if (file.size !== null) reply.header('Content-Length', file.size)
  return reply.type(file.type).send(file.open())
}

function registerManageRoutes(http: HttpApp, { manage }: Pick<PluginService, 'manage'>): void {
  // A caller without the right gets the error for the missing right, with a token or without.
  const config = { access: 'optional', systemRight: managePlugins } as const
  const changing = ['PluginNotFound', 'InsufficientRights', 'ServerGeneric'] as const
  http.get(
    '/api/v1/plugin/manage',
    {
      schema: {
        tags,
        operationId: 'listInstalledPlugins',
        summary: 'All plugins that are installed, on or off',
        description: 'By name.',
        response: { 200: ManagedPlugins },
      },
      config: { ...config, writes: false },
    },
    (request) => manage.list(request.actor),
  )
  http.put(
    '/api/v1/plugin/manage',
    {
      schema: {
        tags,
        operationId: 'installPlugin',
        summary: 'Install a plugin',
        description:
          'With `type` `zip` from an uploaded file, with `url` from an address. It is off. Its programs run as the service, so ' +
          '`svc.plugins.allowInstall` must allow it.',
        body: PluginInput,
        response: { 200: ManagedPlugin },
      },
      config: { ...config, writes: true, errors: ['PluginDuplicateName', 'InsufficientRights'] },
    },
    (request) => manage.create(actorOf(request), request.body),
  )
  http.get(
    '/api/v1/plugin/manage/:id',
    {
      schema: {
        tags,
        operationId: 'getInstalledPlugin',
        summary: 'One plugin',
        description: 'On or off.',
        params: Id,
        response: { 200: ManagedPlugin },
      },
      config: { ...config, writes: false, errors: ['PluginNotFound'] },
    },
    (request) => manage.read(request.actor, request.params.id),
  )
  http.post(
    '/api/v1/plugin/manage/:id',
    {
      schema: {
        tags,
        operationId: 'updatePlugin',
        summary: 'Switch a plugin on or off, or give it another archive',
        description:
          'What is absent stays. Another `zip_file` or `url` is fetched at once, and must be the same plugin.',
        params: Id,
        body: PluginInput,
        response: { 200: ManagedPlugin },
      },
      config: { ...config, writes: true, errors: changing },
    },
    (request) => manage.update(actorOf(request), request.params.id, request.body),
  )
  http.delete(
    '/api/v1/plugin/manage/:id',
    {
      schema: {
        tags,
        operationId: 'removePlugin',
        summary: 'Remove a plugin',
        description: 'One in a folder of the configuration can be switched off only.',
        params: Id,
        response: { 200: Acknowledged },
      },
      config: { ...config, writes: true, errors: ['PluginNotFound'] },
    },
    async (request) => {
      await manage.remove(actorOf(request), request.params.id)
      return { acknowledged: true as const }
    },
  )
}

/** The meaning of parameters and bodies is up to the extension. */
async function registerExtensionRoutes(http: HttpApp, plugins: PluginService): Promise<void> {
  await onSurface(http, { ...http.surface, name: 'extension', parameters: null }, (scope) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      scope.route({
        method,
        url: '/api/v1/plugin/extension/:plugin/*',
        schema: {
          tags,
          operationId: `callExtensionBy${method}`,
          summary: `Call an extension of a plugin with ${method}`,
          description:
            'What is sent and what is answered is a matter of the plugin; parameters and bodies go to it as they are.',
          params: FilePath,
          ...(method === 'GET' ? {} : { consumes: ['application/octet-stream'] }),
          response: { 200: content('application/octet-stream') },
        },
        config: {
          access: 'optional',
          writes: false,
          ...(method === 'GET' ? {} : { body: 'stream' as const }),
          errors: ['PluginDisabled', 'PluginNotFound', 'UserRequired'],
        },
        handler: async (request, reply) => {
          const stop = new AbortController()
          const forget = request.deadline.onOver(() =>
            stop.abort(request.deadline.over ?? new AppError('ClientClosedRequest')),
          )
          whenClosed(reply.raw, forget)
          try {
            const { plugin, '*': path } = request.params
            const body = method === 'GET' ? nothing() : streamedBody(request)
            const call = { request: requestFacts(request), body, signal: stop.signal }
            const answer = await plugins.extension(request.actor, plugin, path, call)
            return reply.type(answer.type).header('X-Content-Type-Options', 'nosniff').send(answer.body)
          } catch (error) {
            if (error instanceof ExtensionFailed) tellFailure(reply, error)
            throw error
          }
        },
      })
    }
  })
}

function tellFailure(reply: FastifyReply, { reason, refusal }: ExtensionFailed): void {
  reply.header('X-Execserver-Error', headerText(reason))
  if (!refusal) return
  reply.header('X-Svc-Error-Code', headerText(refusal.foreign.code)).header('X-Svc-Error', headerText(refusal.message))
}

async function* nothing(): AsyncGenerator<Buffer> {}
