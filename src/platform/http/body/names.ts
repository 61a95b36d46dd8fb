import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { badRequest } from '../../errors.ts'
import type { NamedSchema as Schema } from '../../values/named-members.ts'
import { nearestName } from '../../values/nearest.ts'
import { once } from '../../values/once.ts'
import { declarationOf } from '../http.ts'
import { noteIgnored } from '../ignored.ts'
import { isStrict } from '../query-names.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The members that a body may have, learned from the schemas of the route; null: any. */
    bodyNames?: () => Shape | null
  }
}

/**
 * Names that have a meaning at one place of a body; null where any name has. The value is evaluated only when the body has the
 * member.
 */
export interface Shape {
  readonly keys: ReadonlyMap<string, () => Shape | null>
  /** Known members that are refused when they have a value, each with the reason: `x-refused` in their schema. */
  readonly refused: ReadonlyMap<string, string>
  /** For the members of a map, in which any name is valid. */
  readonly values: (() => Shape | null) | undefined
  /** For the entries of a list. */
  readonly items: () => Shape | null
}

/** Learns the members that a body may have: those that the route reads, and those of its answers, since clients send them back. */
export function learnBodyNames(route: RouteOptions): void {
  const schema = route.schema as { body?: Schema; response?: Record<string, Schema> } | undefined
  const body = schema?.body
  // A request that reads either has a handler that refuses unknown members (search), or may have any members (RFC 6749, 3.2).
  if (!body || route.config?.unknownQuery !== 'refuse') return
  const answer = schema.response?.[200]
  route.config = { ...route.config, bodyNames: once(() => shapeOf([body], answer ? [answer] : [])) }
}

/**
 * The member names that the schemas of one place allow together; null when one of them allows any. The schemas of answers add the
 * members that clients send back.
 */
function shapeOf(schemas: readonly Schema[], answers: readonly Schema[]): Shape | null {
  const own = schemas.flatMap(alternatives)
  if (own.some(isFree)) return null
  const shown = answers.flatMap(alternatives)
  const keys = new Map<string, () => Shape | null>()
  const refused = new Map<string, string>()
  const ofKeys = membersOf(own)
  const ofAnswers = membersOf(shown)
  for (const [name, found] of ofKeys) {
    for (const { 'x-refused': reason } of found.flatMap(alternatives))
      if (reason !== undefined) refused.set(name, reason)
    keys.set(
      name,
      once(() => shapeOf(found, ofAnswers.get(name) ?? [])),
    )
  }
  // Members that are only in answers are not read, so their contents are not checked.
  for (const name of ofAnswers.keys()) if (!keys.has(name)) keys.set(name, () => null)
  const values = own.flatMap(mapValues)
  const items = own.flatMap((schema) => schema.items ?? [])
  return {
    keys,
    refused,
    values: values.length > 0 ? once(() => shapeOf(values, shown.flatMap(mapValues))) : undefined,
    items: once(() =>
      items.length === 0
        ? null
        : shapeOf(
            items,
            shown.flatMap((schema) => schema.items ?? []),
          ),
    ),
  }
}

function membersOf(schemas: readonly Schema[]): Map<string, Schema[]> {
  const members = new Map<string, Schema[]>()
  for (const { properties } of schemas) {
    for (const [name, schema] of Object.entries(properties ?? {})) {
      members.set(name, [...(members.get(name) ?? []), schema])
    }
  }
  return members
}

function alternatives(schema: Schema): Schema[] {
  const named = schema['x-names']
  if (named) return alternatives(named())
  const inner = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? [])
  return inner.length > 0 ? inner.flatMap(alternatives) : [schema]
}

function mapValues({ patternProperties, additionalProperties }: Schema): Schema[] {
  return [
    ...Object.values(patternProperties ?? {}),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
}

/** A schema without a type, or an object schema without properties. */
function isFree(schema: Schema): boolean {
  if (schema.type === undefined) return schema.const === undefined && schema.enum === undefined
  const empty = Object.keys(schema.properties ?? {}).length === 0 && mapValues(schema).length === 0
  return [schema.type].flat().includes('object') && empty && schema.additionalProperties !== false
}

const mostPaths = 20

interface Found {
  readonly paths: string[]
  more: number
  nearest: string | null
}

/**
 * Bodies may have more members than are known (specification, Object rules, 4), but a misspelled member would leave the intended
 * one unchanged: so members without effect are named, or refused with `strict`.
 */
export function checkBodyNames(request: FastifyRequest, reply: FastifyReply): void {
  const shape = declarationOf(request).bodyNames?.()
  if (!shape) return
  const found: Found = { paths: [], more: 0, nearest: null }
  walk(request.body, shape, '', found)
  const [first] = found.paths
  if (first === undefined) return
  if (!isStrict(request)) {
    noteIgnored(reply, found.paths, found.more)
    return
  }
  const { nearest } = found
  throw badRequest(`${first} would have no effect${nearest === null ? '' : `; did you mean ${nearest}?`}`, {
    name: first,
    ignored: found.paths,
    ...(nearest === null ? {} : { nearest }),
  })
}

function walk(value: unknown, shape: Shape | null, place: string, found: Found): void {
  if (!shape || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    const items = shape.items()
    if (items) for (const [index, entry] of value.entries()) walk(entry, items, `${place}${index}.`, found)
    return
  }
  for (const [key, member] of Object.entries(value)) {
    const reason = shape.refused.get(key)
    if (reason !== undefined && saysSomething(member)) {
      throw badRequest(`${place}${key}: ${reason}`, { name: `${place}${key}` })
    }
    const inner = shape.keys.get(key) ?? shape.values
    if (inner) walk(member, inner(), `${place}${key}.`, found)
    else note(found, place + key, key, shape)
  }
}

function note(found: Found, path: string, key: string, shape: Shape): void {
  if (found.paths.length === 0) found.nearest = nearestName(key, shape.keys.keys())
  if (found.paths.length < mostPaths) found.paths.push(path)
  else found.more++
}

/** Records are answered with every member, and sent back; an empty member asks for nothing. */
export function saysSomething(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(saysSomething)
  return value !== null && value !== undefined && value !== '' && value !== false
}
