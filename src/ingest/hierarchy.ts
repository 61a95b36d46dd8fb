/** Folders of uploaded files as objects of a hierarchy, to which new objects link (`hierarchy_linked_object`). */
import type { Column, Table } from '../datamodel/model.ts'
import type { FoundByValue, ObjectService, WantedValues } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Db } from '../platform/postgres/db.ts'
import { composed } from '../platform/values/text.ts'
import type { HierarchyLink, IngestedFile, Wire } from './model.ts'
import { parentsOf } from './store.ts'

export interface HierarchyDeps {
  readonly db: Db
  readonly languages: () => readonly string[]
  /** Objects by the values of columns, as far as the actor may find them. */
  readonly findByValues: (
    actor: Actor,
    wanted: readonly WantedValues[],
  ) => Promise<readonly (readonly FoundByValue[])[]>
  readonly objects: Pick<ObjectService, 'save'>
}

/** Options of a save without a person who could confirm. */
type SaveOptions = Omit<Parameters<ObjectService['save']>[3], 'format' | 'awaitIndex'>

const localized: ReadonlySet<Column['type']> = new Set(['text_l10n', 'text_l10n_oneline'])
/** Most levels of folders. */
const mostLevels = 50

const nodeKey = (parent: number, name: string): string => `${parent}/${name}`

/** The steps of a path as names of objects. */
const stepsOf = (path: string): string[] =>
  path
    .split('/')
    .map((step) => composed(step).trim())
    .filter((step) => step !== '')

/**
 * The object of each path: the first one with its name below the object of the folder above it. Missing objects are made,
 * with one save for each level of the hierarchy.
 * @throws {AppError}
 */
export async function folderObjects(
  deps: HierarchyDeps,
  actor: Actor,
  link: HierarchyLink,
  files: readonly IngestedFile[],
  { options, deadline }: { readonly options: SaveOptions; readonly deadline: Deadline },
): Promise<ReadonlyMap<string, number>> {
  const paths = [...new Set(files.map(({ path }) => path))].filter((path) => stepsOf(path).length > 0)
  if (paths.length === 0) return new Map()
  const steps = new Map(paths.map((path) => [path, stepsOf(path)]))
  const depth = Math.max(...[...steps.values()].map(({ length }) => length))
  if (depth > mostLevels) throw badRequest(`Folders are at most ${mostLevels} below each other.`, { most: mostLevels })
  const nodes = await known(deps, actor, link, [...new Set([...steps.values()].flat())])
  const at = new Map<string, number>(paths.map((path) => [path, 0]))
  for (let level = 0; level < depth; level++) {
    const missing = new Map<string, { readonly parent: number; readonly name: string }>()
    for (const [path, parent] of at) {
      const name = steps.get(path)?.[level]
      if (name === undefined) continue
      const key = nodeKey(parent, name)
      if (!nodes.has(key)) missing.set(key, { parent, name })
    }
    const made = await make(deps, actor, link, [...missing.values()], { options, deadline })
    for (const [index, key] of [...missing.keys()].entries()) nodes.set(key, made[index] as number)
    for (const [path, parent] of at) {
      const name = steps.get(path)?.[level]
      if (name !== undefined) at.set(path, nodes.get(nodeKey(parent, name)) as number)
    }
  }
  return at
}

/** Objects with these names, by their parent objects. */
async function known(
  deps: HierarchyDeps,
  actor: Actor,
  { column }: HierarchyLink,
  names: readonly string[],
): Promise<Map<string, number>> {
  const [found = []] = await deps.findByValues(actor, [{ column, texts: names }])
  const parents = await parentsOf(
    deps.db,
    found.map(({ systemObjectId }) => systemObjectId),
  )
  const wanted = new Set(names)
  const nodes = new Map<string, number>()
  for (const { systemObjectId, ...object } of found) {
    const value = object.valueOf(column)
    const texts = typeof value === 'string' ? [value] : Object.values((value ?? {}) as object)
    const above = parents.get(systemObjectId) ?? []
    for (const name of texts) {
      if (!wanted.has(name)) continue
      for (const parent of above.length === 0 ? [0] : above) {
        // The first one is used.
        if (!nodes.has(nodeKey(parent, name))) nodes.set(nodeKey(parent, name), systemObjectId)
      }
    }
  }
  return nodes
}

async function make(
  deps: HierarchyDeps,
  actor: Actor,
  { target, column, poolId }: HierarchyLink,
  missing: readonly { readonly parent: number; readonly name: string }[],
  { options, deadline }: { readonly options: SaveOptions; readonly deadline: Deadline },
): Promise<number[]> {
  if (missing.length === 0) return []
  const payload = missing.map(({ parent, name }): Wire => {
    const text = localized.has(column.type)
      ? Object.fromEntries(deps.languages().map((language) => [language, name]))
      : name
    return {
      _objecttype: target.name,
      _mask: target.preferredMask.name,
      _comment: 'Folder of an upload into a collection',
      ...(poolId === null ? {} : { _pool: { pool: { _id: poolId } } }),
      [target.name]: {
        [column.name]: text,
        ...(parent === 0 ? {} : { 'lookup:_id_parent': { _system_object_id: parent } }),
      },
    }
  })
  const saved = await deps.objects.save(
    actor,
    target.name,
    payload,
    { ...options, format: 'short', awaitIndex: 0 },
    deadline,
  )
  if (saved.kind === 'done') return saved.objects.map(({ systemObjectId }) => systemObjectId)
  throw new AppError('UploadError', {}, { message: 'A save of a folder would ask a question; nobody can answer it.' })
}

interface Settings {
  readonly hierarchy_linked_object?: { readonly field?: unknown } | null
  readonly linked_pool_id?: number
}

/**
 * The field named by `hierarchy_linked_object.field`: a text of a hierarchical object type, behind a link of the object
 * type or of one of its nested tables.
 * @throws {AppError}
 */
export function resolveHierarchy(
  table: Table,
  settings: Settings,
  linkedPools: ReadonlyMap<Column, number>,
): HierarchyLink | null {
  const field = settings.hierarchy_linked_object?.field
  if (typeof field !== 'string' || field === '') return null
  const place = 'create_object.hierarchy_linked_object.field'
  const name = field.startsWith(`${table.name}.`) ? field.slice(table.name.length + 1) : field
  const found = [table, ...table.nested]
    .flatMap(({ columns }) => columns)
    .find(({ type, fullName, target }) => {
      return type === 'link' && target && name.startsWith(`${withoutTable(table, fullName)}.${target.name}.`)
    })
  if (!found?.target)
    throw new AppError('UnknownField', { name: 'hierarchy_linked_object', field, objecttype: table.name })
  const { target } = found
  const linkName = withoutTable(table, found.fullName)
  const column = target.columnByName.get(name.slice(linkName.length + target.name.length + 2))
  if (!column || !textTypes.has(column.type)) {
    throw new AppError('UnknownField', { name: 'hierarchy_linked_object', field, objecttype: target.name })
  }
  if (!target.hierarchical && !target.polyhierarchical) {
    throw badRequest(`${place}: objects of ${target.name} have no parents`, { field, objecttype: target.name })
  }
  const mask = target.preferredMask
  if (mask.system.parent.edit !== 'edit' || mask.fieldByColumn.get(column.name)?.mode !== 'edit') {
    throw badRequest(`${place}: the mask ${mask.name} does not let the name and the parent be written`, { field })
  }
  const poolId = linkedPools.get(found) ?? (target.poolLink ? (settings.linked_pool_id ?? null) : null)
  if (target.poolLink !== (poolId !== null)) {
    const message = target.poolLink ? 'needs a pool' : 'has no pools'
    throw badRequest(`create_object.linked_object_pools.${linkName}: ${target.name} ${message}`, { field: linkName })
  }
  return { link: found, rows: found.table === table ? null : found.table, target, column, poolId }
}

const textTypes: ReadonlySet<Column['type']> = new Set([
  'text',
  'text_oneline',
  'string',
  'text_l10n',
  'text_l10n_oneline',
])

const withoutTable = (table: Table, name: string): string => name.slice(table.name.length + 1)
