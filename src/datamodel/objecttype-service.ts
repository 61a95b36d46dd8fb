/**
 * Settings of object types: what administrators change without committing a datamodel. Saving takes effect at once, in
 * all processes.
 */
import { isDeepStrictEqual } from 'node:util'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Bus } from '../platform/bus.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { hasSystemRight, requireSystemRight } from '../platform/system-right.ts'
import type { Task } from '../platform/tasks.ts'
import { type Person, parseWho, type RightsService, type StoredGrant } from '../rights/service.ts'
import type { Model, Table } from './model.ts'
import type { ObjecttypeSettings, ObjecttypeTag, ObjecttypeTransition, StoredObjecttype } from './objecttype-model.ts'
import { type RenderParts, renderObjecttype, type Wire } from './objecttype-render.ts'
import type { ObjecttypeInput, ObjecttypeOutput, ObjecttypeStats } from './objecttype-schema.ts'
import { eitherName, readSettings, tagIdsOf, type Work } from './objecttype-settings.ts'
import * as store from './objecttype-store.ts'

/** A list of tags of an object type, for the tags engine. */
export interface ObjecttypeTagLayer {
  readonly private: boolean
  readonly tags: readonly ObjecttypeTag[]
}

/** What the settings need of capabilities that come later. */
export interface ObjecttypeParts {
  /** Which of the tags exist. */
  existingTags(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>>
  /** The layer's own tags, and those that it leaves, in wire form. */
  renderTags(layer: ObjecttypeTagLayer, table: Table): { own: readonly Wire[]; compiled: readonly Wire[] }
  /** Checks lists of transitions, gives their stored form and logs what changed, for all object types at once. */
  changeTransitions(
    tx: Tx,
    actor: Actor,
    changes: readonly { wire: unknown; previous: readonly ObjecttypeTransition[]; path: string }[],
  ): Promise<readonly (readonly ObjecttypeTransition[])[]>
  renderTransitions(
    from: Queryable,
    lists: readonly (readonly ObjecttypeTransition[])[],
    languages: readonly string[],
  ): Promise<readonly (readonly Wire[])[]>
  /** Which of the metadata mappings exist. */
  existingMappings(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>>
  fileStats(tableId: number): Promise<ObjecttypeStats>
  /** Number of renditions that carry the watermark or captions of these object types. */
  countMarkedRenditions(tx: Tx, tableIds: readonly number[]): Promise<number>
  /** Queues those renditions to be made again. */
  resyncRenditions(tx: Tx, tableIds: readonly number[]): Promise<void>
  /** Collections whose grants a change of these object types would make invalid and whose grants the actor may not change. */
  collectionsWithoutAclRight(tx: Tx, actor: Actor, tableIds: readonly number[]): Promise<readonly number[]>
}

/** Of the datamodel service: the current model and settings, and how to announce new ones. */
interface SettingsKeeper {
  current(): Model
  settings(tableId: number): ObjecttypeSettings
  objecttype(tableId: number): StoredObjecttype
  publishSettings(tx: Tx, saved: readonly StoredObjecttype[]): Promise<void>
}

export interface ObjecttypeDeps {
  db: Db
  bus: Bus
  events: EventLog
  rights: RightsService
  datamodel: SettingsKeeper
  /** Data languages of the instance. */
  languages: () => readonly string[]
  parts: ObjecttypeParts
}

export interface SaveOptions {
  readonly confirm?: 'resync' | 'skip'
  readonly allowInvalidAcl: boolean
}

export type SaveResult =
  | { readonly kind: 'done'; readonly objecttypes: ObjecttypeOutput[]; readonly cacheId: string }
  | { readonly kind: 'confirm'; readonly tasks: Task[] }

export type ObjecttypeService = ReturnType<typeof createObjecttypeService>

const right = 'system.objecttypemanager'

export function createObjecttypeService(deps: ObjecttypeDeps) {
  const { db, bus, events, rights, datamodel, parts } = deps

  async function render(actor: Actor, tables: readonly Table[], short: boolean): Promise<ObjecttypeOutput[]> {
    const full = !short && hasSystemRight(actor, right)
    const stored = tables.map((table) => datamodel.objecttype(table.id))
    const people = stored.flatMap(({ settings }) => settings.contact ?? [])
    const renderParts: RenderParts = {
      names: await rights.whoNames(db, people, actor.languages),
      acls: full
        ? await rights.renderAcls(
            db,
            stored.map(({ settings }) => settings.acl),
            actor.languages,
          )
        : null,
      transitions: full
        ? await parts.renderTransitions(
            db,
            stored.map(({ settings }) => settings.transitions),
            actor.languages,
          )
        : null,
      tags: (table, settings) => parts.renderTags({ private: settings.privateTags, tags: settings.tags }, table),
      languages: deps.languages(),
    }
    return tables.map((table, index) => renderObjecttype(table, stored[index]!, index, renderParts))
  }

  return {
    /** All object types in the order of their ids; what needs `system.objecttypemanager` only for those who have it. */
    list(actor: Actor, { short }: { short: boolean }): Promise<ObjecttypeOutput[]> {
      const tables = [...datamodel.current().objecttypes.values()].sort((a, b) => a.id - b.id)
      return render(actor, tables, short)
    },

    /** @throws {AppError} `ServerGeneric` for an unknown id (OTAPI-020). */
    get(actor: Actor, id: number, { short }: { short: boolean }): Promise<ObjecttypeOutput[]> {
      return render(actor, [requireTable(datamodel.current(), id, 'id')], short)
    },

    async stats(actor: Actor, id: number): Promise<ObjecttypeStats> {
      requireSystemRight(actor, right)
      return parts.fileStats(requireTable(datamodel.current(), id, 'id').id)
    },

    /** Saves the settings of several object types, all or none, or asks what becomes of renditions. */
    async save(actor: Actor, inputs: readonly ObjecttypeInput[], options: SaveOptions): Promise<SaveResult> {
      requireSystemRight(actor, right)
      const model = datamodel.current()
      const result = await db.transaction(async (tx) => {
        const outcome = await saveAll({ tx, actor, model, rights, parts }, inputs, options)
        if (outcome.tasks.length > 0) return outcome
        await store.writeObjecttypes(tx, outcome.saved)
        await events.append(
          tx,
          outcome.saved.map(({ id, version }) => ({
            type: 'OBJECTTYPE_UPDATE' as const,
            actor,
            basetype: 'objecttype',
            schema: 'user',
            objecttype: model.tablesById.get(id)?.name ?? '',
            objectId: id,
            objectVersion: version,
          })),
        )
        await datamodel.publishSettings(tx, outcome.saved)
        await bus.publish(tx, 'objecttype')
        return outcome
      })
      if (result.tasks.length > 0) return { kind: 'confirm', tasks: result.tasks }
      const tables = result.saved.map(({ id }) => requireTable(model, id, 'id'))
      return { kind: 'done', objecttypes: await render(actor, tables, false), cacheId: datamodel.current().cacheId }
    },

    /** Grants of object types as the database has them, for the rights of callers. */
    async grants(): Promise<ReadonlyMap<number, readonly StoredGrant[]>> {
      const stored = await store.readObjecttypes(db)
      return new Map([...stored].map(([id, { settings }]) => [id, settings.acl]))
    },

    /** Transitions of an object type, and whether it cuts those of the instance. */
    transitionLayer(id: number): { private: boolean; transitions: readonly ObjecttypeTransition[] } {
      const { privateTransitions, transitions } = datamodel.settings(id)
      return { private: privateTransitions, transitions }
    },

    /** Tags of an object type, and whether it cuts those of the instance. */
    tagLayer(id: number): ObjecttypeTagLayer {
      const { privateTags, tags } = datamodel.settings(id)
      return { private: privateTags, tags }
    },

    /** Where tags are used by object types: settings go with the tag, a grant that asks for it keeps it. */
    tagUses: [
      {
        context: 'objecttype_tag',
        count: store.countTags,
        async remove(tx: Tx, tagIds: readonly number[]): Promise<void> {
          await store.removeTags(tx, tagIds)
          await datamodel.publishSettings(tx, [])
        },
      },
      { context: 'objecttype_right', count: store.countGrantTags },
    ],
  }
}

function requireTable(model: Model, id: number, path: string): Table {
  const table = model.tablesById.get(id)
  if (table?.kind === 'object') return table
  throw badRequest(`There is no object type ${id}.`, { path, objecttype_id: id })
}

interface SaveContext {
  readonly tx: Tx
  readonly actor: Actor
  readonly model: Model
  readonly rights: RightsService
  readonly parts: ObjecttypeParts
}

interface Outcome {
  readonly tasks: Task[]
  readonly saved: readonly StoredObjecttype[]
}

async function saveAll(
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
