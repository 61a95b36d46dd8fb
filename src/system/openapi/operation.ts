import type { RouteOptions } from 'fastify'
import { catalogue, type ErrorCode } from '../../platform/catalogue.ts'
import type { SurfaceDescription } from '../../platform/http/surface.ts'
import { rightName } from '../../platform/http/system-right.ts'
import type { Components } from './components.ts'
import type { JsonSchema, OpenApiMedia, OpenApiOperation, OpenApiParameter, OpenApiResponse } from './model.ts'

/** One route as an operation: all of it comes from the route's schema and `config`. */
export function operationOf(route: RouteOptions, components: Components): OpenApiOperation {
  const { schema = {} } = route
  const parameters = [
    ...parametersOf('path', schema.params, components),
    ...parametersOf('query', schema.querystring, components),
    ...parametersOf('header', schema.headers, components),
  ]
  return {
    operationId: schema.operationId ?? '',
    summary: schema.summary ?? '',
    description: descriptionOf(route),
    tags: [...(schema.tags ?? [])],
    security: securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(schema.body === undefined ? {} : { requestBody: requestBody(route, components) }),
    ...(route.config?.body === 'stream' ? { requestBody: streamedBody(route) } : {}),
    responses: { ...answersOf(route, components), ...failuresOf(route, components) },
  }
}

function descriptionOf({ schema, config }: RouteOptions): string {
  const right = config?.systemRight
  return [...(right ? [`Needs \`${rightName(right)}\`.`] : []), schema?.description ?? ''].join(' ').trim()
}

/** Fastify names the rest of a path `*`; a template needs a name. */
export function templateOf(url: string): string {
  return url.replace(/\*$/, '{path}').replace(/:(\w+)/g, '{$1}')
}

function parametersOf(place: OpenApiParameter['in'], given: unknown, components: Components): OpenApiParameter[] {
  const { properties = {}, required = [] } = (given ?? {}) as JsonSchema
  return Object.entries(properties).map(([name, member]) => {
    const { description = '', ...schema } = components.shown(member)
    return {
      name: name === '*' ? 'path' : name,
      in: place,
      required: place === 'path' || (required.includes(name) && member.default === undefined),
      description: description || (member.description ?? ''),
      schema,
    }
  })
}

function requestBody({ schema, config }: RouteOptions, components: Components): OpenApiOperation['requestBody'] {
  const types = schema?.consumes ?? ['application/json']
  const shown = components.shown(schema?.body)
  return {
    required: config?.bodyOptional !== true,
    content: Object.fromEntries(types.map((type) => [type, { schema: shown }])),
  }
}

/** Bodies that handlers read themselves as they arrive: files. */
const binary = { type: 'string', format: 'binary' }
const streamedFiles: NonNullable<OpenApiOperation['requestBody']> = {
  required: true,
  content: {
    'multipart/form-data': { schema: { type: 'object', properties: { file: { type: 'array', items: binary } } } },
    'application/octet-stream': { schema: binary },
  },
}

function streamedBody({ schema, config }: RouteOptions): OpenApiOperation['requestBody'] {
  if (!schema?.consumes) return streamedFiles
  const content = Object.fromEntries(schema.consumes.map((type) => [type, { schema: binary }]))
  return { required: config?.bodyOptional !== true, content }
}

function answersOf({ schema }: RouteOptions, components: Components): Record<string, OpenApiResponse> {
  const given = Object.entries((schema?.response ?? {}) as Record<string, JsonSchema & { content?: object }>)
  const answers = given.filter(([status]) => /^(101|[23])/.test(status))
  if (answers.length === 0) return { 200: { description: 'Done.' } }
  return Object.fromEntries(
    answers.map(([status, answer]) => {
      const description = answer.description ?? (status === '202' ? openQuestion : 'Done.')
      const content = contentOf(answer, components)
      return [status, content ? { description, content } : { description }]
    }),
  )
}

const openQuestion = 'Nothing was written: something has to be decided first. The tasks name the parameter to add.'

function contentOf(
  answer: JsonSchema & { content?: object },
  components: Components,
): Record<string, OpenApiMedia> | null {
  if (answer.content) {
    const types = Object.entries(answer.content as Record<string, { schema: JsonSchema }>)
    return Object.fromEntries(types.map(([type, { schema }]) => [type, { schema: components.shown(schema) }]))
  }
  const { description: _, ...shape } = components.shown(answer)
  return Object.keys(shape).length === 0 ? null : { 'application/json': { schema: shape } }
}

/** Error codes that follow from the properties of a route, in addition to the declared ones. */
function errorCodesOf({ config, schema }: RouteOptions): ErrorCode[] {
  const { access, writes, systemRight, outlivesClient, errors = [] } = config ?? {}
  return [
    ...errors,
    ...(access === 'user' ? (['UserRequired', 'InvalidToken'] as const) : []),
    ...(access === 'session' ? (['InvalidToken'] as const) : []),
    ...(systemRight ? (['SystemRightRequired'] as const) : []),
    ...(writes ? (['ReadOnlyMode', 'DatabaseLockError'] as const) : []),
    ...(outlivesClient ? [] : (['TimeLimitExceeded'] as const)),
    ...(schema?.body ? (['PayloadTooLarge', 'UnsupportedMediaType', 'RequestTimeout'] as const) : []),
    // Parameters: a wrong value, an unknown name.
    'ServerGeneric',
    'UrlParameterNotSupported',
    // For clients that use too much of the shared resources (peers.ts).
    'QuotaExceeded',
    'InternalError',
    'ServiceUnavailable',
  ]
}

function failuresOf(route: RouteOptions, components: Components): Record<string, OpenApiResponse> {
  const { failures, error: shape } = route.config?.surface?.description ?? {}
  const error = components.shown(shape)
  if (failures) return statedFailures(failures, error)
  const codes = [...new Set(errorCodesOf(route))].sort()
  const byStatus = Map.groupBy(codes, (code) => catalogue[code].status)
  const coded = Object.fromEntries(
    [...byStatus].map(([status, all]) => [
      status,
      {
        description: all.map((code) => `\`${code}\`: ${catalogue[code].text}`).join('\n\n'),
        content: { 'application/json': { schema: { allOf: [error, { properties: { code: { enum: all } } }] } } },
      },
    ]),
  )
  return withFurther(coded, route.config?.surface?.description?.further)
}

function withFurther(
  coded: Readonly<Record<string, OpenApiResponse>>,
  further: SurfaceDescription['further'],
): Record<string, OpenApiResponse> {
  if (!further) return coded
  const content = { [further.type]: { schema: { type: 'string' } } }
  const told = Object.entries(further.texts).map(([status, text]): [string, OpenApiResponse] => {
    const { description, content: own } = coded[status] ?? {}
    return [status, { description: description ? `${description}\n\n${text}` : text, content: { ...own, ...content } }]
  })
  return { ...coded, ...Object.fromEntries(told) }
}

function statedFailures(texts: Readonly<Record<number, string>>, error: JsonSchema): Record<string, OpenApiResponse> {
  const content = { 'application/json': { schema: error } }
  return Object.fromEntries(Object.entries(texts).map(([status, description]) => [status, { description, content }]))
}

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
