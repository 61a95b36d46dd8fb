/** Checks the settings of a pool that other capabilities act on: watermark, caption, janitor policy, mappings. */
import { AppError, badRequest } from '../platform/errors.ts'
import { assertStorable } from '../platform/text.ts'
import type { PoolSettings } from './model.ts'
import type { PoolInput } from './schema.ts'

type Sent = PoolInput['pool']
type Fields = Record<string, unknown>

const gravities = ['nw', 'n', 'ne', 'w', 'c', 'e', 'sw', 's', 'se', '']

/**
 * The settings after a save: absent keys stay, `null` takes a setting away.
 * @throws {AppError} `ServerGeneric` with the path of what is wrong; `LookupNotFound` for a mapping.
 */
export function applySettings(previous: PoolSettings, sent: Sent, place: string): PoolSettings {
  const settings: Record<string, unknown> = { ...previous }
  for (const name of names) {
    const value: unknown = sent[name]
    if (value === undefined) continue
    const path = `${place}.pool.${name}`
    const checked = value === null ? undefined : readers[name](value, path)
    if (checked === undefined) delete settings[name]
    else settings[name] = checked
  }
  return settings
}

const readers: Readonly<Record<keyof PoolSettings, (value: unknown, path: string) => unknown>> = {
  watermark,
  caption,
  janitor_policy: janitorPolicy,
  custom_data(value, path) {
    assertStorable(value, path)
    return record(value, path)
  },
  mapping_dc_export: mapping,
  mapping_image_export: mapping,
  mapping_image_import: mapping,
}

const names = Object.keys(readers) as (keyof PoolSettings)[]

/** How images of the pool are marked. Sizes are judged when an image is made, as they depend on it. */
function watermark(value: unknown, path: string): Fields {
  const sent = record(value, path)
  const { image, gravity, dissolve, size, tile } = sent
  if (gravity !== undefined && !gravities.includes(gravity as string))
    throw wrong(`${path}.gravity`, gravity, gravities)
  if (dissolve !== undefined && !isCount(dissolve, 100)) throw wrong(`${path}.dissolve`, dissolve, '0 to 100')
  if (size !== undefined && typeof size !== 'string') throw wrong(`${path}.size`, size, 'a text')
  if (tile !== undefined && typeof tile !== 'boolean') throw wrong(`${path}.tile`, tile, 'true or false')
  if (image !== undefined && image !== null && !isCount(record(image, `${path}.image`)._id)) {
    throw wrong(`${path}.image._id`, record(image, path)._id, 'the id of a file')
  }
  assertStorable(sent, path)
  return sent
}

/** Texts on images, by file field. */
function caption(value: unknown, path: string): Fields {
  const sent = record(value, path)
  for (const [field, each] of Object.entries(sent)) {
    const place = `${path}.${field}`
    const { text, size, padding, multiline, overlay } = record(each, place)
    if (text !== undefined && typeof text !== 'string') throw wrong(`${place}.text`, text, 'a text')
    if (size !== undefined && !isCaptionSize(size)) throw wrong(`${place}.size`, size, 'pixels or 1% to 50%')
    if (padding !== undefined && !matches(padding, /^(0|[1-9]\d{0,4})$/))
      throw wrong(`${place}.padding`, padding, 'pixels')
    for (const [name, flag] of Object.entries({ multiline, overlay })) {
      if (flag !== undefined && typeof flag !== 'boolean') throw wrong(`${place}.${name}`, flag, 'true or false')
    }
  }
  assertStorable(sent, path)
  return sent
}

function isCaptionSize(value: unknown): boolean {
  return matches(value, /^[1-9]\d{0,4}$/) || matches(value, /^([1-9]|[1-4]\d|50)%$/)
}

/** What is cleaned up and when; an absent block cleans up nothing. */
function janitorPolicy(value: unknown, path: string): Fields {
  const sent = record(value, path)
  const bounds = {
    file_link_delete: ['keep_days_history_versions', 'keep_count_history_versions'],
    object_purge: ['min_deleted_days'],
  }
  const policy: Fields = {}
  for (const [block, names] of Object.entries(bounds)) {
    if (sent[block] === undefined || sent[block] === null) continue
    const fields = record(sent[block], `${path}.${block}`)
    for (const name of names) {
      if (fields[name] === undefined || fields[name] === null || isCount(fields[name])) continue
      throw wrong(`${path}.${block}.${name}`, fields[name], 'an integer from 0')
    }
    policy[block] = Object.fromEntries(
      names.filter((name) => isCount(fields[name])).map((name) => [name, fields[name]]),
    )
  }
  return policy
}

/** There are no mappings yet: `none` switches a mapping off, anything else names one that does not exist. */
function mapping(value: unknown, path: string): string {
  if (value === 'none') return 'none'
  throw new AppError('LookupNotFound', { path, basetype: 'mapping', value })
}

function record(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw wrong(path, value, 'an object')
}

function isCount(value: unknown, most = 1_000_000_000): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function wrong(path: string, value: unknown, expected: string | string[]): AppError {
  const wanted = Array.isArray(expected) ? `one of ${expected.filter(Boolean).join(', ')}` : expected
  return badRequest(`${path} must be ${wanted}`, { path, value, expected })
}
