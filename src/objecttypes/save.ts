import { isDeepStrictEqual } from 'node:util'
import type { Model, Table } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Tx } from '../platform/postgres/db.ts'
import {
  type Person,
  parseWho,
  type RightsService,
  requireGivingEverywhere,
  type StoredGrant,
} from '../rights/service.ts'
import type { KeptTags } from '../tags/service.ts'
import type { ListChange, TransitionService } from '../transitions/service.ts'
import { withCaptionSetter } from './media-settings.ts'
import { type ObjecttypeSettings, type RequireMappings, type StoredObjecttype, shownMappings } from './model.ts'
import { eitherName, type OwnSettings, readSettings, tagIdsOf, type Work } from './read-settings.ts'
import type { ObjecttypeInput } from './schema.ts'
import * as store from './store.ts'

/** @throws {AppError} `ServerGeneric` when there is no such object type. */
export function requireTable(model: Model, id: number, path: string): Table {
  const table = model.tablesById.get(id)
  if (table?.kind === 'object') return table
  throw badRequest(`There is no object type ${id}.`, { path, objecttype_id: id })
}

export interface SaveContext {
  readonly tx: Tx
  readonly actor: Actor
  readonly model: Model
  readonly rights: RightsService
  readonly tags: Pick<KeptTags, 'existing'>
  readonly transitions: Pick<TransitionService, 'validateLists'>
  readonly requireMappings: RequireMappings
}

/** Checks a request as a whole; returns the new settings and the stored ones. Transitions log their own changes. */
export async function saveAll(
  context: SaveContext,
  inputs: readonly ObjecttypeInput[],
): Promise<{ readonly objecttypes: readonly StoredObjecttype[]; readonly before: readonly ObjecttypeSettings[] }> {
  const { tx, actor, model } = context
  const works = await identify(context, inputs)
  const settings = works.map((work) => {
    const read = readSettings(work, model)
    return { ...read, fields: withCaptionSetter(work.stored.fields, read.fields, actor.userId) }
  })
  await requireTags(context, works, settings)
  await requireMappings(context, works, settings)
  const [acls, contacts] = [await readAcls(context, works), await readContacts(context, works)]
  const transitions = await context.transitions.validateLists(tx, actor, works.map(transitionChange))
  const objecttypes = works.map((work, index) => ({
    id: work.table.id,
    version: work.input.objecttype._version,
    settings: {
      ...(settings[index] as ReturnType<typeof readSettings>),
      acl: acls[index] ?? [],
      contact: contacts[index] ?? null,
      transitions: transitions[index] ?? [],
    },
  }))
  await requireGiving(context, works, objecttypes)
  return { objecttypes, before: works.map(({ stored }) => stored) }
}

/** Settings that give rights, by themselves or together with existing grants. */
const giving = [
  ['standardMasks', '_standard_masks'],
  ['maskfilters', '_maskfilters'],
  ['tags', '_tags'],
  ['privateTags', '_private_tags'],
  ['transitions', '_transitions'],
  ['privateTransitions', '_private_transitions'],
] as const satisfies readonly (readonly [keyof ObjecttypeSettings, string])[]

/**
 * Objects in pools get their rights from the pools, so settings of their object types that give rights require the right to give
 * them anywhere. Objects without pools get their rights from the object type itself.
 */
async function requireGiving(
  { actor, rights }: SaveContext,
  works: readonly Work[],
  objecttypes: readonly StoredObjecttype[],
): Promise<void> {
  for (const [index, { table, stored, place }] of works.entries()) {
    const settings = objecttypes[index]?.settings
    if (!settings || !table.poolLink) continue
    const given = giving.find(([field]) => !isDeepStrictEqual(settings[field], stored[field]))
    if (given) await requireGivingEverywhere(rights, actor, `${place}.${given[1]}`)
    if (!isDeepStrictEqual(settings.fields.caption, stored.fields.caption))
      await requireGivingEverywhere(rights, actor, `${place}.objecttype.caption`)
  }
}

/** The object types of the request, each once, in their next versions. */
async function identify({ tx, model }: SaveContext, inputs: readonly ObjecttypeInput[]): Promise<Work[]> {
  const stored = await store.lockObjecttypes(
    tx,
    inputs.map((input) => input.objecttype._id),
  )
  const seen = new Set<number>()
  return inputs.map((input, index) => {
    const place = `body[${index}]`
    const { _id, _version, name } = input.objecttype
    const table = requireTable(model, _id, `${place}.objecttype._id`)
    const current = stored.get(_id)
    if (!current)
      throw badRequest(`There is no object type ${_id}.`, { path: `${place}.objecttype._id`, objecttype_id: _id })
    if (seen.has(_id)) throw badRequest(`${place}: the object type is there twice`, { path: place, objecttype_id: _id })
    seen.add(_id)
    if (_version !== current.version + 1) {
      throw new AppError('VersionMismatch', {
        path: `${place}.objecttype._version`,
        objecttype: table.name,
        got: _version,
        expected: current.version + 1,
      })
    }
    if (name !== undefined && name !== null && name !== table.name) {
      const path = `${place}.objecttype.name`
      throw badRequest(`${path}: names are those of the datamodel`, { path, value: name, expected: table.name })
    }
    return { input, table, stored: current.settings, place }
  })
}

type Settings = readonly ReturnType<typeof readSettings>[]

async function requireTags({ tx, tags }: SaveContext, works: readonly Work[], settings: Settings): Promise<void> {
  const ids = new Map(works.flatMap((work, index) => [...tagIdsOf(work, settings[index]!)]))
  if (ids.size === 0) return
  const found = await tags.existing(tx, [...ids.keys()])
  for (const [id, path] of ids) if (!found.has(id)) throw new AppError('TagNotFound', { path, id })
}

const mappingUses = {
  mapping_image_export: 'exiftool_export',
  mapping_image_import: 'exiftool_import',
  mapping_dc_export: 'dc_export',
} as const
const mappingNames = Object.keys(mappingUses) as (keyof typeof mappingUses)[]

/**
 * Each value must be `none` or the id of a mapping (OTAPI-007) for this object type; the stored value may be sent back. Recipes are
 * allowed only together with a mapping for imports (OTAPI-008).
 */
async function requireMappings({ tx, requireMappings }: SaveContext, works: readonly Work[], settings: Settings) {
  const named = works.flatMap(({ input, stored, table, place }) =>
    mappingNames.flatMap((name) => {
      const value = input.objecttype[name]
      const same = value === stored.fields[name] || (stored.fields[name] === undefined && value === shownMappings[name])
      if (value === undefined || value === null || value === 'none' || same) return []
      const path = `${place}.objecttype.${name}`
      if (typeof value === 'number') return { id: value, use: mappingUses[name], table: table.id, path }
      throw badRequest(`${path} must be none or the id of a mapping`, { path, value, expected: 'none or an id' })
    }),
  )
  const recipes = works.flatMap((work, index) => recipesOf(work, settings[index]?.fields ?? {}))
  await requireMappings(tx, [...named, ...recipes])
}

/** Recipes of the mapping for imports, where they or the mapping are others than before. */
function recipesOf({ stored, table, place }: Work, fields: OwnSettings['fields']) {
  const { mapping_image_import: mapping, mapping_image_import_recipe_configs: sent } = fields
  if (Object.keys(sent ?? {}).length === 0) return []
  const before = stored.fields
  if (mapping === before.mapping_image_import && isDeepStrictEqual(sent, before.mapping_image_import_recipe_configs))
    return []
  const path = `${place}.objecttype.mapping_image_import_recipe_configs`
  if (typeof mapping !== 'number') {
    throw badRequest(`${path}: recipes need a mapping for imports`, {
      path,
      expected: 'a mapping in mapping_image_import',
    })
  }
  const use = mappingUses.mapping_image_import
  return [{ id: mapping, use, table: table.id, path, recipes: { sent, path, by: 'manager' as const } }]
}

/** Objects in pools get their rights from the pool, so only object types without pool have grants. */
async function readAcls(
  { tx, actor, rights }: SaveContext,
  works: readonly Work[],
): Promise<(readonly StoredGrant[])[]> {
  const changed = works.filter((work) => work.input._acl !== undefined)
  for (const { input, table, place } of changed) {
    if (!table.poolLink || !input._acl?.length) continue
    throw badRequest(`${place}._acl: objects of ${table.name} are in pools, which hold the grants`, {
      path: `${place}._acl`,
    })
  }
  const lists = await rights.validateAcls(
    tx,
    actor,
    'objecttype-without-pool',
    changed.map(({ input, stored, place }) => ({
      wire: input._acl,
      previous: stored.acl,
      shown: true,
      place: `${place}._acl`,
    })),
  )
  const byWork = new Map(changed.map((work, index) => [work, lists[index] ?? []]))
  return works.map((work) => byWork.get(work) ?? work.stored.acl)
}

async function readContacts({ tx, actor, rights }: SaveContext, works: readonly Work[]): Promise<(Person | null)[]> {
  const named = works.filter((work) => work.input.objecttype.contact)
  const found = await rights.resolveWho(
    tx,
    named.map(({ input, place }) => parseWho(input.objecttype.contact, `${place}.objecttype.contact`)),
    { actor, shown: named.map(({ stored }) => stored.contact) },
  )
  const byWork = new Map(named.map((work, index) => [work, found[index] as Person]))
  return works.map((work) => byWork.get(work) ?? (work.input.objecttype.contact === null ? null : work.stored.contact))
}

function transitionChange(work: Work): ListChange {
  const sent = eitherName(work, '_transitions', 'transitions')
  return {
    wire: sent === undefined ? work.stored.transitions : (sent ?? []),
    previous: work.stored.transitions,
    path: `${work.place}._transitions`,
  }
}
