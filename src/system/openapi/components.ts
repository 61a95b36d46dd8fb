import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from './model.ts'

/** Collects the named schemas of a document: a schema with a `title` is listed once, all other places refer to it. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>()

  /** The schema in the form of the document. @throws {Error} when two different schemas have the same title. */
  shown(schema: unknown): JsonSchema {
    return this.#shown(plain(schema as JsonSchema))
  }

  get schemas(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #shown(given: JsonSchema): JsonSchema {
    const { 'x-shown-as': replacement, ...schema } = given
    const { title, ...body } = this.#parts(replacement ? { ...onlyTexts(schema), ...replacement } : schema)
    if (title === undefined) return body
    const reference = { $ref: `#/components/schemas/${title}` }
    const known = this.#schemas.get(title)
    if (!known) this.#schemas.set(title, body)
    if (!known || isDeepStrictEqual(known, body)) return reference
    const { description, ...shape } = body
    if (!isDeepStrictEqual({ ...known, description: undefined }, { ...shape, description: undefined })) {
      throw new Error(`two different schemas have the title ${title}`)
    }
    return { ...reference, ...(description === undefined ? {} : { description }) }
  }

  #parts(schema: JsonSchema): JsonSchema {
    const all = (schemas: JsonSchema[]): JsonSchema[] => schemas.map((one) => this.#shown(one))
    const members = (map: Record<string, JsonSchema>): Record<string, JsonSchema> =>
      Object.fromEntries(Object.entries(map).map(([name, one]) => [name, this.#shown(one)]))
    const next = { ...schema }
    for (const key of ['properties', 'patternProperties'] as const) if (schema[key]) next[key] = members(schema[key])
    for (const key of ['anyOf', 'oneOf', 'allOf'] as const) if (schema[key]) next[key] = all(schema[key])
    if (schema.items) next.items = this.#shown(schema.items)
    if (typeof schema.additionalProperties === 'object') {
      next.additionalProperties = this.#shown(schema.additionalProperties)
    }
    return withShortAlternatives(next)
  }
}

/** Without the internal members of the schema library, which do not appear in JSON. */
function plain(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema)) as JsonSchema
}

function onlyTexts({ title, description }: JsonSchema): JsonSchema {
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) }
}

/** A choice of constants is an `enum`, which programs read more easily. */
function withShortAlternatives(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!anyOf?.every((one) => one.const !== undefined)) return schema
  const values = anyOf.map((one) => one.const)
  const type = values.every((value) => typeof value === 'string') ? { type: 'string' } : {}
  return { ...rest, ...type, enum: values }
}
