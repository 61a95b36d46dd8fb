/**
 * Settings of object types: what administrators change without committing a datamodel. Saving takes effect at once, in
 * all processes.
 */
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db, Tx } from '../platform/db.ts'
import { hasRight, type NeededRight, requireRight } from '../platform/system-right.ts'
import type { RightsService, StoredGrant } from '../rights/service.ts'
import type { Model, Table } from './model.ts'
import type { ObjecttypeSettings, ObjecttypeTransition, StoredObjecttype } from './objecttype-model.ts'
import type { ObjecttypeParts, ObjecttypeTagLayer } from './objecttype-parts.ts'
import { type RenderParts, renderObjecttype } from './objecttype-render.ts'
import { requireTable, saveAll } from './objecttype-save.ts'
import type { ObjecttypeInput, ObjecttypeOutput, ObjecttypeStats } from './objecttype-schema.ts'
import * as store from './objecttype-store.ts'

/** Of the datamodel service: the current model and settings, and how to announce new ones. */
interface SettingsKeeper {
  current(): Model
  settings(tableId: number): ObjecttypeSettings
  objecttype(tableId: number): StoredObjecttype
  allSettings(): ReadonlyMap<number, StoredObjecttype>
  publishSettings(tx: Tx, saved: readonly StoredObjecttype[]): Promise<void>
}

export interface ObjecttypeDeps {
  db: Db
  events: EventLog
  rights: RightsService
  datamodel: SettingsKeeper
  /** Data languages of the instance. */
  languages: () => readonly string[]
  parts: ObjecttypeParts
}

export interface SaveResult {
  readonly objecttypes: ObjecttypeOutput[]
  readonly cacheId: string
}

export type ObjecttypeService = ReturnType<typeof createObjecttypeService>

export const manageObjecttypes: NeededRight = { name: 'system.objecttypemanager' }

export function createObjecttypeService(deps: ObjecttypeDeps) {
  const { db, events, rights, datamodel, parts } = deps
  let listed: {
    of: ReadonlyMap<number, StoredObjecttype>
    grants: ReadonlyMap<number, readonly StoredGrant[]>
  } | null = null

  async function render(actor: Actor, tables: readonly Table[], short: boolean): Promise<ObjecttypeOutput[]> {
    const full = !short && hasRight(actor, manageObjecttypes)
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
      requireRight(actor, manageObjecttypes)
      requireTable(datamodel.current(), id, 'id')
      return noFiles()
    },

    /** Saves the settings of several object types, all or none. */
    async save(actor: Actor, inputs: readonly ObjecttypeInput[]): Promise<SaveResult> {
      requireRight(actor, manageObjecttypes)
      const model = datamodel.current()
      const saved = await db.transaction(async (tx) => {
        const settings = await saveAll({ tx, actor, model, rights, parts }, inputs)
        await store.writeObjecttypes(tx, settings)
        await events.append(
          tx,
          settings.map(({ id, version }) => ({
            type: 'OBJECTTYPE_UPDATE' as const,
            actor,
            basetype: 'objecttype',
            schema: 'user',
            objecttype: model.tablesById.get(id)?.name ?? '',
            objectId: id,
            objectVersion: version,
          })),
        )
        await datamodel.publishSettings(tx, settings)
        return settings
      })
      const tables = saved.map(({ id }) => requireTable(model, id, 'id'))
      return { objecttypes: await render(actor, tables, false), cacheId: datamodel.current().cacheId }
    },

    /** Grants of object types, for the rights of callers; another map only when settings have changed. */
    grants(): ReadonlyMap<number, readonly StoredGrant[]> {
      const now = datamodel.allSettings()
      if (listed?.of !== now)
        listed = { of: now, grants: new Map([...now].map(([id, { settings }]) => [id, settings.acl])) }
      return listed.grants
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

/** The service stores no files yet, so this is what there is. */
function noFiles(): ObjecttypeStats {
  const bucket = () => ({ size: 0, count: 0, by_extension: {}, by_class: {} })
  const buckets = () => ({ latest: bucket(), history: bucket(), deleted: bucket() })
  return { files: { count: 0, size: 0, originals: buckets(), versions: buckets() } }
}
