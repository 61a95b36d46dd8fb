import swagger from '@fastify/swagger'
import type { FastifySchema, RouteOptions } from 'fastify'
import type { HttpApp } from '../platform/http.ts'

/** The parts of an OpenAPI 3.1 document that we read again. */
export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string; description?: string }
  tags?: { name: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components?: { schemas?: Record<string, JsonSchema> }
}

export interface OpenApiOperation {
  summary?: string
  description?: string
  tags?: string[]
  security?: object[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: JsonSchema }[]
  requestBody?: { content: Record<string, { schema?: JsonSchema }> }
  responses: Record<string, { description?: string; content?: Record<string, { schema?: JsonSchema }> }>
}

export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  enum?: unknown[]
  const?: unknown
  format?: string
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  additionalProperties?: boolean | JsonSchema
  patternProperties?: Record<string, JsonSchema>
}

const errorSchema = {
  description: 'The request cannot be carried out',
  type: 'object',
  required: ['code', 'package', 'realm', 'statuscode', 'error', 'message', 'parameters'],
  properties: {
    code: { type: 'string', description: 'What is wrong, for programs; see the list of errors.' },
    package: { type: 'string' },
    realm: { type: 'string' },
    statuscode: { type: 'integer' },
    error: { type: 'string', description: 'What is wrong, for people.' },
    message: { type: 'string', description: 'The same text as error.' },
    parameters: { type: 'object', additionalProperties: true, description: 'What the text speaks of.' },
    request_id: { type: 'string', description: 'The id under which the log has this request.' },
  },
}

const oauthErrorSchema = {
  description: 'The request cannot be carried out (RFC 6749)',
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' }, code: { type: 'string' } },
}

/** Collects the schemas of all routes that are registered after it; `openApiDocument` prints them. */
export async function collectOpenApi(app: HttpApp, options: { version: string; externalUrl: string }): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Strongroom',
        version: options.version,
        description: 'Asset and object management service: objects in a versioned datamodel, masks, search, events.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: options.externalUrl }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          header: { type: 'apiKey', in: 'header', name: 'X-Svc-Authorization', description: 'Bearer <token>' },
          query: { type: 'apiKey', in: 'query', name: 'access_token' },
        },
      },
    },
    transform: ({ schema, url, route }) => ({ schema: documented(schema, route), url }),
  })
}

export function openApiDocument(app: HttpApp): OpenApiDocument {
  return app.swagger() as unknown as OpenApiDocument
}

/** What the route declares beside its schema, access and kind of errors, becomes part of the description. */
function documented(schema: FastifySchema | undefined, route: RouteOptions): FastifySchema {
  const errors = route.config?.oauthErrors ? oauthErrorSchema : errorSchema
  const given = (schema?.response as Record<string, unknown>) ?? {}
  return {
    ...schema,
    security: securityOf(route),
    response: Object.keys(given).length > 0 ? { ...given, '4xx': errors } : { 200: success, '4xx': errors },
  } as FastifySchema
}

const success = { description: 'Done' }

function securityOf(route: RouteOptions): object[] {
  const carriers = [{ bearer: [] }, { header: [] }, { query: [] }]
  switch (route.config?.access) {
    case 'user':
    case 'session':
      return carriers
    case 'optional':
      return [...carriers, {}]
    default:
      return []
  }
}
