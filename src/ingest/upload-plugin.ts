/** Plugins that change the objects made of uploads (`create_object.plugin`). */
import type { NewEvent } from '../events/service.ts'
import {
  CallbackFailed,
  type PendingChange,
  type PendingObject,
  type Replacement,
  type SaveCallback,
} from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import { filesIn } from './file-list.ts'
import type { Group } from './group.ts'
import type { IngestedFile, Target, UploadPlugin, Wire } from './model.ts'

/** The answer of a plugin's program. */
export interface UploadAnswer {
  readonly replacements: readonly Replacement[]
  readonly body: unknown
}

export interface UploadPluginDeps {
  /** Calls the program of an upload. @throws {AppError} `PluginNotFound`, `PluginDisabled` */
  readonly askPlugin: (
    plugin: UploadPlugin,
    change: PendingChange,
    objects: readonly PendingObject[],
    more: Readonly<Record<string, unknown>>,
  ) => Promise<UploadAnswer>
  /** Records of files, with the rights of the actor. */
  readonly fileRecords: (actor: Actor, ids: readonly number[]) => Promise<ReadonlyMap<number, object>>
}

/** A plugin's message about an upload. */
export interface LogEntry {
  readonly group: Group
  readonly file: string
  readonly filesize: number
  readonly fileId: number
  readonly status: string
  readonly msg: string
  readonly systemObjectId: number | null
}

/** Calls of one save that run at the same time. */
const atATime = 4
/** Most entries of an answer, and characters of their texts. */
const [mostEntries, longestText] = [100, 2000]

/**
 * A callback of one save that sends each object to the plugin of the target, with the file that it is made of. The
 * messages of the plugin are then in `log`.
 */
export function uploadCallback(
  deps: UploadPluginDeps,
  actor: Actor,
  { plugin, table, column, collection }: Target & { readonly plugin: UploadPlugin },
  groups: readonly Group[],
): { readonly callback: SaveCallback; readonly log: LogEntry[] } {
  const byFile = new Map(groups.flatMap((group) => group.files.map(({ fileId }) => [fileId, group] as const)))
  const log: LogEntry[] = []

  function groupOf({ object }: PendingObject): Group | undefined {
    const block = (object[table.name] ?? {}) as Wire
    const rows = column.table === table ? [block] : ((block[column.table.wireKey] ?? []) as Wire[])
    for (const row of rows) {
      for (const { _id } of filesIn(row[column.name])) {
        const group = byFile.get(_id)
        if (group) return group
      }
    }
    return undefined
  }

  async function call(change: PendingChange): Promise<readonly Replacement[]> {
    const records = await deps.fileRecords(actor, [...byFile.keys()])
    const replacements: Replacement[] = []
    const entries: LogEntry[] = []
    const waiting = change.objects.values()
    const worker = async (): Promise<void> => {
      for (const pending of waiting) {
        const group = pending.replaceable ? groupOf(pending) : undefined
        const file = group?.files[0]
        if (!group || !file) continue
        const more = {
          file: records.get(file.fileId) ?? { _id: file.fileId, original_filename: file.name, filesize: file.bytes },
          collection: collectionOf(collection),
          collection_config: plugin.config,
        }
        const answer = await deps.askPlugin(plugin, change, [pending], more)
        replacements.push(...answer.replacements)
        entries.push(...entriesOf(answer.body, group, file))
      }
    }
    await Promise.all(Array.from({ length: atATime }, worker))
    log.splice(0, log.length, ...entries)
    return replacements
  }

  return { callback: { name: `${plugin.name}:${plugin.entry}`, kinds: ['save'], objecttypes: [table.name], call }, log }
}

function collectionOf({ id, uuid, version, displayname, shortname, reference }: Target['collection']): Wire {
  return {
    _basetype: 'collection',
    collection: {
      _id: id,
      _version: version,
      uuid,
      displayname,
      ...(shortname === null ? {} : { shortname }),
      ...(reference === null ? {} : { reference }),
    },
  }
}

function entriesOf(body: unknown, group: Group, file: IngestedFile): LogEntry[] {
  const { upload_log: given } = body as { readonly upload_log?: unknown }
  if (given === undefined || given === null) return []
  if (!Array.isArray(given) || given.length > mostEntries)
    throw new CallbackFailed(`upload_log of its answer is no list of at most ${mostEntries} entries`)
  return given.map((entry: unknown, index) => {
    if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
      throw new CallbackFailed(`upload_log.${index} of its answer is no object`)
    const { file: name, filesize, status, msg, file_eas_id: fileId, system_object_id: id } = entry as Wire
    return {
      group,
      file: textOr(name, file.name),
      filesize: numberOr(filesize, file.bytes),
      fileId: numberOr(fileId, file.fileId),
      status: textOr(status, ''),
      msg: textOr(msg, ''),
      systemObjectId: numberOr(id, 0) || null,
    }
  })
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '').slice(0, longestText) : otherwise
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise
}

/** One event for each entry; `saved` is the object of its group. */
export function logEvent(
  actor: Actor,
  { collection, plugin }: Target,
  entry: LogEntry,
  index: number,
  saved: number,
): NewEvent {
  const info = {
    path: entry.group.files[0]?.path ?? '',
    log_entry: index,
    plugin: plugin === null ? '' : `${plugin.name}:${plugin.entry}`,
    file: entry.file,
    file_eas_id: entry.fileId,
    filesize: entry.filesize,
    msg: entry.msg,
    status: entry.status,
    system_object_id: entry.systemObjectId ?? saved,
  }
  return { type: 'COLLECTION_UPLOAD', actor, basetype: 'collection', schema: 'BASE', objectId: collection.id, info }
}

/** `plugin:entry` as written in settings; null: none. @throws {AppError} */
export function readUploadPlugin(name: string | undefined, config: unknown): UploadPlugin | null {
  if (!name) {
    if (config && Object.keys(config).length > 0) {
      throw badRequest('create_object.plugin_config: there is no plugin that it is for', { name: 'plugin_config' })
    }
    return null
  }
  const [first, last] = [name.indexOf(':'), name.lastIndexOf(':')]
  return { name: name.slice(0, first), entry: name.slice(last + 1), config: (config ?? {}) as Wire }
}
