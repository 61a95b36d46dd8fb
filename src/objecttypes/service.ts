/**
 * Settings of object types, which administrators change without committing a datamodel. A save takes effect at once, in all
 * processes.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Model, Table } from '../datamodel/model.ts'
import type { EventLog } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import { hasRight, type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { orTasks } from '../platform/values/questions.ts'
import type { Task } from '../platform/values/tasks.ts'
import type { ContainerGrants, RightsService, ShareOptions } from '../rights/service.ts'
import { type KeptTags, renderTagLayers, tagCaller } from '../tags/service.ts'
import type { TransitionService } from '../transitions/service.ts'
import { heldImages, type MarkKeepers, renditionsTask } from './media-settings.ts'
import type { ObjecttypeSettings, RequireMappings, StoredObjecttype } from './model.ts'
import { type RenderParts, renderObjecttype } from './render.ts'
import { requireTable, saveAll } from './save.ts'
import type { FileStats, ObjecttypeInput, ObjecttypeOutput, ObjecttypeStats } from './schema.ts'
import type { KeptObjecttypes } from './snapshot.ts'
import * as store from './store.ts'

export { checkFilenameTemplate } from './filename-template.ts'
export { chooseTemplate, fillTemplate, replacementsOf } from './filenames.ts'
export {
  fileFields,
  heldImages,
  type MarkKeepers,
  readCaption,
  readJanitorPolicy,
  readWatermark,
  record,
  renditionsTask,
  withCaptionSetter,
} from './media-settings.ts'
export { type KeptObjecttypes, openObjecttypes } from './snapshot.ts'

export interface ObjecttypeDeps {
  db: Db
  events: EventLog
  rights: RightsService
  datamodel: { current(): Model }
  objecttypes: KeptObjecttypes
  tags: KeptTags
  transitions: Pick<TransitionService, 'validateLists' | 'renderLists'>
  /** The number and size of the files in objects of a type. */
  fileFigures: (from: Queryable, scope: { objecttype: number }) => Promise<FileStats>
  /** Data languages of the instance. */
  languages: () => readonly string[]
  marks: MarkKeepers<{ readonly objecttypes: readonly number[] }>
  requireMappings: RequireMappings
  /** Checks grants of collections that would then give too much. @throws {Unconfirmed} */
  shares: {
    settle(tx: Tx, actor: Actor, changed: Partial<ContainerGrants>, options: ShareOptions): Promise<void>
  }
}

export type SaveResult =
  | { readonly kind: 'confirm'; readonly tasks: readonly Task[] }
  | { readonly kind: 'done'; readonly objecttypes: ObjecttypeOutput[]; readonly cacheId: string }

export type ObjecttypeService = ReturnType<typeof createObjecttypeService>

export const manageObjecttypes: NeededRight = { name: 'system.objecttypemanager' }

export function createObjecttypeService(deps: ObjecttypeDeps) {
  const { db, events, rights, datamodel, objecttypes: kept, tags, transitions, marks } = deps

  /** `_compiled_tags` contain the origin of their settings. */
  function renderTags(actor: Actor, table: Table, settings: ObjecttypeSettings) {
    const layers = [kept.tagLayer(table.id)]
    const { own, compiled } = renderTagLayers(tags.snapshot(), layers, tagCaller(actor), Date.now())
    const origins = new Set(settings.tags.map((tag) => tag.id))
    const origin = (id: number): string => (origins.has(id) ? `ot:${table.id}:${table.name}` : 'tags')
    return { own, compiled: compiled.map((tag) => ({ ...tag, _origin: origin(tag._id) })) }
  }

  /** Changes with every commit and every change of settings (`X-Svc-Cache-ID`). */
  const cacheId = (): string => `${datamodel.current().version}.${kept.revision()}`

  async function render(actor: Actor, tables: readonly Table[], short: boolean): Promise<ObjecttypeOutput[]> {
    const full = !short && hasRight(actor, manageObjecttypes)
    const stored = tables.map((table) => kept.objecttype(table.id))
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
        ? await transitions.renderLists(
            db,
            stored.map(({ settings }) => settings.transitions),
            actor.languages,
          )
        : null,
      tags: (table, settings) => renderTags(actor, table, settings),
      languages: deps.languages(),
    }
    return tables.map((table, index) => renderObjecttype(table, stored[index]!, index, renderParts))
  }

  return {
    cacheId,

    /**
     * All object types in the order of their ids. Members that require `system.objecttypemanager` are only for callers with this
     * right.
     */
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
      return { files: await deps.fileFigures(db, { objecttype: id }) }
    },

    /**
     * Saves the settings of several object types, all or none. If watermarks or captions of files change, `confirm` decides whether
     * renditions are created again; without it the caller is asked, and nothing is saved.
     */
    async save(
      actor: Actor,
      inputs: readonly ObjecttypeInput[],
      confirm?: 'resync' | 'skip' | undefined,
      shares: ShareOptions = { allow: false, background: false },
    ): Promise<SaveResult> {
      requireRight(actor, manageObjecttypes)
      const model = datamodel.current()
      const save = async (tx: Tx): Promise<readonly StoredObjecttype[] | null> => {
        const { objecttypes: settings, before } = await saveAll(
          { tx, actor, model, rights, tags, transitions, requireMappings: deps.requireMappings },
          inputs,
        )
        const remarked = settings.filter((one, index) => changesMarks(before[index], one.settings))
        const scope = { objecttypes: remarked.map(({ id }) => id) }
        const concerned = remarked.length > 0 && (await marks.concerned(tx, scope))
        if (concerned && confirm === undefined) return null
        await store.writeObjecttypes(tx, settings)
        await marks.hold(
          tx,
          actor,
          remarked.map(({ id, settings: { fields } }) => {
            const index = settings.findIndex((one) => one.id === id)
            const watermarks = { before: before[index]?.fields.watermark, after: fields.watermark }
            return heldImages({ objecttype: id }, watermarks, `body[${index}].objecttype`)
          }),
        )
        if (concerned && confirm === 'resync') await marks.renew(tx, actor)
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
        if (settings.some((one, index) => !isDeepStrictEqual(one.settings.acl, before[index]?.acl))) {
          const changed = settings.map((one) => [one.id, one.settings.acl] as const)
          await deps.shares.settle(tx, actor, { objecttypes: new Map([...kept.grants(), ...changed]) }, shares)
        }
        await kept.publish(tx, settings)
        return settings
      }
      const result = await orTasks(() => db.transaction(save))
      if (result.kind === 'confirm') return result
      const saved = result.value
      if (saved === null) return { kind: 'confirm', tasks: [renditionsTask()] }
      const tables = saved.map(({ id }) => requireTable(model, id, 'id'))
      return { kind: 'done', objecttypes: await render(actor, tables, false), cacheId: cacheId() }
    },

    /** The references of object types to mappings. They are removed with the mapping. */
    mappingUse: {
      name: 'object types',
      count: store.countMapping,
      async remove(tx: Tx, id: number): Promise<void> {
        await store.removeMapping(tx, id)
        await kept.publish(tx, [])
      },
    },

    /**
     * The use of tags by object types. Settings are removed with the tag; a grant with a condition on a tag prevents its deletion.
     */
    tagUses: [
      {
        context: 'objecttype_tag',
        count: store.countTags,
        async remove(tx: Tx, tagIds: readonly number[]): Promise<void> {
          await store.removeTags(tx, tagIds)
          await kept.publish(tx, [])
        },
      },
      { context: 'objecttype_right', count: store.countGrantTags },
    ],
  }
}

function changesMarks(before: ObjecttypeSettings | undefined, after: ObjecttypeSettings): boolean {
  const { watermark, caption } = after.fields
  return !isDeepStrictEqual([before?.fields.watermark, before?.fields.caption], [watermark, caption])
}
