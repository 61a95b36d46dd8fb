/** Checks the settings of a pool that other capabilities use: watermark, caption, janitor policy, mappings. */
import { readCaption, readJanitorPolicy, readWatermark, record, withCaptionSetter } from '../objecttypes/service.ts'
import { AppError } from '../platform/errors.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { PoolSettings } from './model.ts'
import type { PoolInput } from './schema.ts'

type Sent = PoolInput['pool']

/**
 * The settings after a save: absent members stay, `null` removes a setting.
 * @throws {AppError} `ServerGeneric` with the path and the reason; `LookupNotFound` for a value that cannot be a mapping.
 */
export function applySettings(previous: PoolSettings, sent: Sent, place: string, userId: number): PoolSettings {
  const settings: Record<string, unknown> = { ...previous }
  for (const name of names) {
    const value: unknown = sent[name]
    if (value === undefined) continue
    const path = `${place}.pool.${name}`
    const checked = value === null ? undefined : readers[name](value, path)
    if (checked === undefined) delete settings[name]
    else settings[name] = checked
  }
  return withCaptionSetter(previous, settings, userId)
}

type Sendable = Exclude<keyof PoolSettings, 'caption_set_by'>

const readers: Readonly<Record<Sendable, (value: unknown, path: string) => unknown>> = {
  watermark: readWatermark,
  // A pool holds objects of any type, so the file fields are known only when an image is created.
  caption: (value, path) => readCaption(value, path, null),
  janitor_policy: readJanitorPolicy,
  custom_data(value, path) {
    assertStorable(value, path)
    return record(value, path)
  },
  mapping_dc_export: mapping,
  mapping_image_export: mapping,
  mapping_image_import: mapping,
}

const names = Object.keys(readers) as Sendable[]

/** `none` switches a mapping off, `objecttype` uses the mapping of the object type, an id refers to one (see `namedMappings`). */
function mapping(value: unknown, path: string): string | number {
  if (value === 'none' || value === 'objecttype') return value
  if (typeof value === 'number') return value
  throw new AppError('LookupNotFound', { path, basetype: 'mapping', value })
}

const mappingUses = {
  mapping_dc_export: 'dc_export',
  mapping_image_export: 'exiftool_export',
  mapping_image_import: 'exiftool_import',
} as const

/** The mappings that a pool newly refers to; the stored one may be sent back. */
export function namedMappings(previous: PoolSettings, sent: Sent, place: string) {
  return (Object.keys(mappingUses) as (keyof typeof mappingUses)[]).flatMap((name) => {
    const id = sent[name]
    if (typeof id !== 'number' || id === previous[name]) return []
    return { id, use: mappingUses[name], path: `${place}.pool.${name}` }
  })
}
