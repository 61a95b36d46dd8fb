import type { Column, Localized, Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { valueText } from '../standard/text.ts'
import type { Content, Standard } from '../stored/content.ts'
import { type CaptionVisibility, type CaptionVisibilityDeps, captionVisibility } from './caption-visibility.ts'

/** A caption of a file, and the object that its replacements are about. */
interface WantedCaption {
  readonly use: { readonly fileId: number; readonly systemObjectId: number }
  readonly template: string
  /** Whoever has set it: it tells what they may read. */
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

/** A percent sign that does not begin a name stands for itself. */
const replacement = /%([A-Za-z_][^%\s]*)%/g
/** Characters of a caption. */
const longest = 2000

/**
 * The texts of captions, by file: `%title%` or `%artwork.title%` is the value of a column, with a language at its end where one
 * is meant. They tell what whoever has set the caption may read now; everybody who may see the rendition sees its caption.
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
      const visibility = visibilityOf(setBy)
      const valueAt = (name: string): string =>
        source && visibility.object(use.systemObjectId) ? textOf(name, source, { linked, visibility, reading }) : ''
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
      const named = columnOf(name, table)
      const value = named?.column.type === 'link' ? source.content[named.column.key] : undefined
      return typeof value === 'number' ? [value] : []
    })
  })
}

/** A column of the object type, with what stands behind it. */
function columnOf(name: string, table: Table): { readonly column: Column; readonly rest: readonly string[] } | null {
  const [first = '', ...rest] = name.split('.')
  const [own = '', ...behind] = first === table.name ? rest : [first, ...rest]
  const column = table.columnByName.get(own)
  return column ? { column, rest: behind } : null
}

interface Telling {
  readonly linked: ReadonlyMap<number, Standard>
  readonly visibility: CaptionVisibility
  readonly reading: Reading
}

function textOf(name: string, source: Source, { linked, visibility, reading }: Telling): string {
  const { model, languages } = reading
  const { systemObjectId: id } = source
  const table = model.tablesById.get(source.objecttype)
  const [first = '', ...rest] = name.split('.')
  if (first === '_asset') return plain(source.file[rest[0] ?? ''])
  if (first === '_standard') return visibility.title(id) ? standardText(source.standard, rest, languages) : ''
  if (first === '_pool') {
    const field = rest[0] === 'name' ? source.pool?.name : rest[0] === 'shortname' ? source.pool?.shortname : undefined
    return localized(field, rest[1], languages)
  }
  const own: Readonly<Record<string, string | number>> = {
    _system_object_id: id,
    _uuid: source.uuid,
    _version: source.version,
    _objecttype: table?.name ?? '',
    _created: source.createdAt,
    _last_modified: source.modifiedAt,
  }
  if (Object.hasOwn(own, first)) return plain(own[first])
  const named = table && columnOf(name, table)
  const value = named ? source.content[named.column.key] : undefined
  if (!named || value === undefined || !visibility.column(id, named.column)) return ''
  if (named.column.type === 'link') {
    const target = value as number
    return visibility.title(target) ? standardText(linked.get(target), named.rest.slice(1), languages) : ''
  }
  return localized(valueText(named.column, value, languages), named.rest[0], languages)
}

/** `1.text.de-DE` of a standard. */
function standardText(
  standard: Standard | undefined,
  [slot = '', , language]: readonly string[],
  languages: readonly string[],
): string {
  const { text } = (standard?.[slot] ?? {}) as { readonly text?: unknown }
  return localized(text, language, languages)
}

/** Where a language is named it is that one or none; else the first that there is. */
function localized(value: unknown, language: string | undefined, languages: readonly string[]): string {
  if (typeof value !== 'object' || value === null) return plain(value)
  const texts = value as Localized
  if (language !== undefined) return texts[language] ?? ''
  const best = languages.find((one) => texts[one]) ?? Object.keys(texts)[0]
  return best === undefined ? '' : (texts[best] ?? '')
}

function plain(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : ''
}
