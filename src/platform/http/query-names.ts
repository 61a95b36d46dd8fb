import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Type } from 'typebox'
import { AppError, badRequest } from '../errors.ts'
import { parseExact } from '../values/exact-json.ts'
import { hasNamedMembers } from '../values/named-members.ts'
import { nearestName } from '../values/nearest.ts'
import { escapesUtf8 } from '../values/utf8.ts'
import { declarationOf } from './http.ts'
import { noteIgnored } from './ignored.ts'
import { type Flag, flag, isOn, unasked } from './query.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Names of the query parameters that the route takes: filled in here, from its schema. */
    queryNames?: ReadonlySet<string>
    /** Known parameters that are refused, each with the reason: `x-refused` in their schema. */
    refusedQuery?: ReadonlyMap<string, string>
    /** Known parameters without an effect so far, each with the reason: `x-without-effect` in their schema. */
    idleQuery?: ReadonlyMap<string, string>
    /** Routes that delete: parameters that are 400 when empty, since an empty filter would match everything. */
    filterNames?: ReadonlySet<string>
    /** The route implements `pretty` itself. */
    ownPretty?: boolean
    /**
     * The reason why caches may not keep answers of this route, though it reads: `cache_seconds` has no effect and is listed as
     * ignored.
     */
    neverKept?: string
    /**
     * The handling of unknown parameters: routes that write `refuse` them, other routes `name` them in `X-Svc-Ignored`. Only set to
     * override this default.
     */
    unknownQuery?: 'refuse' | 'name'
  }
}

/** Parameters of every endpoint, in addition to its own. */
const everywhere = {
  strict: flag('Refuse what else would be ignored and only named.'),
  pretty: flag('Indent the JSON of the answer.'),
}

/** `strict` of a route that always refuses unknown parts, whether it is set or not. */
const alwaysStrict = {
  strict: Type.Optional(
    Type.Unsafe<Flag>({
      ...everywhere.strict,
      description: 'Always on here: there is nothing that would only be named.',
      'x-shown-as': { type: 'boolean', 'x-always': true },
    }),
  ),
}

const cacheSeconds = (more: Type.TSchemaOptions) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000, ...more }))

const ofReads = {
  cache_seconds: cacheSeconds({ description: 'For how many seconds caches may keep the answer; 0: not at all.' }),
}

interface Marked {
  readonly 'x-refused'?: string
  readonly 'x-without-effect'?: string
}

function marked(properties: Readonly<Record<string, Marked>> = {}, mark: keyof Marked): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(properties).flatMap(([name, { [mark]: reason }]): [string, string][] =>
      reason === undefined ? [] : [[name, reason]],
    ),
  )
}

/** Known on all routes with a token; read before validation, and described as an authentication method. */
const carriers = ['access_token']

/** The parameters of every endpoint, for this route. */
function commonTo({ method, schema, config }: RouteOptions): Readonly<Record<string, Type.TSchema>> {
  const own = (schema?.querystring as { properties?: Record<string, Marked> } | undefined)?.properties
  const reads = [method].flat().every((one) => one === 'GET' || one === 'HEAD')
  if (reads) {
    const why = config?.neverKept
    return { ...everywhere, ...(why === undefined ? ofReads : { cache_seconds: cacheSeconds(unasked(why)) }) }
  }
  const names = unknownQueryOf(config) === 'name' || hasNamedMembers(schema?.body as object | undefined)
  return names || marked(own, 'x-without-effect').size > 0 ? everywhere : { ...everywhere, ...alwaysStrict }
}

const deletes = ({ method }: RouteOptions): boolean => [method].flat().includes('DELETE')

/** Parameters whose value matters: not those that are switched on by their name alone. */
function parametersWithValue(properties: Readonly<Record<string, Shown>> = {}): ReadonlySet<string> {
  return new Set(Object.keys(properties).filter((name) => properties[name]?.['x-shown-as']?.type !== 'boolean'))
}

interface Shown extends Marked {
  readonly 'x-shown-as'?: { readonly type?: string }
}

const unknownQueryOf = (config: RouteOptions['config']): 'refuse' | 'name' =>
  config?.unknownQuery ?? (config?.writes ? 'refuse' : 'name')

/** Adds the common parameters to a route, and collects the names of all its parameters from its schema. */
export function learnQueryNames(route: RouteOptions): void {
  const common = commonTo(route)
  const own = route.schema?.querystring as { properties: Record<string, Marked> } | undefined
  // Its own parameters come first, for readers; they also take precedence.
  const querystring = own
    ? { ...own, properties: { ...own.properties, ...common, ...own.properties } }
    : Type.Object(common)
  route.schema = { ...route.schema, querystring }
  route.config = {
    ...route.config,
    unknownQuery: unknownQueryOf(route.config),
    refusedQuery: marked(own?.properties, 'x-refused'),
    idleQuery: marked(querystring.properties, 'x-without-effect'),
    ...(deletes(route) ? { filterNames: parametersWithValue(own?.properties) } : {}),
    ownPretty: own !== undefined && 'pretty' in own.properties,
    queryNames: new Set([...Object.keys(querystring.properties), ...carriers]),
  }
}

/**
 * A known parameter has its effect or is refused (decision 26), and an unknown one has no effect: a misspelled `dry_run` must not
 * delete. So a request that writes is refused, and a request that reads is answered with the name in `X-Svc-Ignored`.
 */
export function checkQueryNames(request: FastifyRequest, reply: FastifyReply): void {
  assertUtf8(request.raw.url ?? '')
  const { queryNames, unknownQuery, refusedQuery, idleQuery, filterNames } = declarationOf(request)
  if (!queryNames) return
  const unknown: string[] = []
  const idle: string[] = []
  const query = request.query as Record<string, unknown>
  for (const name in query) {
    if (filterNames?.has(name) && [query[name]].flat().includes('')) throw emptyFilter(name)
    if (!queryNames.has(name)) unknown.push(name)
    const reason = refusedQuery?.get(name)
    if (reason !== undefined) throw notThere(name, reason)
    const why = idleQuery?.get(name)
    if (why === undefined) continue
    if (isStrict(request)) throw notThere(name, why)
    idle.push(name)
  }
  noteIgnored(reply, idle)
  const [first] = unknown
  if (first === undefined) return
  if (unknownQuery === 'refuse' || isStrict(request)) throw unknownParameter(first, queryNames)
  noteIgnored(reply, unknown)
}

/** Escapes of another encoding would be read as literal text, which is never intended. */
function assertUtf8(url: string): void {
  const start = url.indexOf('?') + 1
  if (start === 0 || !url.includes('%', start)) return
  const pair = url
    .slice(start)
    .split('&')
    .find((one) => !escapesUtf8(one))
  if (pair === undefined) return
  const param = (pair.split('=')[0] ?? '').slice(0, 100)
  throw badRequest(`The parameter ${param} has escaped bytes (%) that are not UTF-8.`, { param })
}

/** A variable that a script has not set must not make a request delete everything. */
function emptyFilter(param: string): AppError {
  return badRequest(`The query parameter ${param} is empty: leave it out, or say what is meant.`, { param })
}

function notThere(param: string, reason: string): AppError {
  return new AppError('UrlParameterNotSupported', { param }, { message: `${param}: ${reason}` })
}

function unknownParameter(name: string, known: ReadonlySet<string>): AppError {
  const nearest = nearestName(name, known)
  return new AppError(
    'UrlParameterNotSupported',
    { param: name.slice(0, 200), ...(nearest === null ? {} : { nearest }) },
    {
      message: `There is no query parameter ${name.slice(0, 200)} here${nearest === null ? '' : `; did you mean ${nearest}?`}`,
    },
  )
}

/** Whether the caller wants a refusal instead of a list of ignored parts. */
export function isStrict(request: FastifyRequest): boolean {
  return isOn((request.query as { strict?: Flag }).strict)
}

/** Bytes of JSON: longer answers are not formatted again only for readability. */
const mostPretty = 2_000_000

/** `pretty` of every endpoint that does not implement it itself. A promise only where there is something to format. */
export function prettyJson(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  const pretty = (request.query as { pretty?: Flag } | undefined)?.pretty
  if (pretty === undefined || !isOn(pretty)) return payload
  const { queryNames, ownPretty } = declarationOf(request)
  return !queryNames || (ownPretty && reply.statusCode < 400) ? payload : formatted(reply, payload)
}

async function formatted(reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (!String(reply.getHeader('Content-Type')).includes('json')) return payload
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
    if (payload.length <= mostPretty) return JSON.stringify(parseExact(String(payload)), null, 2)
  } else if (payload instanceof Readable) {
    const { start, rest } = await beginning(payload, mostPretty)
    if (!rest) return JSON.stringify(parseExact(String(start)), null, 2)
    payload = Readable.from(rest, { objectMode: false })
  }
  noteIgnored(reply, ['pretty'])
  return payload
}

/** The beginning of a stream up to a number of bytes; `rest` is the whole stream again when there are more. */
async function beginning(stream: Readable, most: number): Promise<{ start: Buffer; rest?: AsyncIterable<Buffer> }> {
  const chunks: Buffer[] = []
  let length = 0
  const iterator = stream[Symbol.asyncIterator]()
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    chunks.push(Buffer.from(next.value))
    length += next.value.length
    if (length > most) return { start: Buffer.alloc(0), rest: again(chunks, iterator) }
  }
  return { start: Buffer.concat(chunks) }
}

async function* again(chunks: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  yield* chunks
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
