import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../platform/actor.ts'
import type { Tx } from '../platform/db.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Task } from '../platform/tasks.ts'
import { type Person, parseWho, type RightsService, type StoredGrant } from '../rights/service.ts'
import type { Model, Table } from './model.ts'
import type { ObjecttypeSettings, ObjecttypeTransition, StoredObjecttype } from './objecttype-model.ts'
import type { ObjecttypeParts } from './objecttype-parts.ts'
import type { ObjecttypeInput } from './objecttype-schema.ts'
import { eitherName, readSettings, tagIdsOf, type Work } from './objecttype-settings.ts'
import * as store from './objecttype-store.ts'

export interface SaveOptions {
  readonly confirm?: 'resync' | 'skip'
  readonly allowInvalidAcl: boolean
}

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
  readonly parts: ObjecttypeParts
}

/** The settings to write, or what has to be answered before. */
export interface Outcome {
  readonly tasks: Task[]
  readonly saved: readonly StoredObjecttype[]
}

/** Checks a request as a whole and gives what is to be written; transitions log their own changes. */
export async function saveAll(
  context: SaveContext,
  inputs: readonly ObjecttypeInput[],
  options: SaveOptions,
): Promise<Outcome> {
  const { tx, actor, model, parts } = context
  const works = await identify(context, inputs)
  const settings = works.map((work) => readSettings(work, model))
  await requireTags(context, works, settings)
  await requireMappings(context, works, settings)
  const [acls, contacts] = [await readAcls(context, works), await readContacts(context, works)]
  if (options.allowInvalidAcl) await refuseInvalidAcl(context, works)
  const marked = works.filter((work, index) => marksDiffer(work.stored, settings[index]?.fields))
  const tasks = options.confirm === undefined ? await renditionTasks(context, marked) : []
  if (tasks.length > 0) return { tasks, saved: [] }

  const transitions = await parts.changeTransitions(tx, actor, works.map(transitionChange))
  if (options.confirm === 'resync' && marked.length > 0) {
    await parts.resyncRenditions(
      tx,
      marked.map((work) => work.table.id),
    )
  }
  const saved = works.map((work, index) => ({
    id: work.table.id,
    version: work.input.objecttype._version,
    settings: {
      ...(settings[index] as ReturnType<typeof readSettings>),
      acl: acls[index] ?? [],
      contact: contacts[index] ?? null,
      transitions: transitions[index] ?? [],
    },
  }))
  return { tasks: [], saved }
}

/** Which object types are meant; each once, in its next version. */
async function identify({ tx, model }: SaveContext, inputs: readonly ObjecttypeInput[]): Promise<Work[]> {
  const stored = await store.lockObjecttypes(
    tx,
    inputs.map((input) => input.objecttype._id),
  )
  const seen = new Set<number>()
  return inputs.map((input, index) => {
    const place = `body[${index}]`
    const { _id, _version } = input.objecttype
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
    return { input, table, stored: current.settings, place }
  })
}

type Settings = readonly ReturnType<typeof readSettings>[]

async function requireTags({ tx, parts }: SaveContext, works: readonly Work[], settings: Settings): Promise<void> {
  const ids = new Map(works.flatMap((work, index) => [...tagIdsOf(work, settings[index]!)]))
  if (ids.size === 0) return
  const found = await parts.existingTags(tx, [...ids.keys()])
  for (const [id, path] of ids) if (!found.has(id)) throw new AppError('TagNotFound', { path, id })
}

const mappingNames = ['mapping_image_export', 'mapping_image_import', 'mapping_dc_export'] as const

/** `none` or the id of a mapping (OTAPI-007); recipes only beside a real mapping for imports (OTAPI-008). */
async function requireMappings({ tx, parts }: SaveContext, works: readonly Work[], settings: Settings): Promise<void> {
  const wanted = works.flatMap(({ input, place }) =>
    mappingNames.flatMap((name) => {
      const value = input.objecttype[name]
      if (value === undefined || value === null || value === 'none') return []
      return { value, path: `${place}.objecttype.${name}` }
    }),
  )
  const ids = wanted.map(({ value }) => value).filter((value) => typeof value === 'number')
  const found = ids.length === 0 ? new Set<number>() : await parts.existingMappings(tx, ids)
  for (const { value, path } of wanted) {
    if (typeof value === 'number' && found.has(value)) continue
    throw badRequest(`${path} must be none or the id of a mapping`, {
      path,
      value,
      expected: 'none or the id of a mapping',
    })
  }
  for (const [index, { place, input }] of works.entries()) {
    const { mapping_image_import_recipe_configs: recipes, mapping_image_import: mapping } =
      settings[index]?.fields ?? {}
    if (recipes === undefined || Object.keys(recipes).length === 0 || typeof mapping === 'number') continue
    const sent = input.objecttype.mapping_image_import_recipe_configs
    const path = `${place}.objecttype.${sent ? 'mapping_image_import_recipe_configs' : 'mapping_image_import'}`
    throw badRequest(`${path}: recipes need a mapping for imports`, {
      path,
      expected: 'a mapping in mapping_image_import',
    })
  }
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
    changed.map(({ input, stored, place }) => ({ wire: input._acl, previous: stored.acl, place: `${place}._acl` })),
  )
  const byWork = new Map(changed.map((work, index) => [work, lists[index] ?? []]))
  return works.map((work) => byWork.get(work) ?? work.stored.acl)
}

async function readContacts({ tx, rights }: SaveContext, works: readonly Work[]): Promise<(Person | null)[]> {
  const named = works.filter((work) => work.input.objecttype.contact)
  const found = await rights.resolveWho(
    tx,
    named.map(({ input, place }) => parseWho(input.objecttype.contact, `${place}.objecttype.contact`)),
  )
  const byWork = new Map(named.map((work, index) => [work, found[index] as Person]))
  return works.map((work) => byWork.get(work) ?? (work.input.objecttype.contact === null ? null : work.stored.contact))
}

async function refuseInvalidAcl({ tx, actor, parts }: SaveContext, works: readonly Work[]): Promise<void> {
  const collections = await parts.collectionsWithoutAclRight(
    tx,
    actor,
    works.map((work) => work.table.id),
  )
  if (collections.length === 0) return
  throw new AppError('UrlParameterNotSupported', { param: 'allow_invalid_acl', collections })
}

function transitionChange(work: Work): { wire: unknown; previous: readonly ObjecttypeTransition[]; path: string } {
  const sent = eitherName(work, '_transitions', 'transitions')
  return {
    wire: sent === undefined ? work.stored.transitions : (sent ?? []),
    previous: work.stored.transitions,
    path: `${work.place}._transitions`,
  }
}

function marksDiffer(before: ObjecttypeSettings, after: ObjecttypeSettings['fields'] | undefined): boolean {
  return (
    !isDeepStrictEqual(before.fields.watermark, after?.watermark) ||
    !isDeepStrictEqual(before.fields.caption, after?.caption)
  )
}

/** Asks what becomes of images that carry the old watermark or caption (OTAPI-014). */
async function renditionTasks({ tx, parts }: SaveContext, works: readonly Work[]): Promise<Task[]> {
  if (works.length === 0) return []
  const count = await parts.countMarkedRenditions(
    tx,
    works.map((work) => work.table.id),
  )
  if (count === 0) return []
  return [
    {
      title: 'Watermark and captions',
      message: `${count.toLocaleString('en-US')} renditions carry the former watermark or captions.`,
      buttons: [
        { text: 'Make them again', name: 'confirm', value: 'resync' },
        { text: 'Leave them as they are', name: 'confirm', value: 'skip' },
      ],
    },
  ]
}
