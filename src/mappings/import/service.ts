/** Metadata of files as objects that can be saved. */

import type { Column, Mask, Model, Table } from '../../datamodel/model.ts'
import type { FileMetadata } from '../../files/service.ts'
import type { FoundByValue, WantedValues } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import { isRecord } from '../../platform/values/records.ts'
import type { RecipeConfigs } from '../../plugins/service.ts'
import type { RightsService } from '../../rights/service.ts'
import { tagsOf } from '../check.ts'
import { isForType, recipeConfigsOf, type SettingsDeps, standardMapping } from '../effective.ts'
import { type Mapping, ownMappingId } from '../model.ts'
import { type FieldPath, fromStored, importable, pathByName } from '../paths.ts'
import { fieldsOf } from '../profiles.ts'
import { definedBy, readConfigs } from '../recipes.ts'
import type { MappingService } from '../service.ts'
import { type AskDeps, askRecipes } from './ask-recipes.ts'
import { assemble, type LinkRequest, type Target } from './assemble.ts'
import { resolveLinks } from './links.ts'
import { type Reading, type TagReader, tagReader } from './read-tags.ts'

export interface ImportDeps extends SettingsDeps, AskDeps {
  readonly db: Parameters<MappingService['find']>[0]
  readonly datamodel: { current(): Model }
  readonly mappings: Pick<MappingService, 'find' | 'profile'>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly rights: Pick<RightsService, 'forActor'>
  /** The metadata of files that the caller may know. */
  readonly metadata: (actor: Actor | null, ids: readonly number[]) => Promise<ReadonlyMap<number, FileMetadata>>
  readonly find: (actor: Actor, wanted: readonly WantedValues[]) => Promise<readonly (readonly FoundByValue[])[]>
  /** The preferred mask for objects of the type in the pool. */
  readonly maskOf: (table: Table, pool: number | null) => Mask
}

/** The parameters of a request for records of files that ask for objects. */
export interface MappingQuery {
  readonly mapping?: string | undefined
  readonly objecttype?: string | undefined
  readonly mask?: string | undefined
  readonly pool_id?: number | undefined
  readonly mapping_recipe_configs?: string | undefined
}

/** The query of an upload, which has further members. */
interface UploadQuery extends MappingQuery {
  /** Parameters that its collection sets for the recipes of the mapping. */
  readonly recipeConfigs?: RecipeConfigs
  /** Where objects go that are made because files name them; absent: into the same pool. */
  readonly linked_pool_id?: number
  /** The same for those behind certain links. */
  readonly linkedPools?: ReadonlyMap<Column, number>
}

/** `_mapped_metadata` of files; files without metadata, and files of other types than the mapping's, are missing. */
export type MapMetadata = (
  actor: Actor | null,
  ids: readonly number[],
  query: UploadQuery,
) => Promise<ReadonlyMap<number, object>>

export interface MetadataImport {
  readonly map: MapMetadata
  /** The profile of the mapping that `map` would use; null: there is none. @throws {AppError} */
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
    const { linkedPools = new Map<Column, number>() } = query
    const linkedPool = query.linked_pool_id ?? pool
    if (linkedPool !== null && linkedPool !== pool) await requirePool(deps, actor, linkedPool, 'linked_pool_id')
    for (const [link, id] of linkedPools) await requirePool(deps, actor, id, `linked_object_pools.${link.name}`)
    const poolOf = (link: Column): number | null =>
      link.target?.poolLink ? (linkedPools.get(link) ?? linkedPool) : null
    const metadata = await deps.metadata(actor, ids)
    const own = query.recipeConfigs ?? readRecipes(mapping, query.mapping_recipe_configs)
    const targets = targetsOf(deps, mapping, table, mask)
    const files = new Map([...metadata].filter(([, { extension }]) => takes(mapping, extension)))
    const asking = {
      mapping,
      names: new Set(targets.flatMap(({ recipe }) => recipe?.name ?? [])),
      configs: [own, recipeConfigsOf(deps, table.id, mapping.id)],
    }
    const saidOf = await askRecipes(deps, actor, asking, files)
    const languages = deps.languages()
    const objects = new Map<number, object>()
    const links: LinkRequest[] = []
    const ends: (() => void)[] = []
    const yielder = createYielder()
    for (const id of ids) {
      const file = files.get(id)
      if (!file) continue
      if (yielder.due()) await yielder.yield()
      const tags = tagReader(file.tags)
      const read = ({ searches, recipe }: Target): Reading | null =>
        recipe ? saidOf(id, recipe) : firstReading(searches, tags)
      const made = assemble(targets, read, languages)
      links.push(...made.links)
      ends.push(made.prune)
      const _pool = table.poolLink && pool !== null ? { _pool: { pool: { _id: pool } } } : {}
      objects.set(id, { _objecttype: table.name, _mask: mask.name, [table.name]: Object.assign(made.block, _pool) })
    }
    await resolveLinks(links, {
      find: (wanted) => deps.find(actor, wanted),
      maskOf: deps.maskOf,
      poolOf,
    })
    for (const end of ends) end()
    return objects
  }
  return {
    map,
    profile: async (actor, query) => (await chosenMapping(deps, actor, query))?.mapping.profile ?? null,
  }
}

/** @throws {AppError} for a parameter that needs another one. */
function assertSensible(query: MappingQuery): void {
  const { mapping, objecttype, mask, pool_id, mapping_recipe_configs: recipes } = query
  const further = { objecttype, mask, pool_id, mapping_recipe_configs: recipes }
  const alone = Object.entries(further).find(([, value]) => value !== undefined)
  if (mapping === undefined && alone) throw unsupported(alone[0], alone[1], 'it goes with mapping')
  if (recipes !== undefined && mapping === 'standard')
    throw unsupported('mapping_recipe_configs', recipes, 'it goes with the id of a mapping')
}

/** Parameters that a request sets: of recipes of the mapping, and only those with `usereditable`. @throws {AppError} */
function readRecipes(mapping: Mapping, text: string | undefined): RecipeConfigs {
  if (text === undefined) return {}
  return readConfigs(parsed(text), definedBy(mapping), { path: 'mapping_recipe_configs', by: 'user' })
}

const takes = ({ extensions }: Mapping, extension: string): boolean =>
  extensions.length === 0 || extensions.includes(extension)

function firstReading(searches: readonly string[], read: TagReader): Reading | null {
  for (const search of searches) {
    const found = read(search)
    if (found) return found
  }
  return null
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
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

/** Null: there is no mapping. */
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

/** The parts of the mapping for objects of the type, as far as the mask allows to write them. */
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
    const strategy = field.strategy ?? own?.strategy ?? 'replace'
    return paths.length === 0 ? [] : [{ searches, recipe: field.recipe ?? null, paths, strategy }]
  })
}

/** Whether the mask allows writing the column, or the link that leads to it. */
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
