import type { Model, Table } from '../../datamodel/model.ts'
import type { FilenameTemplates } from '../../objecttypes/model.ts'
import { chooseTemplate, fileFields, fillTemplate, replacementsOf } from '../../objecttypes/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { namedColumn, replacementText } from '../values/replacement.ts'
import { treeOf, type Wire } from '../values/tree.ts'
import type { ReadService } from './read.ts'

export interface FileNameDeps {
  readonly db: Db
  readonly datamodel: { current(): Model }
  readonly read: Pick<ReadService, 'stream'>
  /** `_export_asset_filenames` of an object type. */
  readonly templatesOf: (objecttypeId: number) => FilenameTemplates
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
}

/** The properties of a file that a name template can use. */
export interface NamedFile {
  readonly id: number
  readonly class: string
  readonly extension: string
  readonly original_filename: string
  readonly version: string
}

/**
 * The name that the object of that uuid has for one of its files, by the templates of its object type; null where there is no
 * template, and for callers that may not see the object. The values are those that the caller reads, in the best of its masks: a
 * name reveals nothing that a read of the object does not.
 */
export function createFileNames({ db, datamodel, read, templatesOf, languages }: FileNameDeps) {
  return async (actor: Actor, uuid: string, file: NamedFile): Promise<string | null> => {
    const { rows } = await db.query<{ object: number; column: number }>(
      `select u.system_object_id as object, u.column_id as "column"
       from file_use u join object o on o.system_object_id = u.system_object_id
       where u.file_id = $1 and o.uuid = $2 order by u.latest desc, u.column_id limit 20`,
      [file.id, uuid],
      'columns-of-file',
    )
    const known = [...actor.languages, ...languages()]
    for (const row of rows) {
      const column = datamodel.current().columnsById.get(row.column)
      const chosen = column && chooseTemplate(templatesOf(column.table.root.id), column, known)
      if (!column || !chosen) continue
      const table = column.table.root
      const names = replacementsOf(chosen.template).filter((name) => !name.startsWith('_asset.'))
      const includeFields = [...new Set(['_uuid', ...names.map((name) => fieldOf(name, table))])]
      const [object] = await Array.fromAsync(read.stream(actor, [row.object], { format: 'long', includeFields }))
      if (!object) return null
      return filled(chosen, { model: datamodel.current(), object, table, file, languages: known })
    }
    return null
  }
}

/** A file of a column, as templates see it. */
export type NamedAsset = NamedFile & { readonly field: string }

/**
 * The names of the files of objects that are already rendered: by the given template, or by the templates of the object types; null
 * where there is none.
 */
export function createNamesOfRendered({
  datamodel,
  templatesOf,
  languages,
}: Pick<FileNameDeps, 'datamodel' | 'templatesOf' | 'languages'>) {
  return (
    object: Wire,
    { field, ...file }: NamedAsset,
    asked: { readonly languages: readonly string[]; readonly template: string | undefined },
  ): string | null => {
    const table = datamodel.current().objecttypes.get(`${object._objecttype}`)
    const column = table && fileFields(table).find(({ fullName }) => fullName === field)
    if (!table || !column) return null
    const known = [...asked.languages, ...languages()]
    const own = asked.template === undefined ? null : { template: asked.template, language: 'und' }
    const chosen = own ?? chooseTemplate(templatesOf(table.id), column, known)
    if (!chosen) return null
    return filled(chosen, { model: datamodel.current(), object, table, file, languages: known })
  }
}

/** The field of an answer that has the value of a replacement. */
function fieldOf(name: string, table: Table): string {
  const [first = '', second = ''] = name.split('.')
  return first === table.name ? `${first}.${second}` : first
}

interface Named {
  readonly model: Model
  readonly object: Wire
  readonly table: Table
  readonly file: NamedFile
  /** Best first. */
  readonly languages: readonly string[]
}

function filled(
  { template, language }: { readonly template: string; readonly language: string },
  { model, object, table, file, languages }: Named,
): string | null {
  const paths = new Set(
    replacementsOf(template).flatMap((name) => {
      const named = namedColumn(name, table.name)
      return named ? [`${table.name}.${named.column}`] : []
    }),
  )
  const tree = treeOf({ model, keep: (path) => paths.has(path) }, object)
  if (!tree) return null
  const best = language === 'und' ? languages : [language, ...languages]
  return fillTemplate(template, (name) => replacementText(name, { tree, file: { ...file }, languages: best }))
}
