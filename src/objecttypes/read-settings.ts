import { isDeepStrictEqual } from 'node:util'
import type { Model, Table } from '../datamodel/model.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { assertStorable } from '../platform/values/text.ts'
import { readFilenameTemplates } from './filename-template.ts'
import { readCaption, readJanitorPolicy, readWatermark, record, wrong } from './media-settings.ts'
import type { ObjecttypeFields, ObjecttypeSettings, ObjecttypeTag } from './model.ts'
import type { ObjecttypeInput } from './schema.ts'

/** One descriptor of a request, with its object type and stored settings. */
export interface Work {
  readonly input: ObjecttypeInput
  readonly table: Table
  readonly stored: ObjecttypeSettings
  /** `body[3]`, for errors. */
  readonly place: string
}

/** Settings that are read here. Grants, transitions and the contact are read by their capabilities. */
export type OwnSettings = Omit<ObjecttypeSettings, 'acl' | 'transitions' | 'contact'>

/** The settings after a save, as far as they are read here. Absent members keep their value, `null` clears them. */
export function readSettings(work: Work, model: Model): OwnSettings {
  const { input, stored, table, place } = work
  return {
    standardMasks: readStandardMasks(work, model),
    privateTags: input._private_tags ?? (input._private_tags === null ? false : stored.privateTags),
    tags: readTags(work),
    privateTransitions:
      input._private_transitions ?? (input._private_transitions === null ? false : stored.privateTransitions),
    exportAssetFilenames:
      input._export_asset_filenames === undefined
        ? stored.exportAssetFilenames
        : readFilenameTemplates(input._export_asset_filenames, `${place}._export_asset_filenames`, table),
    maskfilters: readMaskfilters(work, model),
    columnfilters: readColumnfilters(work),
    fields: readFields(work),
  }
}

function readStandardMasks({ input, stored, table, place }: Work, model: Model): readonly number[] | null {
  const masks = input._standard_masks
  if (masks === undefined) return stored.standardMasks
  if (masks === null) return null
  const path = `${place}._standard_masks`
  if (masks.length === 0) throw new AppError('ObjecttypeNeedsStandardMask', { path, objecttype: table.name })
  for (const id of masks) {
    if (model.masksById.get(id)?.table === table) continue
    throw badRequest(`${path}: the object type ${table.name} has no mask ${id}`, { path, mask: id })
  }
  return [...new Set(masks)]
}

/** `_tags`, or `tags` as in the specification; both are the same list. */
export function eitherName(work: Work, own: '_tags' | '_transitions', other: 'tags' | 'transitions'): unknown {
  const [first, second] = [work.input[own], work.input[other]]
  if (first !== undefined && second !== undefined && !isDeepStrictEqual(first, second)) {
    throw badRequest(`${work.place}: ${own} and ${other} are the same field and differ`, {
      path: `${work.place}.${other}`,
    })
  }
  return first === undefined ? second : first
}

function readTags(work: Work): readonly ObjecttypeTag[] {
  const sent = eitherName(work, '_tags', 'tags') as ObjecttypeInput['_tags']
  if (sent === undefined) return work.stored.tags
  const path = `${work.place}._tags`
  const seen = new Set<number>()
  return (sent ?? []).map(({ _id, enabled, is_default }, index) => {
    if (seen.has(_id))
      throw badRequest(`${path}[${index}]._id: the tag is there already`, { path: `${path}[${index}]._id`, value: _id })
    seen.add(_id)
    return {
      id: _id,
      ...(typeof enabled === 'boolean' ? { enabled } : {}),
      ...(typeof is_default === 'boolean' ? { isDefault: is_default } : {}),
    }
  })
}

const filterSlots = ['all', 'any', 'not', 'changed']

/** The tag filter of the objects that are shown in the mask, by mask id. */
function readMaskfilters({ input, stored, table, place }: Work, model: Model): ObjecttypeSettings['maskfilters'] {
  if (input._maskfilters === undefined) return stored.maskfilters
  for (const [mask, filter] of Object.entries(input._maskfilters ?? {})) {
    const path = `${place}._maskfilters.${mask}`
    if (!/^[1-9]\d{0,9}$/.test(mask) || model.masksById.get(Number(mask))?.table !== table) {
      throw badRequest(`${path}: the object type ${table.name} has no such mask`, { path, mask })
    }
    const tagfilter = record(filter, path).tagfilter
    if (tagfilter === undefined || tagfilter === null) continue
    for (const [slot, ids] of Object.entries(record(tagfilter, `${path}.tagfilter`))) {
      const valid = Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id) && id > 0)
      if (filterSlots.includes(slot) && !valid && ids !== null)
        throw wrong(`${path}.tagfilter.${slot}`, ids, 'an array of tag ids')
    }
  }
  assertStorable(input._maskfilters, `${place}._maskfilters`)
  return (input._maskfilters ?? {}) as ObjecttypeSettings['maskfilters']
}

/** Filters of linked objects, for front ends: stored as sent. */
function readColumnfilters({ input, stored, place }: Work): ObjecttypeSettings['columnfilters'] {
  if (input._columnfilters === undefined) return stored.columnfilters
  assertStorable(input._columnfilters, `${place}._columnfilters`)
  return (input._columnfilters ?? []) as ObjecttypeSettings['columnfilters']
}

/** All tags in a request, with the path of each, so that their existence can be checked with one statement. */
export function tagIdsOf({ input, place }: Work, settings: OwnSettings): Map<number, string> {
  const ids = new Map<number, string>()
  if (input._tags !== undefined || input.tags !== undefined) {
    for (const [index, tag] of settings.tags.entries()) ids.set(tag.id, `${place}._tags[${index}]._id`)
  }
  if (input._maskfilters === undefined) return ids
  for (const [mask, filter] of Object.entries(settings.maskfilters)) {
    for (const slot of Object.values((filter.tagfilter ?? {}) as Record<string, unknown>)) {
      for (const id of Array.isArray(slot) ? slot : []) ids.set(id, `${place}._maskfilters.${mask}`)
    }
  }
  return ids
}

function readFields(work: Work): ObjecttypeFields {
  const { input, stored, place } = work
  const fields: Record<string, unknown> = { ...stored.fields }
  for (const [name, read] of Object.entries(readers)) {
    const value: unknown = input.objecttype[name as keyof typeof readers]
    if (value === undefined) continue
    const path = `${place}.objecttype.${name}`
    const checked = value === null ? undefined : read(value, path, work)
    if (checked === undefined) delete fields[name]
    else fields[name] = checked
  }
  return fields
}

type Reader = (value: unknown, path: string, work: Work) => unknown

const asSent: Reader = (value, path) => {
  assertStorable(value, path)
  return value
}

/** Members of the `objecttype` block that are stored; their JSON types are checked by the schema of the route. */
const readers: Readonly<Record<Exclude<keyof ObjecttypeFields, 'caption_set_by'>, Reader>> = {
  mapping_image_export: asSent,
  mapping_image_import: asSent,
  mapping_dc_export: asSent,
  mapping_image_import_recipe_configs: asSent,
  show_in_collections: asSent,
  show_in_facet_grouping: asSent,
  show_in_main_menu_with_icon: asSent,
  empty_placeholder_icon: asSent,
  description: asSent,
  custom_data: asSent,
  watermark: readWatermark,
  caption: (value, path, { table }) => readCaption(value, path, table),
  // Objects with pools follow the policy of their pool (OTAPI-013).
  janitor_policy: (value, path, { table }) => {
    const policy = readJanitorPolicy(value, path)
    return table.poolLink ? undefined : policy
  },
}
