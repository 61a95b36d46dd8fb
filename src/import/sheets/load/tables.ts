import { type ImportedColumn, importedColumns, type Mapping } from '../plan/mapping.ts'
import { languageHeading } from '../plan/names.ts'

type Localized = Record<string, string>
type Entry = { name: string; [property: string]: unknown }

/** The wire form of the object types to create, of their masks, and of their names. */
export interface NewTypes {
  readonly tables: Entry[]
  readonly masks: Entry[]
  readonly names: Record<string, Localized>
}

/** `missing` are the types of the mapping that the service does not have. */
export function newTypes(mapping: Mapping, missing: readonly string[]): NewTypes {
  const result: NewTypes = { tables: [], masks: [], names: {} }
  for (const type of missing) {
    if (type !== mapping.type) addList(type, mapping, result)
  }
  if (missing.includes(mapping.type)) addMain(mapping, result)
  return result
}

function column(name: string, type: string, names: Localized, more: object = {}): object {
  return { kind: 'column', name, type, name_localized: names, ...more }
}

function link(name: string, target: string, names: Localized): object {
  return column(name, 'link', names, { other_table_name_hint: target })
}

function uniqueKey(name: string): object {
  return { columns: [{ column_name_hint: name }] }
}

function addList(type: string, mapping: Mapping, { tables, masks, names }: NewTypes): void {
  const source = importedColumns(mapping).find(({ list }) => list?.type === type)
  const name = source?.list?.column ?? 'name'
  const heading = { [mapping.language]: source?.heading ?? type }
  tables.push({
    name: type,
    columns: [column(name, 'text_oneline', { [mapping.language]: 'Name' }, { not_null: true })],
    unique_keys: [uniqueKey(name)],
  })
  masks.push(maskOf(type, [field(name, { standard: 1, table: true })]))
  names[`schema.${type}.name`] = heading
}

function addMain(mapping: Mapping, { tables, masks, names }: NewTypes): void {
  const columns = importedColumns(mapping)
  const byPlace = new Map<string, ImportedColumn[]>()
  for (const each of columns) byPlace.set(each.column, [...(byPlace.get(each.column) ?? []), each])
  const entries: object[] = []
  const fields: object[] = []
  for (const [name, sources] of byPlace) {
    const [source] = sources
    if (!source || source.type === 'parent') continue
    const shown = headingsOf(sources, mapping.language)
    const { list, separator, type } = source
    if (type === 'link' && list && separator !== undefined) {
      const linkName = list.link ?? list.type
      tables.push({
        name,
        owned_by: { other_table_name_hint: mapping.type },
        columns: [link(linkName, list.type, shown)],
      })
      entries.push({ kind: 'link', other_table_name_hint: name, name_localized: shown })
      names[`schema.${name}.name`] = shown
      fields.push({
        kind: 'linked-table',
        other_table_name_hint: name,
        ...settings({ standard: source.standard, table: true }),
        mask: { fields: [linkField(linkName, { standard: source.standard, table: true, facet: true })] },
      })
    } else if (type === 'link' && list) {
      entries.push(link(name, list.type, shown))
      fields.push(linkField(name, { standard: source.standard, table: true, facet: true }))
    } else {
      entries.push(column(name, type === 'file' ? 'eas' : type, shown))
      fields.push(type === 'file' ? fileField(name) : field(name, settingsOf(source)))
    }
  }
  if ('rows_of' in mapping.key) {
    entries.push(column(mapping.key.column, 'string', { 'de-DE': 'Zeile der Tabelle', 'en-US': 'Row of the sheet' }))
    fields.push(field(mapping.key.column, { fulltext: false }))
  }
  tables.push({
    name: mapping.type,
    in_main_search: true,
    pool_link: mapping.pool !== undefined,
    is_hierarchical: columns.some(({ type }) => type === 'parent'),
    columns: entries,
    unique_keys: [uniqueKey(mapping.key.column)],
  })
  masks.push(maskOf(mapping.mask ?? mapping.type, fields, mapping.type))
  names[`schema.${mapping.type}.name`] = mapping.name ?? { [mapping.language]: mapping.type }
}

/** The heading of the column in the sheet; for a column in several languages the common part. */
function headingsOf(sources: readonly ImportedColumn[], language: string): Localized {
  const [first] = sources
  const heading = first?.heading ?? ''
  if (sources.length === 1 && first?.language === undefined) return { [language]: heading }
  const bare = languageHeading(heading, [])?.name || heading
  return { [language]: sources.find((each) => each.language === undefined)?.heading ?? bare }
}

interface Show {
  standard?: 1 | 2 | 3 | undefined
  table?: boolean
  facet?: boolean
  fulltext?: boolean
}

function settings({ standard, table = false, facet = false, fulltext = true }: Show): object {
  return {
    edit: { mode: 'edit' },
    output: {
      detail: true,
      text: true,
      table,
      ...(standard ? { standard: { order: standard, format: 'comma' } } : {}),
    },
    search: { expert: true, fulltext, facet, nested: false },
  }
}

function settingsOf({ type, standard }: ImportedColumn): Show {
  const isText = type.startsWith('text') || type === 'string'
  return {
    standard,
    table: standard !== undefined || type.startsWith('date'),
    fulltext: isText,
    facet: type === 'boolean' || type.startsWith('date'),
  }
}

function field(name: string, show: Show): object {
  return { kind: 'field', column_name_hint: name, ...settings(show) }
}

function linkField(name: string, show: Show): object {
  return { kind: 'link', column_name_hint: name, mask_id: 'PREFERRED', inline: 'standard', ...settings(show) }
}

function fileField(name: string): object {
  return {
    ...field(name, { fulltext: false }),
    output: { detail: true, text: true, table: true, standard_eas: { order: 1 } },
  }
}

function maskOf(name: string, fields: object[], type = name): Entry {
  return {
    name,
    table_name_hint: type,
    is_preferred: true,
    name_localized: { 'de-DE': 'Alle Angaben', 'en-US': 'All details' },
    fields,
  }
}
