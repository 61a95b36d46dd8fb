import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { OpenApiDocument, OpenApiOperation } from '../../src/system/openapi/model.ts'
import type { Json } from '../support/client.ts'
import { commitModel } from '../support/seed/model.ts'
import { museum, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

/** What clients know of one endpoint: names of query parameters, and paths of members. */
interface Known {
  readonly endpoint: string
  readonly query: readonly string[]
  readonly body: readonly string[]
  readonly answer: readonly string[]
}

/** Endpoints that are not here, each with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  'OPTIONS /WebDAV/{collectionUuid}/{path}': 'what a folder can do is answered by the drive itself, before its routes',
}

/** Members that are not described, each with the reason. */
const undescribed: Readonly<Record<string, string>> = {
  '_collection_pin_codes.pin_code': 'what opens something is not answered',
  claims_supported: 'there are no OpenID tokens',
  id_token_signing_alg_values_supported: 'there are no OpenID tokens',
  subject_types_supported: 'there are no OpenID tokens',
  id_token: 'there are no OpenID tokens',
  'metadata._technical_metadata': 'what a file is is read from the file',
  'publish.native_uri': 'it is `svc_uri` here, and read as that',
  'custom_produce_config.overwrites': 'renditions are those of the base configuration',
}

/** Members of `GET /settings` and `GET /system/status` that are not answered, each with the reason. */
const unanswered: Readonly<Record<string, string>> = {
  version_release_date: 'a checkout has none: test/system/service.test.ts looks at packages',
  build_commit: 'as version_release_date',
  build_commit_time: 'as version_release_date',
  solution: 'left out where it is empty, and it is: it names a product that others have taken their instance over from',
  'objecttypes.avg_time': 'the index is written in batches of all types, so no object has a time of its own',
  'basetypes.avg_time': 'records are searched where they are stored',
  'basetypes.avg_size': 'as basetypes.avg_time',
  'basetypes.total_size': 'as basetypes.avg_time',
}

suite('names of the interface', () => {
  let svc: TestService
  let document: OpenApiDocument
  const known = readNames()
  before(async () => {
    svc = await startService()
    document = (await svc.as(null).get('/system/openapi/spec.json')).body
  })
  after(() => svc[Symbol.asyncDispose]())

  function operations(): Map<string, OpenApiOperation> {
    const all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) => [`${method.toUpperCase()} ${plain(path)}`, operation as OpenApiOperation] as const,
      ),
    )
    return new Map(all)
  }

  const missing = (names: (one: Known, operation: OpenApiOperation) => string[]): string[] => {
    const all = operations()
    return known.flatMap((one) => {
      const operation = all.get(shaped(one.endpoint))
      return operation ? names(one, operation).map((name) => `${one.endpoint}: ${name}`) : []
    })
  }

  test('every endpoint that clients know is there', () => {
    assert.ok(known.length > 150)
    const all = operations()
    const served = svc.app.http.declaredRoutes.map(({ method, url }) => `${method} ${plain(url)}`)
    const whole = new Set([...all.keys(), ...served])
    // Drives, archives and the console take whatever is below one address.
    const below = svc.app.http.declaredRoutes
      .filter(({ url }) => url.endsWith('*'))
      .map(({ method, url }) => `${method} ${plain(url.slice(0, -1))}/`)
    const absent = known.filter(({ endpoint }) => {
      const name = shaped(endpoint)
      return !whole.has(name) && !below.some((start) => `${name}/`.startsWith(start))
    })
    assert.deepEqual(
      absent.map(({ endpoint }) => endpoint),
      Object.keys(elsewhere),
    )
  })

  test('every query parameter that clients know is described', () => {
    assert.deepEqual(
      missing(({ query }, operation) => {
        const described = new Set((operation.parameters ?? []).map((one) => (one as Json).name))
        return query.filter((name) => !described.has(name))
      }),
      [],
    )
  })

  test('every member of bodies and answers that clients know is described', () => {
    const schemaOf = (content: Json): Json | undefined => content?.['application/json']?.schema
    const absent = missing(({ body, answer }, operation) => {
      const sent = schemaOf((operation.requestBody as Json)?.content)
      const answered = schemaOf((operation.responses['200'] as Json)?.content)
      return [
        ...(sent ? body.filter((path) => !has(sent, path.split('.'))) : body),
        ...(answered ? answer.filter((path) => !has(answered, path.split('.'))) : answer),
      ]
    })
    assert.deepEqual(
      [...new Set(absent.map((each) => each.slice(each.indexOf(': ') + 2)))].toSorted(),
      Object.keys(undescribed).toSorted(),
    )
  })

  test('what tells of the instance answers every member that clients know', async () => {
    await commitModel(svc, museum())
    await svc.as('root').post('/db/person', [payload('person', { name: 'Ada' })])
    await svc.drain()
    const absent: string[] = []
    for (const endpoint of ['GET /settings', 'GET /system/status']) {
      const names = known.find((one) => one.endpoint === endpoint)?.answer ?? []
      assert.ok(names.length > 10, endpoint)
      const { status, body } = await svc.as('root').get(endpoint.slice('GET '.length))
      assert.equal(status, 200)
      const inAll = (value: Json, [name, ...rest]: string[]): boolean => {
        if (name === undefined) return true
        if (Array.isArray(value)) return value.length === 0 || value.some((one) => inAll(one, [name, ...rest]))
        return typeof value === 'object' && value !== null && name in value && inAll(value[name], rest)
      }
      absent.push(...names.filter((name) => !inAll(body, name.split('.'))))
    }
    assert.deepEqual(absent.toSorted(), Object.keys(unanswered).toSorted())
  })

  /** Whether a schema describes a member, or leaves open which members there are. */
  function has(schema: Json, path: readonly string[]): boolean {
    const [name, ...rest] = path
    if (name === undefined) return true
    const { $ref } = schema
    if ($ref) return has(referred($ref), path)
    const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
    if (alternatives.some((one) => has(one, path))) return true
    if (schema.items && has(schema.items, path)) return true
    const member = schema.properties?.[name]
    if (member !== undefined) return has(member, rest)
    const pattern = Object.entries<Json>(schema.patternProperties ?? {}).find(([one]) => new RegExp(one).test(name))
    if (pattern) return has(pattern[1], rest)
    const { additionalProperties: open } = schema
    if (typeof open === 'object') return has(open, rest)
    if (schema.type === 'object' && !schema.properties && open === undefined) return true
    return open === true || Object.keys(schema).every((key) => ['description', 'title', 'default'].includes(key))
  }

  function referred(ref: string): Json {
    return ref
      .split('/')
      .slice(1)
      .reduce((value: Json, step) => value[step.replaceAll('~1', '/').replaceAll('~0', '~')], document)
  }
})

/** Without what names a parameter, and without where the interface begins. */
function plain(path: string): string {
  const short = path.replace(/^\/api\/v1(?=\/)/, '').replace(/^\/api(?=\/)/, '')
  return short.replaceAll(/\{[^}]*\}|:\w+|\*/g, '{}').replace(/(?<=.)\/$/, '')
}

function shaped(endpoint: string): string {
  const [method, path = ''] = endpoint.split(' ')
  return `${method} ${plain(path)}`
}

function readNames(): Known[] {
  const lines = readFileSync(join(import.meta.dirname, 'names.txt'), 'utf8').split('\n')
  const lists = new Map(
    lines
      .filter((line) => line.startsWith('='))
      .map((line) => [line.slice(1, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]),
  )
  const listAt = (text: string): string[] => (text.startsWith('=') ? lists.get(text.slice(1)) : text)?.split(' ') ?? []
  const found: { endpoint: string; query: string[]; body: string[]; answer: string[] }[] = []
  for (const line of lines) {
    if (/^[A-Z]+ \//.test(line)) found.push({ endpoint: line, query: [], body: [], answer: [] })
    const said = /^ {2}(query|body|answer) (.*)$/.exec(line)
    const last = found.at(-1)
    if (said && last) last[said[1] as 'query' | 'body' | 'answer'].push(...listAt(said[2] as string))
  }
  return found
}
