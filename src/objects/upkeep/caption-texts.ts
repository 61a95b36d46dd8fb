import type { Column, Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { Localized } from '../../platform/values/localized.ts'
import type { Content, Standard } from '../stored/content.ts'
import { namedColumn, replacementText } from '../values/replacement.ts'
import type { FieldTree, ObjectTree } from '../values/tree.ts'
import { type CaptionVisibility, type CaptionVisibilityDeps, captionVisibility } from './caption-visibility.ts'

/** A caption of a file, and the object for its replacements. */
interface WantedCaption {
  readonly use: { readonly fileId: number; readonly systemObjectId: number }
  readonly template: string
  /** The user who set the caption: it shows only values that this user may read. */
  readonly setBy: number
}

interface Source {
  readonly fileId: number
  readonly systemObjectId: number
  readonly objecttype: number
  readonly uuid: string
  readonly version: number
  readonly createdAt: string
  readonly modifiedAt: string
  readonly standard: Standard
  readonly content: Content
  readonly pool: { readonly name: Localized; readonly shortname: Localized } | null
  readonly file: Readonly<Record<string, string | number>>
}

interface Reading extends CaptionVisibilityDeps {
  /** Database languages, first one first. */
  readonly languages: readonly string[]
}

/** A percent sign that does not begin a name is a plain character. */
const replacement = /%([A-Za-z_][^%\s]*)%/g
/** Characters of a caption. */
const longest = 2000

/**
 * The texts of captions, by file: `%title%` or `%artwork.title%` is the value of a column, optionally followed by a language. They
 * contain only values that the user who set the caption may read now; every user who may see the rendition sees its caption.
 */
export async function captionTexts(
  reading: Reading,
  from: Queryable,
  wanted: readonly WantedCaption[],
): Promise<ReadonlyMap<number, string>> {
  const filled = wanted.filter(({ template }) => template.match(replacement))
  const sources = new Map((await readSources(from, filled)).map((source) => [source.fileId, source]))
  const linkedIds = linkedBy(reading.model, filled, sources)
  const linked = await readStandards(from, linkedIds)
  const setters = filled.map(({ setBy }) => setBy)
  const objects = [...linkedIds, ...filled.map(({ use }) => use.systemObjectId)]
  const visibilityOf = await captionVisibility(reading, from, setters, objects)
  return new Map(
    wanted.map(({ use, template, setBy }) => {
      const source = sources.get(use.fileId)
      const table = source && reading.model.tablesById.get(source.objecttype)
      const visibility = visibilityOf(setBy)
      const tree =
        source && table && visibility.object(use.systemObjectId)
          ? shownTree(template, source, { table, linked, visibility })
          : null
      const valueAt = (name: string): string =>
        source && tree
          ? replacementText(wholeName(name, tree.table), { tree, file: source.file, languages: reading.languages })
          : ''
      const text = template.replaceAll(replacement, (_, name: string) => valueAt(name))
      return [use.fileId, text.trim().slice(0, longest).toWellFormed()]
    }),
  )
}

async function readSources(from: Queryable, wanted: readonly WantedCaption[]): Promise<Source[]> {
  if (wanted.length === 0) return []
  const { rows } = await from.query<Source>(
    `select f.id as "fileId", o.system_object_id as "systemObjectId", o.objecttype, o.uuid, o.version, o.standard,
       to_char(o.created_at at time zone 'utc', 'YYYY-MM-DD') as "createdAt",
       to_char(o.modified_at at time zone 'utc', 'YYYY-MM-DD') as "modifiedAt", v.content,
       case when p.id is not null then json_build_object('name', p.name, 'shortname', p.shortname) end as pool,
       json_build_object('id', f.id, 'original_filename', f.filepath, 'class', fv.class, 'extension', fv.extension) as file
     from unnest($1::bigint[], $2::bigint[]) as x(f, o)
       join file f on f.id = x.f
       join file_version fv on fv.file_id = f.id and fv.name = 'original'
       join object o on o.system_object_id = x.o
       join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
       left join pool p on p.id = o.pool_id`,
    [wanted.map(({ use }) => use.fileId), wanted.map(({ use }) => use.systemObjectId)],
    'caption-sources',
  )
  return rows
}

/** `_standard` of other objects, by system object id. */
async function readStandards(from: Queryable, ids: readonly number[]): Promise<ReadonlyMap<number, Standard>> {
  if (ids.length === 0) return new Map()
  const { rows } = await from.query<{ id: number; standard: Standard }>(
    'select system_object_id as id, standard from object where system_object_id = any($1::bigint[])',
    [ids],
    'standards-of-objects',
  )
  return new Map(rows.map(({ id, standard }) => [id, standard]))
}

function linkedBy(
  model: Model,
  wanted: readonly WantedCaption[],
  sources: ReadonlyMap<number, Source>,
): readonly number[] {
  return wanted.flatMap(({ use, template }) => {
    const source = sources.get(use.fileId)
    const table = source && model.tablesById.get(source.objecttype)
    if (!table) return []
    return [...template.matchAll(replacement)].flatMap(([, name = '']) => {
      const column = columnOf(name, table)
      const value = column?.type === 'link' ? source.content[column.key] : undefined
      return typeof value === 'number' ? [value] : []
    })
  })
}

/** A column of the object type, with or without the name of the type before it. */
function columnOf(name: string, table: Table): Column | undefined {
  return table.columnByName.get(namedColumn(wholeName(name, table), table.name)?.column ?? '')
}

/** In captions the name of the object type may be left out. */
function wholeName(name: string, { name: objecttype }: Table): string {
  return name.startsWith('_') || name.startsWith(`${objecttype}.`) ? name : `${objecttype}.${name}`
}

interface Shown {
  readonly table: Table
  readonly linked: ReadonlyMap<number, Standard>
  readonly visibility: CaptionVisibility
}

/** The stored values of the object that the template names and that may be shown. */
function shownTree(template: string, source: Source, { table, linked, visibility }: Shown): ObjectTree {
  const { systemObjectId: id, content } = source
  const named = [...template.matchAll(replacement)].flatMap(([, name = '']) => columnOf(name, table) ?? [])
  const fields = [...new Set(named)].flatMap((column): FieldTree[] => {
    const value = content[column.key]
    if (value === undefined || value === null || !visibility.column(id, column)) return []
    const placed = { name: column.name, path: column.fullName, column }
    if (column.type !== 'link') return [{ ...placed, kind: 'value', value }]
    const target = value as number
    const standard = visibility.title(target) ? linked.get(target) : undefined
    const wire = standard ? { _standard: standard } : {}
    const object = { wire, table: column.target ?? table, whole: false, fields: [], paths: [] }
    return [{ ...placed, kind: 'link', object }]
  })
  const wire = {
    _system_object_id: id,
    _uuid: source.uuid,
    _objecttype: table.name,
    _created: source.createdAt,
    _last_modified: source.modifiedAt,
    ...(visibility.title(id) ? { _standard: source.standard } : {}),
    ...(source.pool ? { _pool: { pool: source.pool } } : {}),
    [table.name]: { _version: source.version },
  }
  return { wire, table, whole: true, fields, paths: [] }
}
