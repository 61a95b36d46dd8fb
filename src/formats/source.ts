/** Objects for a writer: read in batches as the writer needs them, without a buffer in between. */

import type { Model } from '../datamodel/model.ts'
import { type FileMetadata, tagGroups } from '../files/service.ts'
import {
  type HitOptions,
  type ObjectTree,
  type ObjectVersion,
  records,
  treeOf,
  type Wire,
  writtenOf,
} from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import { isRecord } from '../platform/values/records.ts'
import { keepFields } from './fields.ts'
import type { FormatOptions, WrittenObject } from './options.ts'

/** The objects to be written: one list, or several one after the other. */
export type ObjectSource = readonly ObjectVersion[] | AsyncIterable<readonly ObjectVersion[]>

export interface SourceDeps {
  readonly datamodel: { current(): Model }
  readonly read: {
    versions(
      actor: Actor,
      wanted: readonly ObjectVersion[],
      options: HitOptions,
      deadline?: Deadline,
    ): AsyncIterable<Wire>
  }
  /** The metadata of files that the actor may know. */
  readonly files: {
    metadata(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, Pick<FileMetadata, 'tags'>>>
  }
}

export interface FormatRequest {
  readonly actor: Actor
  readonly objects: ObjectSource
  readonly options: FormatOptions
  readonly deadline: Deadline
}

/** An object to be written. */
export interface SourceObject extends WrittenObject {
  readonly wire: Wire
  readonly tree: ObjectTree
}

/** Objects whose additional data is loaded together. */
const atATime = 50

export async function* objectsOf(deps: SourceDeps, asked: FormatRequest): AsyncGenerator<SourceObject> {
  for await (const wanted of inLists(asked.objects)) {
    for (let start = 0; start < wanted.length; start += listed) {
      let wires: Wire[] = []
      for await (const wire of read(deps, asked, wanted.slice(start, start + listed))) {
        wires.push(wire)
        if (wires.length < atATime) continue
        yield* await sourceObjects(deps, asked, wires)
        wires = []
      }
      yield* await sourceObjects(deps, asked, wires)
    }
  }
}

/** Ids that are requested together. */
const listed = 10_000

function read(deps: SourceDeps, asked: FormatRequest, wanted: readonly ObjectVersion[]): AsyncIterable<Wire> {
  return deps.read.versions(asked.actor, wanted, readOptions(asked), asked.deadline)
}

async function sourceObjects(deps: SourceDeps, asked: FormatRequest, wires: readonly Wire[]): Promise<SourceObject[]> {
  if (wires.length === 0) return []
  const { options, actor } = asked
  const above = await parentsOf(deps, asked, wires)
  const tags = options.fileMetadata
    ? await deps.files.metadata(actor, [...fileIdsIn([...wires, ...above.values()])])
    : new Map<number, FileMetadata>()
  const metadata = new Map([...tags].map(([id, own]) => [id, tagGroups(own.tags)]))
  const model = deps.datamodel.current()
  const context = { model, keep: keepFields(options), above, metadata, fileOf: options.fileOf }
  return wires.flatMap((wire) => {
    const tree = treeOf(context, wire)
    if (!tree) return []
    const written = writtenOf(wire)
    assertMask(options.mask, tree, written)
    return [{ ...written, wire, tree }]
  })
}

/** The ancestors of these objects with their fields, by their ids. */
async function parentsOf(deps: SourceDeps, asked: FormatRequest, wires: readonly Wire[]): Promise<Map<number, Wire>> {
  const above = new Map<number, Wire>()
  if (!asked.options.includeParents) return above
  const ids = new Set(
    wires.flatMap((wire) =>
      [...records(wire._path), ...(Array.isArray(wire._paths) ? wire._paths.flatMap(records) : [])]
        .map((step) => Number(step._system_object_id))
        .filter((id) => id !== wire._system_object_id),
    ),
  )
  const { mask: _, ...options } = asked.options
  const wanted = [...ids].map((systemObjectId) => ({ systemObjectId }))
  for await (const wire of read(deps, { ...asked, options }, wanted)) above.set(Number(wire._system_object_id), wire)
  return above
}

/** Files at any depth of values: records with an id and versions. */
function fileIdsIn(values: readonly unknown[], found = new Set<number>()): Set<number> {
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue
    const { _id: id, versions } = value as { readonly _id?: unknown; readonly versions?: unknown }
    if (typeof id === 'number' && isRecord(versions)) found.add(id)
    else fileIdsIn(Object.values(value), found)
  }
  return found
}

async function* inLists(source: ObjectSource): AsyncGenerator<readonly ObjectVersion[]> {
  if (Array.isArray(source)) yield source
  else yield* source as AsyncIterable<readonly ObjectVersion[]>
}

/** @throws {AppError} `MaskNotFound`, `ObjectInsufficientRights` where the object is not shown with the named mask */
function assertMask(mask: string | undefined, { wire, table }: ObjectTree, written: WrittenObject): void {
  if (mask === undefined || wire._mask === mask) return
  const { systemObjectId, objecttype } = written
  if (!table.masks.has(mask)) throw new AppError('MaskNotFound', { objecttype, mask })
  throw new AppError('ObjectInsufficientRights', { right: 'mask', mask, system_object_id: systemObjectId, objecttype })
}

function readOptions({ actor, options }: FormatRequest): HitOptions {
  const { mask, table, fields = {} } = options
  const names = Object.keys(fields)
  return {
    format: table?.includeChangelog ? 'full' : 'long',
    differing: { inherited: options.noInheritance !== true, linked: 'short' },
    fileDays: options.fileDays,
    languages: options.allLanguages === true ? null : actor.languages,
    mergeLinkedObjects: options.mergeLinkedObjects,
    mergeMaxDepth: options.mergeMaxDepth,
    ...(names.length > 0 ? { includeFields: names } : {}),
    ...(mask === undefined ? {} : { mask }),
  }
}

/** @throws {AppError} naming the first invalid option */
export function checkOptions({ mergeMaxDepth }: FormatOptions): void {
  if (mergeMaxDepth !== undefined && (!Number.isInteger(mergeMaxDepth) || mergeMaxDepth < 1 || mergeMaxDepth > 9)) {
    throw badRequest('merge_max_depth must be from 1 to 9', { name: 'merge_max_depth', value: mergeMaxDepth })
  }
}
