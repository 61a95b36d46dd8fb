import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../platform/errors.ts'
import type { Tag } from './model.ts'
import { renderTag } from './render.ts'
import { type TagBody, TagFields } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** What every answered tag has; a form without one of them is a part of a tag. */
const always = [
  '_id',
  'displayname',
  'description',
  'frontend_prefs',
  'enabled',
  'is_default',
  'sticky',
  'type',
  'displaytype',
]

/**
 * The fields of a tag. Clients send them as they read them: flat, as a record under `tag`, or in both forms, as they are
 * answered. Of both, whatever is not as it is stored was changed and counts; the other form was only sent back with it.
 * @throws {AppError} `ServerGeneric` where both were changed, or one form is a part only: something would be lost.
 */
export function unwrapped(body: TagBody, stored: ReadonlyMap<number, Tag>, place: string): TagFields {
  const { tag, _basetype, ...fields } = body
  if (!fieldNames.some((name) => name in (tag ?? fields))) {
    throw badRequest(`${place} has no field of a tag`, { name: place })
  }
  if (tag === undefined) return fields
  const acl = tag._acl ?? fields._acl
  const grants = acl === undefined ? {} : { _acl: acl && [...(tag._acl ?? []), ...(fields._acl ?? [])] }
  const beside = contentNames.find((name) => name in fields)
  if (beside === undefined) return { ...tag, ...grants }
  if (![fields, tag].every((form) => always.every((name) => name in form))) {
    const name = `${place}.${beside}`
    throw badRequest(`${name} stands beside tag, where the fields of a wrapped tag are`, { name })
  }
  const before = stored.get(tag._id ?? 0)
  const known: Fields = before ? renderTag(before) : {}
  return { ...tag, ...changes(fields, tag, known, place), ...grants }
}

const fieldNames = Object.keys(TagFields.properties)
const contentNames = fieldNames.filter((name) => name !== '_acl')

/** What the flat form says otherwise than the wrapped one, and was changed. */
function changes(flat: Fields, wrapped: Fields, known: Fields, place: string): Fields {
  // Then the version refuses it, with the better reason.
  const stale = ![flat, wrapped].some((form) => same(form._version, known._version))
  const said: Record<string, unknown> = {}
  for (const name of contentNames) {
    if (same(flat[name], wrapped[name]) || same(flat[name], known[name])) continue
    if (!stale && !same(wrapped[name], known[name])) {
      const at = `${place}.${name}`
      throw badRequest(`${at} and ${place}.tag.${name} are two changes of the same`, { name: at })
    }
    said[name] = flat[name]
  }
  return said
}

const same = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one ?? null, other ?? null)
