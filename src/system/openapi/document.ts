import type { RouteOptions } from 'fastify'
import type { HttpApp } from '../../platform/http/http.ts'
import { Components } from './components.ts'
import { addExamples } from './examples.ts'
import type { OpenApiDocument, OpenApiOperation } from './model.ts'
import { operationOf, templateOf } from './operation.ts'
import { renderOpenApiPage } from './page.ts'

/** The description of all routes. Created at the first request, and kept: that takes a tenth of a second. */
export interface OpenApi {
  json(): Promise<string>
  /** For people. */
  page(): Promise<string>
}

/** Collects all routes that are registered after this call. */
export function collectOpenApi(app: HttpApp, instance: { version: string; externalUrl: string }): OpenApi {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  const document = once(() => addExamples(describe(routes, instance)))
  return {
    json: once(async () => JSON.stringify(await document())),
    page: once(async () => renderOpenApiPage(await document())),
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function describe(
  routes: readonly RouteOptions[],
  { version, externalUrl }: { version: string; externalUrl: string },
): OpenApiDocument {
  const components = new Components()
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  const withGet = new Set(routes.filter(({ method }) => [method].flat().includes('GET')).map(({ url }) => url))
  for (const route of routes) {
    if (!route.config?.surface?.description) continue
    for (const method of [route.method].flat()) {
      // Described once for all routes: HEAD beside a GET, the preflight of CORS.
      if ((method === 'HEAD' && withGet.has(route.url)) || method === 'OPTIONS') continue
      const template = templateOf(route.url)
      paths[template] = { ...paths[template], [method.toLowerCase()]: operationOf(route, components) }
    }
  }
  const tags = new Set(Object.values(paths).flatMap((path) => Object.values(path).flatMap((one) => one.tags)))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version,
      description:
        'Asset and object management service: objects in a versioned datamodel, masks, search, events. Bodies are JSON ' +
        'where nothing else is said. A request that is refused changes nothing. HEAD answers beside each GET, with the same ' +
        'status and headers and without a body.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: externalUrl }],
    tags: [...tags].sort().map((name) => ({ name })),
    paths,
    components: { schemas: components.schemas, responses: {}, securitySchemes },
  }
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The access token of POST /api/oauth2/token; recommended.' },
  header: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Svc-Authorization',
    description: '`Bearer <token>`, for where redirects strip the Authorization header.',
  },
  query: { type: 'apiKey', in: 'query', name: 'access_token', description: 'The token in the address.' },
}
