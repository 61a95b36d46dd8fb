/** Metadata of files as objects that can be saved. */
import type { Mask, Model, Table } from '../../datamodel/model.ts'
import type { FileMetadata } from '../../files/service.ts'
import type { FoundByValue, WantedValues } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import type { RightsService } from '../../rights/service.ts'
import { tagsOf } from '../check.ts'
import { isForType, type SettingsDeps, standardMapping } from '../effective.ts'
import { type Mapping, ownMappingId } from '../model.ts'
import { type FieldPath, fromStored, importable, pathByName } from '../paths.ts'
import { fieldsOf } from '../profiles.ts'
import type { MappingService } from '../service.ts'
import { assemble, type Target, type WantedLink } from './assemble.ts'
import { resolveLinks } from './links.ts'
import { tagReader } from './read-tags.ts'

export interface ImportDeps extends SettingsDeps {
  readonly db: Parameters<MappingService['find']>[0]
  readonly datamodel: { current(): Model }
  readonly mappings: Pick<MappingService, 'find' | 'profile'>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly rights: Pick<RightsService, 'forActor'>
  /** What files say of themselves, as far as the caller may know. */
  readonly metadata: (actor: Actor | null, ids: readonly number[]) => Promise<ReadonlyMap<number, FileMetadata>>
  readonly find: (actor: Actor, wanted: readonly WantedValues[]) => Promise<readonly (readonly FoundByValue[])[]>
  /** The mask that is preferred for objects of the type in the pool. */
  readonly maskOf: (table: Table, pool: number | null) => Mask
}

/** What of a request for records of files asks for objects. */
export interface MappingQuery {
  readonly mapping?: string | undefined
  readonly objecttype?: string | undefined
  readonly mask?: string | undefined
  readonly pool_id?: number | undefined
  readonly mapping_recipe_configs?: string | undefined
}

/** An upload says more. */
interface UploadQuery extends MappingQuery {
  /** Where objects go that are made because files name them; absent: into the same pool. */
  readonly linked_pool_id?: number
}

/** `_mapped_metadata` of files; of those without metadata, or that the mapping is not for, there is none. */
export type MapMetadata = (
  actor: Actor | null,
  ids: readonly number[],
  query: UploadQuery,
) => Promise<ReadonlyMap<number, object>>

export interface MetadataImport {
  readonly map: MapMetadata
  /** The profile of the mapping that `map` would use; null: none holds there. @throws {AppError} */
  profile(actor: Actor, query: MappingQuery): Promise<string | null>
}

export function createMetadataImport(deps: ImportDeps): MetadataImport {
  const map: MapMetadata = async (actor, ids, query) => {
    assertSensible(query)
    if (query.mapping === undefined) return new Map()
    if (!actor) throw new AppError('InsufficientRights')
    const use = await chosenMapping(deps, actor, query)
    if (!use) return new Map()
    const { mapping, table, mask, pool } = use
    const linkedPool = query.linked_pool_id ?? pool
    if (linkedPool !== null && linkedPool !== pool) await requirePool(deps, actor, linkedPool, 'linked_pool_id')
    const metadata = await deps.metadata(actor, ids)
    const targets = targetsOf(deps, mapping, table, mask)
    const languages = deps.languages()
    const objects = new Map<number, object>()
    const links: WantedLink[] = []
    const ends: (() => void)[] = []
    const yielder = createYielder()
    for (const id of ids) {
      const file = metadata.get(id)
      if (!file || (mapping.extensions.length > 0 && !mapping.extensions.includes(file.extension))) continue
      if (yielder.due()) await yielder.yield()
      const made = assemble(targets, tagReader(file.tags), languages)
      links.push(...made.links)
      ends.push(made.prune)
      const _pool = table.poolLink && pool !== null ? { _pool: { pool: { _id: pool } } } : {}
      objects.set(id, { _objecttype: table.name, _mask: mask.name, [table.name]: Object.assign(made.block, _pool) })
    }
    await resolveLinks(links, {
      find: (wanted) => deps.find(actor, wanted),
      maskOf: (target) => deps.maskOf(target, target.poolLink ? linkedPool : null),
      pool: linkedPool,
    })
    for (const end of ends) end()
    return objects
  }
  return {
    map,
    profile: async (actor, query) => (await chosenMapping(deps, actor, query))?.mapping.profile ?? null,
  }
}

/** @throws {AppError} for what says nothing without something else. */
function assertSensible(query: MappingQuery): void {
  const { mapping, objecttype, mask, pool_id, mapping_recipe_configs: recipes } = query
  const further = { objecttype, mask, pool_id, mapping_recipe_configs: recipes }
  const alone = Object.entries(further).find(([, value]) => value !== undefined)
  if (mapping === undefined && alone) throw unsupported(alone[0], alone[1], 'it goes with mapping')
  if (recipes === undefined) return
  if (mapping === 'standard') throw unsupported('mapping_recipe_configs', recipes, 'it goes with the id of a mapping')
  const [recipe] = Object.keys(parsed(recipes))
  if (recipe !== undefined) throw unsupported('mapping_recipe_configs', recipe, 'the mapping takes no such recipe')
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {}
  throw unsupported('mapping_recipe_configs', text, 'it must be a JSON object')
}

function unsupported(param: string, value: unknown, problem: string): AppError {
  const message = `${param}: ${problem}.`
  return new AppError('UrlParameterNotSupported', { param, value: `${value}`.slice(0, 200) }, { message })
}

interface Chosen {
  readonly mapping: Mapping
  readonly table: Table
  readonly mask: Mask
  readonly pool: number | null
}

/** Null: none holds there. */
async function chosenMapping(deps: ImportDeps, actor: Actor, query: MappingQuery): Promise<Chosen | null> {
  const model = deps.datamodel.current()
  const pool = query.pool_id ?? null
  if (pool !== null) await requirePool(deps, actor, pool, 'pool_id')
  const named = query.mapping === 'standard' ? null : await deps.mappings.find(deps.db, Number(query.mapping))
  const table = tableOf(model, query, named)
  const mask = maskOf(deps, table, query.mask, pool)
  const id = named?.id ?? standardMapping(deps, 'import', { objecttype: table.id, pool })
  if (id === null) return null
  const mapping = named ?? (await deps.mappings.find(deps.db, id))
  if (mapping.type.exiftool_import !== true) {
    throw badRequest(`The mapping ${id} is not for imports.`, { param: 'mapping', value: id })
  }
  if (!isForType(mapping, table.id)) {
    if (!named) return null
    throw badRequest(`The mapping ${id} is for another object type.`, { param: 'objecttype', value: table.name })
  }
  return { mapping, table, mask, pool }
}

async function requirePool({ rights, pools }: ImportDeps, actor: Actor, id: number, path: string): Promise<void> {
  const caller = await rights.forActor(actor)
  if (pools.snapshot().has(id) && (caller.root || caller.knowsPool(id))) return
  throw new AppError('PoolNotFound', { path, _id: id })
}

function tableOf(model: Model, { objecttype }: MappingQuery, mapping: Mapping | null): Table {
  if (objecttype !== undefined) {
    const table = model.objecttypes.get(objecttype)
    if (!table) throw new AppError('UnknownObjecttype', { objecttype })
    return table
  }
  const own = mapping?.table == null ? undefined : model.tablesById.get(mapping.table)
  if (own) return own
  throw badRequest('objecttype: it must be said which objects the files are for.', { param: 'objecttype' })
}

function maskOf(deps: ImportDeps, table: Table, name: string | undefined, pool: number | null): Mask {
  if (name === undefined) return deps.maskOf(table, table.poolLink ? pool : null)
  const mask = table.masks.get(name)
  if (!mask) throw new AppError('MaskNotFound', { name: 'mask', mask: name.slice(0, 200), objecttype: table.name })
  return mask
}

/** What of the mapping concerns objects of the type, as far as they can be written in the mask. */
function targetsOf({ datamodel, mappings }: ImportDeps, mapping: Mapping, table: Table, mask: Mask): readonly Target[] {
  const model = datamodel.current()
  const profile = mappings.profile(mapping.profile)
  const known = profile ? fieldsOf(profile) : new Map()
  return mapping.fields.flatMap((field) => {
    const own = known.get(field.name)
    const named =
      mapping.id === ownMappingId
        ? [pathByName(table, own?.columns ?? [])]
        : field.sources.map((source) => (source.kind === 'field' ? fromStored(model, source.path) : null))
    const paths = named.filter((path) => path !== null).filter((path) => path.root === table && lets(mask, path))
    const searches = tagsOf(field, own).imports.map(({ search }) => search)
    return paths.length === 0 ? [] : [{ searches, paths, strategy: field.strategy ?? own?.strategy ?? 'replace' }]
  })
}

/** Whether the mask lets the column be written, or the link through which it is reached. */
function lets(mask: Mask, { nested, link, column }: FieldPath): boolean {
  let fields = mask.fields
  for (const table of nested) {
    const field = fields.find((one) => one.kind === 'nested' && one.table === table)
    if (field?.kind !== 'nested' || field.mode !== 'edit') return false
    fields = field.fields
  }
  const own = link ?? column
  if (!own || !column || !importable(column)) return false
  return fields.some((one) => one.kind === 'column' && one.column === own && one.mode === 'edit')
}
