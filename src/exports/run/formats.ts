import { csvSettings, type FormatOptions, type FormatService } from '../../formats/service.ts'
import { type MergeMode, mergeModes } from '../../objects/service.ts'
import { wrong } from '../check.ts'
import type { ExportBody } from '../schema.ts'

/** A document that an export makes, of all objects or of each. */
export interface DataFormat {
  /** Its name in the export: `json`, `xml`, `csv`, `xlsx`. */
  readonly name: string
  /** Its name for the writers. */
  readonly format: string
  readonly each: boolean
}

const internal = ['json', 'xml', 'csv', 'xlsx'] as const

export function dataFormats(body: ExportBody): readonly DataFormat[] {
  const plugin = body.produce_options?.plugin ?? ''
  const asked = (name: (typeof internal)[number]): boolean => {
    const value = body[name]
    return plugin === name || value === true || (typeof value === 'object' && value !== null)
  }
  const wanted: DataFormat[] = []
  for (const name of internal) {
    const each = (name === 'json' && body.json_one_file_per_object) || (name === 'xml' && body.xml_one_file_per_object)
    if (asked(name) || each) wanted.push({ name, format: formatNameOf(name, body), each: each === true })
  }
  return wanted
}

/** The procedure of a plugin that changes the export, `<plugin>:<procedure>`; null: none. */
export function pluginOf({
  produce_options: { plugin = '' } = {},
}: Pick<ExportBody, 'produce_options'>): string | null {
  return plugin.includes(':') ? plugin : null
}

const formatNames = { json: 'json', xml: 'xml_native', csv: 'csv', xlsx: 'xlsx' } as const
/** The mappings for XML that mean the service's own elements, with their structure or without. */
const nativeMappings = ['native', 'native_flat']

function formatNameOf(name: keyof typeof formatNames, { mapping }: ExportBody): string {
  const mapped = name === 'xml' && mapping !== undefined && mapping !== '' && !nativeMappings.includes(`${mapping}`)
  if (!mapped) return formatNames[name]
  return typeof mapping === 'number' ? `xmlmapping/${mapping}` : mapping
}

/** The style sheet for XML must be one of the base configuration: others are not run. */
function checkSheet(formats: Pick<FormatService, 'sheetOf'>, body: ExportBody): void {
  const { xslt_xml_post_processing: sheet, mapping } = body
  if (!sheet) return
  if (formats.sheetOf(sheet._id) === null) {
    throw wrong('xslt_xml_post_processing', 'must be a file (.xsl or .xslt) of export.xslts of the base configuration')
  }
  if (mapping !== undefined && mapping !== '' && mapping !== 'native') {
    throw wrong('xslt_xml_post_processing', 'takes the mapping native')
  }
}

/**
 * Checks whether the documents of an export can be made: mapping, plugin, and combinations of settings.
 * @throws {AppError} `ServerGeneric`
 */
export function checkDataFormats(
  formats: Pick<FormatService, 'find' | 'sheetOf'>,
  knowsPlugin: (name: string) => boolean,
  body: ExportBody,
): void {
  const { mapping, produce_options: { plugin } = {} } = body
  if (mapping !== undefined && mapping !== '' && !nativeMappings.includes(`${mapping}`)) {
    // A mapping with an id is checked together with those of the files.
    const name = typeof mapping === 'number' ? `xmlmapping/${mapping}` : mapping
    const known = typeof mapping === 'string' && mapping.startsWith('xmlmapping/') ? null : formats.find(name)
    if (!known || known.single || internal.some((name) => formatNames[name] === mapping))
      throw wrong('mapping', 'is not known')
  }
  checkSheet(formats, body)
  const isKnown = plugin === 'file' || internal.some((name) => name === plugin) || (plugin && knowsPlugin(plugin))
  if (plugin && !isKnown) throw wrong('produce_options.plugin', 'is no procedure of a plugin that is on')
  for (const { name, format } of dataFormats(body)) if (!formats.find(format)) throw wrong(name, 'cannot be made here')
  if (typeof body.csv === 'object' && body.csv !== null) csvSettings(tableOptions(body.csv))
}

/** The options for the writers. */
export function formatOptions(body: ExportBody, name: string): FormatOptions {
  const mode = body.merge_linked_objects
  const merged = mode !== undefined && mode !== 'none' && (mergeModes as readonly string[]).includes(mode)
  const table = body[name as 'csv' | 'xlsx']
  const named = Object.entries(body.fields ?? {})
  // The changelog is added to the fields, because it is not one of them.
  const changes = typeof table === 'object' && table !== null && table.include_changelog
  const fields = named.length > 0 && changes ? [...named, ['_changelog', {}] as const] : named
  return {
    ...(fields.length > 0
      ? {
          fields: Object.fromEntries(
            fields.map(([key, value]) => [key, { displayName: (value as { display_name?: string }).display_name }]),
          ),
        }
      : {}),
    allLanguages: body.all_languages === true,
    noInheritance: body.no_inheritance === true,
    includeParents: body.include_parents === true,
    ...(merged ? { mergeLinkedObjects: mode as MergeMode, mergeMaxDepth: body.merge_max_depth || 1 } : {}),
    fileMetadata: body.file_metadata === true,
    ...(name === 'xml' && body.mapping === 'native_flat' ? { flat: true } : {}),
    fileDays: body.file_url_expire_days,
    ...(typeof table === 'object' && table !== null ? { table: tableOptions(table) } : {}),
  }
}

function tableOptions(table: Exclude<NonNullable<ExportBody['csv'] | ExportBody['xlsx']>, boolean>) {
  const { include_changelog: changelog, localized_column_names: localized, hierarchy } = table
  const { delimiter, quote, escape: escaped, use_bom: bom } = table as Record<string, string & boolean>
  const { include_thumbnail: thumbnail } = table as { readonly include_thumbnail?: boolean }
  return {
    ...(localized === undefined ? {} : { localizedColumnNames: localized }),
    ...(hierarchy === undefined ? {} : { hierarchy }),
    ...(changelog === undefined
      ? {}
      : { includeChangelog: typeof changelog === 'boolean' ? changelog : { withUser: changelog.with_user === true } }),
    ...(delimiter ? { delimiter } : {}),
    ...(quote ? { quote } : {}),
    ...(escaped ? { escape: escaped } : {}),
    ...(bom === undefined ? {} : { useBom: bom }),
    ...(thumbnail === undefined ? {} : { includeThumbnail: thumbnail }),
  }
}
