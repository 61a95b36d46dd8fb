import type { InjectOptions } from 'fastify'
import type { Inject, Json } from './client.ts'

let taken = 0

/** How often something was taken out so far. */
export const takenOut = (): number => taken

/**
 * Takes one parameter or field out of every request of a test, to see whether anything shows its effect: `key` names it
 * as `test/system/effects.walk.ts` does. A test that still passes without it does not (`scripts/effects.ts`).
 */
export function without(key: string, inject: Inject): Inject {
  let document: Promise<Json> | undefined
  const described = async (): Promise<Json> => {
    document ??= inject({ method: 'GET', url: '/api/v1/system/openapi/spec.json' }).then((answer) => answer.json())
    return document
  }
  const [route, parameter] = key.split(' ?')
  return async (request) => {
    const operation = operationOf(await described(), request)
    if (!operation) return inject(request)
    if (parameter !== undefined) return inject(operation.name === route ? withoutQuery(request, parameter) : request)
    return inject(withoutField(request, operation.body, key, (await described()).components.schemas))
  }
}

function operationOf(document: Json, { method = 'GET', url }: InjectOptions): { name: string; body: Json } | undefined {
  const [path = ''] = String(url).split('?')
  // The rest of an address may have slashes.
  const fits = (template: string) =>
    new RegExp(`^${template.replace('{path}', '.+').replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path)
  const operation = (template: string) => document.paths[template][method.toLowerCase()]
  // A path without parameters is meant before one with them.
  const template = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .find((each) => operation(each) && fits(each))
  if (template === undefined) return undefined
  const body = operation(template).requestBody?.content?.['application/json']?.schema
  return { name: `${method} ${template}`, body }
}

function withoutQuery(request: InjectOptions, name: string): InjectOptions {
  const [path, query] = String(request.url).split('?')
  const parameters = new URLSearchParams(query)
  if (parameters.has(name)) taken++
  parameters.delete(name)
  const { query: given, ...rest } = request
  const kept =
    typeof given === 'object' ? Object.fromEntries(Object.entries(given).filter(([key]) => key !== name)) : given
  return {
    ...rest,
    url: parameters.size > 0 ? `${path}?${parameters}` : (path ?? ''),
    ...(kept ? { query: kept } : {}),
  }
}

function withoutField(request: InjectOptions, schema: Json, key: string, schemas: Json): InjectOptions {
  const { payload } = request
  if (!schema || payload === undefined) return request
  const text = typeof payload === 'string'
  let body: Json
  try {
    body = text ? JSON.parse(payload) : structuredClone(payload)
  } catch {
    return request
  }
  strip(body, schema, '', key, schemas)
  return { ...request, payload: text ? JSON.stringify(body) : body }
}

/** Walks a body beside its schema; places are named as in `effects.walk.ts`. */
function strip(value: Json, schema: Json, place: string, key: string, schemas: Json): void {
  if (typeof value !== 'object' || value === null || typeof schema !== 'object' || schema === null) return
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)
    strip(value, schemas[name], name, key, schemas)
    return
  }
  for (const inner of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? []))
    strip(value, inner, place, key, schemas)
  if (Array.isArray(value)) {
    for (const entry of value) strip(entry, schema.items, place, key, schemas)
    return
  }
  for (const name of Object.keys(value)) {
    const member = schema.properties?.[name]
    if (member && `${place}.${name}` === key) {
      delete value[name]
      taken++
    } else strip(value[name], member ?? schema.additionalProperties, member ? `${place}.${name}` : place, key, schemas)
  }
}
