import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../platform/errors.ts'
import type { Tag } from './model.ts'
import { renderTag } from './render.ts'
import { type TagBody, TagFields } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** The members of every tag in an answer; a form without one of them is only a part of a tag. */
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
 * The fields of a tag. Clients send them as they read them: flat, as a record under `tag`, or in both forms, as in answers. If both
 * are sent, a value that differs from the stored one was changed and counts; the other form was only sent back with it.
 * @throws {AppError} `ServerGeneric` if both were changed, or if one form has only a part of the members: data would be lost.
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

/** The changed members of the flat form that differ from the wrapped form. */
function changes(flat: Fields, wrapped: Fields, known: Fields, place: string): Fields {
  // With an outdated version, the version check refuses the save, with a better message.
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
