/** Fields of objects as metadata of copies of their files. */
import type { Model, Table } from '../../datamodel/model.ts'
import type { FileMetadataToWrite } from '../../files/service.ts'
import { type ObjectTree, treeOf, type Wire } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { ownTags, tagsOf } from '../check.ts'
import { isForType, poolOf, type SettingsDeps, standardMapping } from '../effective.ts'
import type { Mapping, ProfileField } from '../model.ts'
import { fieldsOf } from '../profiles.ts'
import type { MappingService } from '../service.ts'
import { fieldTexts } from './field-texts.ts'
import { tagValues } from './tags.ts'

export interface ExportDeps extends SettingsDeps {
  readonly db: Db
  readonly datamodel: { current(): Model }
  readonly mappings: Pick<MappingService, 'find' | 'profile' | 'tags'>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
  readonly externalUrl: string
  /** Objects that the actor may see, in the order of the ids, with their links. */
  readonly read: (actor: Actor, ids: readonly number[]) => AsyncIterable<Wire>
}

/** The metadata that a download asks for in the copy. */
export interface WantedMetadata {
  readonly fileId: number
  /** Of the original. */
  readonly hash: string
  /** The object whose fields are written; null: the first one that the caller may read. */
  readonly objUuid: string | null
  /** Id of a mapping, or `standard`. */
  readonly mapping: string
}

/** The metadata for a copy; null: by the standard mapping, nothing is written. @throws {AppError} */
export type FoundMetadata = () => Promise<FileMetadataToWrite | null>

/** Most characters of all values. */
const mostText = 1_000_000
/** Most characters that are held for a list of files; metadata beyond them is read when it is asked for. */
const mostHeld = 10_000_000
/** Most objects with the file that are read. */
const mostObjects = 20

/**
 * The metadata for copies of files, in their order: the fields that the actor may read, in the best of the actor's masks; hidden
 * fields are not written. The number of queries does not grow with the number of files.
 * Asking for the metadata of a file throws `ServerGeneric` or `UrlParameterNotSupported`.
 */
export function createMetadataExport(deps: ExportDeps) {
  return async function metadata(actor: Actor, wanted: readonly WantedMetadata[]): Promise<readonly FoundMetadata[]> {
    const context = { ...deps, find: once((id: number) => deps.mappings.find(deps.db, id)) }
    const byObject = await wantedByObject(context, wanted)
    const found = new Map<WantedMetadata, FoundMetadata>()
    const ids = [...byObject.keys()].sort((a, b) => a - b)
    let held = 0
    for await (const object of deps.read(actor, ids)) {
      for (const one of byObject.get(Number(object._system_object_id)) ?? []) {
        if (found.has(one)) continue
        const made = await madeOf(context, object, one).catch((error: Error) => error)
        if (made === undefined) continue
        held += made && 'values' in made ? sizeOf(made) : 0
        const again: FoundMetadata = async () => (await metadata(actor, [one]))[0]?.() ?? null
        found.set(one, held > mostHeld && wanted.length > 1 ? again : () => told(made))
      }
      if (found.size === wanted.length) break
    }
    return wanted.map((one) => found.get(one) ?? (() => withoutObject(context, one)))
  }
}

interface Context extends ExportDeps {
  /** @throws {AppError} `ServerGeneric` */
  readonly find: (id: number) => Promise<Mapping>
}

function once<T>(find: (id: number) => Promise<T>): (id: number) => Promise<T> {
  const known = new Map<number, Promise<T>>()
  return (id) => {
    const found = known.get(id) ?? find(id)
    known.set(id, found)
    return found
  }
}

async function told(made: FileMetadataToWrite | Error | null): Promise<FileMetadataToWrite | null> {
  if (made instanceof Error) throw made
  return made
}

/** The mapping that a download names; null: the standard one. @throws {AppError} */
async function namedMapping({ find }: Context, { mapping }: WantedMetadata): Promise<Mapping | null> {
  if (mapping === 'standard') return null
  const named = await find(Number(mapping))
  if (named.type.exiftool_export !== true) throw unsupported('the mapping is not for exports')
  return named
}

/** The metadata that an object gives to its file; undefined: another object may give it. @throws {AppError} */
async function madeOf(
  context: Context,
  object: Wire,
  wanted: WantedMetadata,
): Promise<FileMetadataToWrite | null | undefined> {
  const named = await namedMapping(context, wanted)
  const tree = treeOf({ model: context.datamodel.current() }, object)
  if (!tree || object[tree.table.name] === undefined || (named && !isForType(named, tree.table.id))) return undefined
  const mapping = named ?? (await standard(context, tree.table, object))
  return mapping && metadataOf(context, { mapping, tree, wanted })
}

/** @throws {AppError} where the download names a mapping */
async function withoutObject(context: Context, wanted: WantedMetadata): Promise<null> {
  if ((await namedMapping(context, wanted)) === null) return null
  throw unsupported('no object that you may read, and that the mapping is for, has the file')
}

function unsupported(problem: string): AppError {
  return new AppError('UrlParameterNotSupported', { param: 'metadata' }, { message: `metadata: ${problem}.` })
}

/** The objects to be read, with the files for which each is read: none for a file whose objects all have no standard mapping. */
async function wantedByObject(
  deps: Context,
  wanted: readonly WantedMetadata[],
): Promise<ReadonlyMap<number, readonly WantedMetadata[]>> {
  const rows = (await objectsWith(deps.db, wanted)).map((row) => ({
    ...row,
    one: wanted[row.place - 1] as WantedMetadata,
  }))
  const read = new Set(
    rows
      .filter(({ one, ...at }) => one.mapping !== 'standard' || standardMapping(deps, 'export', at) !== null)
      .map(({ one }) => one),
  )
  const byObject = Map.groupBy(
    rows.filter(({ one }) => read.has(one)),
    ({ id }) => id,
  )
  return new Map([...byObject].map(([id, list]) => [id, list.map(({ one }) => one)]))
}

/**
 * The objects that have each file now, at most so many for each; `place` counts the files from 1. A named object is found first: a
 * file may be that of a hundred thousand objects.
 */
async function objectsWith(db: Db, wanted: readonly WantedMetadata[]) {
  const { rows } = await db.query<{ place: number; id: number; objecttype: number; pool: number | null }>(
    `select x.place::int, found.* from unnest($1::bigint[], $2::text[]) with ordinality as x(file, uuid, place)
     cross join lateral (
       (select o.* from (
          select system_object_id as id, objecttype, pool_id as pool from object where uuid = x.uuid and deleted_at is null offset 0
        ) o cross join lateral (
          select from file_use where file_id = x.file and system_object_id = o.id and latest limit 1
        ) u)
       union all
       (select distinct o.system_object_id, o.objecttype, o.pool_id
        from file_use u join object o using (system_object_id)
        where x.uuid is null and u.file_id = x.file and u.latest and o.deleted_at is null
        order by 1 limit $3)
     ) found`,
    [wanted.map(({ fileId }) => fileId), wanted.map(({ objUuid }) => objUuid), mostObjects],
    'objects-for-metadata',
  )
  return rows
}

async function standard(context: Context, table: Table, object: Wire): Promise<Mapping | null> {
  const id = standardMapping(context, 'export', { objecttype: table.id, pool: poolOf(table, object) })
  if (id === null) return null
  const mapping = await context.find(id)
  return isForType(mapping, table.id) ? mapping : null
}

interface Export {
  readonly mapping: Mapping
  readonly tree: ObjectTree
  readonly wanted: WantedMetadata
}

function metadataOf(deps: ExportDeps, asked: Export): FileMetadataToWrite {
  const { mapping, tree, wanted } = asked
  const model = deps.datamodel.current()
  const address = `${deps.externalUrl}/api/v1/eas/download/${wanted.fileId}/${wanted.hash}/original`
  const profile = deps.mappings.profile(mapping.profile)
  const known = profile ? fieldsOf(profile) : new Map<string, ProfileField>()
  const languages = deps.languages()
  const emptied: string[] = []
  const values = mapping.fields.flatMap((field) => {
    const own = known.get(field.name)
    const texts = fieldTexts({ mapping, tree, model, languages, address }, field, own)
    // A field without sources does not change its tags.
    if (texts === null || (texts.length === 0 && mapping.type.exiftool_export_omit_empty === true)) return []
    return tagsOf(field, own).exports.flatMap((tag) => {
      emptied.push(tag.path)
      return tagValues(tag, { texts, known: deps.mappings.tags.writable(tag.path), languages })
    })
  })
  if (sizeOf({ values }) > mostText) throw unsupported(`the object says more than ${mostText} characters`)
  const exports = mapping.fields.flatMap((field) => tagsOf(field, known.get(field.name)).exports)
  const defined = new Set(ownTags(emptied, deps.mappings.tags))
  return {
    emptied: [...new Set(emptied)],
    values,
    // If a tag is defined in two shapes, the first one is used.
    own: [...defined].map((path) => {
      const { list = false, l10n = false } = exports.find((tag) => tag.path === path) ?? {}
      return { path, list, l10n }
    }),
  }
}

const sizeOf = ({ values }: Pick<FileMetadataToWrite, 'values'>): number =>
  values.reduce((sum, { value }) => sum + value.length, 0)
