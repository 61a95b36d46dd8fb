import type { Json } from '../support/client.ts'

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** `always`: what it asks for is done whether it is set or not. */
export interface Settable {
  readonly name: string
  readonly refused: boolean
  readonly always?: boolean
}

/** What a caller can set, by the description of the interface: `GET /db/list ?limit`, `PoolInput.pool.name`. */
export function settable(document: Json): Map<string, Settable> {
  const found = new Map<string, Settable>()
  const schemas: Json = document.components?.schemas ?? {}
  const bodies = new Set<string>()
  for (const [path, item] of Object.entries<Json>(document.paths)) {
    for (const method of methods) {
      const operation = item[method]
      if (!operation) continue
      for (const { in: place, name, schema, 'x-refused': reason } of operation.parameters ?? []) {
        if (place !== 'query') continue
        const refused = (reason ?? schema?.['x-refused']) !== undefined
        const always = schema?.['x-always'] === true
        found.set(`${method.toUpperCase()} ${path} ?${name}`, { name, refused, always })
      }
      collect(operation.requestBody, schemas, bodies)
    }
  }
  for (const name of bodies) fields(schemas[name], name, found)
  return found
}

/** Names of the schemas that a body leads to. */
function collect(node: Json, schemas: Json, into: Set<string>): void {
  if (typeof node !== 'object' || node === null) return
  const name = typeof node.$ref === 'string' ? node.$ref.split('/').at(-1) : undefined
  if (name !== undefined && !into.has(name)) {
    into.add(name)
    collect(schemas[name], schemas, into)
  }
  for (const member of Object.values(node)) collect(member, schemas, into)
}

function fields(schema: Json, place: string, found: Map<string, Settable>): void {
  for (const inner of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? []))
    fields(inner, place, found)
  if (schema.items) fields(schema.items, place, found)
  if (typeof schema.additionalProperties === 'object') fields(schema.additionalProperties, place, found)
  for (const [name, member] of Object.entries<Json>(schema.properties ?? {})) {
    if (member.readOnly === true) continue
    found.set(`${place}.${name}`, { name, refused: member['x-refused'] !== undefined })
    fields(member, `${place}.${name}`, found)
  }
}
