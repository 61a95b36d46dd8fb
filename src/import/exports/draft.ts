/**
 * The parts of an exported object that are saved in another instance: its uuid and fields, links by uuid, and its exported files.
 */
import type { WireTable } from '../sheets/load/model.ts'
import { type Draft, type ExportedFile, isUuid, isWire, type Wire } from './model.ts'
import { PackageProblem } from './problem.ts'

/** The placeholder of a file until it is uploaded. */
export const fileKey = '_import_file'

export interface DraftDeps {
  readonly tableOf: (type: string) => WireTable | undefined
  /** A pool for all objects, instead of their own pools. */
  readonly pool: string | undefined
  readonly withoutFiles: boolean
  /** Pools and tags of the service. */
  readonly pools: ReadonlySet<string>
  readonly tags: ReadonlyMap<string, number>
}

/** Members of blocks that the other instance assigns itself. */
const ownMembers = new Set(['_id', '_version', '_pool', '_id_parent', '_parents'])

/** @throws {PackageProblem} where the object cannot be imported as it is */
export function draftOf(deps: DraftDeps, object: Wire): Draft {
  const type = String(object._objecttype)
  const uuid = String(object._uuid).toLowerCase()
  const place = `${type} ${uuid}`
  const table = deps.tableOf(type)
  if (!table) throw new PackageProblem(`${place}: the service has no object type ${type}`)
  const block = object[type] as Wire
  const fields: Record<string, unknown> = {}
  const needs: Record<string, readonly string[]> = {}
  const add = (name: string, value: unknown, links: readonly string[]): void => {
    fields[name] = value
    if (links.length > 0) needs[name] = links
  }
  for (const [name, value] of Object.entries(block)) {
    if (ownMembers.has(name) || name.startsWith('_reverse_nested:')) continue
    const links: string[] = []
    add(name, importable(value, { place: `${place}: ${name}`, links, withoutFiles: deps.withoutFiles }), links)
  }
  const parents = parentsOf(object)
  if (parents.length > 0) {
    const links = parents.map((_uuid) => ({ _uuid }))
    if (table.polyhierarchical) add('_parents', links, parents)
    else add('lookup:_id_parent', links[0], parents)
  }
  if (table.pool_link) fields._pool = { pool: { 'lookup:_id': { reference: poolOf(deps, block, place) } } }
  const tags = tagsOf(deps, object, place)
  const head = { _objecttype: type, _mask: '_all_fields', _uuid: uuid, ...(tags.length > 0 ? { _tags: tags } : {}) }
  return { uuid, type, head, block: fields, needs }
}

interface ValueContext {
  readonly place: string
  readonly links: string[]
  readonly withoutFiles: boolean
}

function importable(value: unknown, context: ValueContext): unknown {
  if (Array.isArray(value)) {
    const files = value.some(isFile)
    return value.flatMap((one) => (files ? fileOf(one as Wire, context) : [importable(one, context)]))
  }
  if (!isWire(value)) return value
  // An object that came later, or went, has no name in the export.
  if (value._purged_or_deferred === true) return null
  if (isLink(value)) {
    const uuid = String(value._uuid).toLowerCase()
    context.links.push(uuid)
    return { _uuid: uuid }
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, importable(one, context)]))
}

/** Objects have both; rows of nested tables have only the first kind of id. */
const isLink = (value: Wire): boolean => isUuid(value._uuid) && typeof value._objecttype === 'string'

const isFile = (value: unknown): boolean =>
  isWire(value) && typeof value._id === 'number' && isWire(value.versions) && typeof value.class === 'string'

function fileOf(file: Wire, { place, withoutFiles }: ValueContext): unknown[] {
  if (withoutFiles) return []
  const { original } = file.versions as Readonly<Record<string, { readonly path?: string } | undefined>>
  if (typeof original?.path !== 'string') {
    throw new PackageProblem(`${place}: the original of a file is not in the export; --without-files leaves files out`)
  }
  const exported: ExportedFile = { path: original.path, name: String(file.original_filename || 'file') }
  return [{ [fileKey]: exported, ...(file.preferred === true ? { preferred: true } : {}) }]
}

/** The parents of the object, from its paths in the hierarchy. */
function parentsOf({ _path, _paths, _uuid }: Wire): string[] {
  const ways = Array.isArray(_paths) ? _paths : Array.isArray(_path) ? [_path] : []
  const above = ways.flatMap((way) => {
    const steps = (Array.isArray(way) ? way : []) as Wire[]
    const parent = steps.at(-1)?._uuid === _uuid ? steps.at(-2) : steps.at(-1)
    return isUuid(parent?._uuid) ? [parent._uuid.toLowerCase()] : []
  })
  return [...new Set(above)]
}

function poolOf({ pools, pool }: DraftDeps, { _pool }: Wire, place: string): string {
  if (pool !== undefined) return pool
  const own = isWire(_pool) && isWire(_pool.pool) ? _pool.pool.reference : undefined
  if (typeof own === 'string' && pools.has(own)) return own
  throw new PackageProblem(
    `${place}: the service has no pool with the reference ${JSON.stringify(own ?? null)}; --pool names another`,
  )
}

/** By their references, else by their names. */
function tagsOf({ tags }: DraftDeps, { _tags }: Wire, place: string): { readonly _id: number }[] {
  return (Array.isArray(_tags) ? _tags : []).map((tag: unknown) => {
    const keys = tagKeys(tag)
    const id = keys.map((key) => tags.get(key)).find((one) => one !== undefined)
    if (id === undefined) throw new PackageProblem(`${place}: the service has no tag ${keys[0] ?? 'without a name'}`)
    return { _id: id }
  })
}

/** The keys of a tag for comparison, the most reliable first. */
export function tagKeys(tag: unknown): string[] {
  if (!isWire(tag)) return []
  const { reference, displayname } = tag
  return [
    ...(typeof reference === 'string' && reference !== '' ? [reference] : []),
    ...(isWire(displayname)
      ? [
          JSON.stringify(
            Object.entries(displayname)
              .filter(([, text]) => text !== '')
              .sort(),
          ),
        ]
      : []),
  ]
}
