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

/** Most characters of all values. */
const mostText = 1_000_000
/** Most objects with the file that are read. */
const mostObjects = 20

/**
 * The metadata for a copy of a file: the fields that the actor may read, in the best of the actor's masks; hidden fields
 * are not written. Null: by the standard mapping, nothing is written.
 * @throws {AppError} `ServerGeneric`, `UrlParameterNotSupported`
 */
export function createMetadataExport(deps: ExportDeps) {
  return async (actor: Actor, wanted: WantedMetadata): Promise<FileMetadataToWrite | null> => {
    const named = wanted.mapping === 'standard' ? null : await deps.mappings.find(deps.db, Number(wanted.mapping))
    if (named && named.type.exiftool_export !== true) throw unsupported('the mapping is not for exports')
    for await (const object of deps.read(actor, await objectsWith(deps.db, wanted))) {
      const tree = treeOf({ model: deps.datamodel.current() }, object)
      if (!tree || object[tree.table.name] === undefined || (named && !isForType(named, tree.table.id))) continue
      const mapping = named ?? (await standard(deps, tree.table, object))
      return mapping && metadataOf(deps, { mapping, tree, wanted })
    }
    if (!named) return null
    throw unsupported('no object that you may read, and that the mapping is for, has the file')
  }
}

function unsupported(problem: string): AppError {
  return new AppError('UrlParameterNotSupported', { param: 'metadata' }, { message: `metadata: ${problem}.` })
}

async function objectsWith(db: Db, { fileId, objUuid }: WantedMetadata): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select distinct o.system_object_id as id from file_use u join object o using (system_object_id)
     where u.file_id = $1 and u.latest and o.deleted_at is null and ($2::text is null or o.uuid = $2)
     order by 1 limit $3`,
    [fileId, objUuid, mostObjects],
    'objects-for-metadata',
  )
  return rows.map(({ id }) => id)
}

async function standard(deps: ExportDeps, table: Table, object: Wire): Promise<Mapping | null> {
  const id = standardMapping(deps, 'export', { objecttype: table.id, pool: poolOf(table, object) })
  if (id === null) return null
  const mapping = await deps.mappings.find(deps.db, id)
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
  const size = values.reduce((sum, { value }) => sum + value.length, 0)
  if (size > mostText) throw unsupported(`the object says more than ${mostText} characters`)
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
