import type { Localized } from '../platform/values/localized.ts'
import type { ColumnApi, LocaApi, MaskApi, SchemaApi, SchemaTableApi } from './schema.ts'

/**
 * Localised names are in one table of keys (`/l10n/user/…`), so that a translator needs only this table. The keys:
 *
 *     schema.<table>.name                          the object type or nested table
 *     schema.<table>.column.<column>               a column
 *     schema.<owner>.column.<nested table>         a nested table as its owner shows it
 *     schema.<table>.column.reverse:<table>.<id>   a reverse view, by the link column behind it
 *     mask.<mask id>.<mask>.name                   a mask; also with the id of its table, as other tools write it
 *     page.<name>                                  a text of the pages of the sign-in and of mails about accounts
 */
export function tableKey(tableName: string): string {
  return `schema.${tableName}.name`
}

export function columnKey(tableName: string, column: ColumnApi): string {
  if (column.kind === 'link') return `schema.${tableName}.column.${column.other_table_name_hint ?? ''}`
  if (column.kind === 'reverse_link') {
    const behind = column.is_hierarchical ? '_id_parent' : String(column.other_column_id ?? '')
    return `schema.${tableName}.column.reverse:${column.other_table_name_hint ?? tableName}.${behind}`
  }
  return `schema.${tableName}.column.${column.name ?? ''}`
}

/** The texts of a key by locale, without empty texts and remarks (`_comment`). */
export function localized(l10n: LocaApi, key: string): Localized {
  const entry = Object.hasOwn(l10n, key) ? l10n[key] : undefined
  if (!entry) return {}
  return Object.fromEntries(Object.entries(entry).filter(([locale, text]) => text !== '' && !locale.startsWith('_')))
}

/**
 * Name of a mask: by its id, else by the id of its table, else from the mask itself (decisions.md, 31). Names of masks are unique,
 * so the two keys of one mask never belong to another.
 */
export function maskLocalized(l10n: LocaApi, mask: MaskApi): Localized {
  for (const id of [mask.mask_id ?? 0, mask.table_id ?? 0]) {
    const found = localized(l10n, `mask.${id}.${mask.name ?? ''}.name`)
    if (Object.keys(found).length > 0) return found
  }
  return localized({ own: mask.name_localized ?? {} }, 'own')
}

/** The texts that replace the service's own texts of pages and mails, by key. */
export function pageTexts(l10n: LocaApi): Map<string, Localized> {
  const keys = Object.keys(l10n).filter((key) => key.startsWith('page.'))
  return new Map(keys.map((key) => [key, localized(l10n, key)]))
}

/** Name of a nested table: by its own key, else the name at its owner. */
export function tableLocalized(l10n: LocaApi, table: SchemaTableApi): Localized {
  const own = localized(l10n, tableKey(table.name))
  const owner = table.owned_by?.other_table_name_hint
  if (Object.keys(own).length > 0 || owner === undefined) return own
  return localized(l10n, `schema.${owner}.column.${table.name}`)
}

/** The snapshot as clients see it: every column with its localised names. */
export function withLocalizedNames(schema: SchemaApi, l10n: LocaApi): SchemaApi {
  return {
    ...schema,
    tables: schema.tables.map((table) => ({
      ...table,
      columns: (table.columns ?? []).map((column) => ({
        ...column,
        name_localized: { ...localized(l10n, columnKey(table.name, column)) },
      })),
    })),
  }
}

/**
 * Moves the localised names of a posted snapshot into the table of keys, which stores them; locales that are absent in the snapshot
 * stay unchanged. A renamed table or column keeps its names: they are moved from the old key to the new one.
 */
export function extractLocalizedNames(
  schema: SchemaApi,
  previous: SchemaApi,
  l10n: LocaApi,
): { schema: SchemaApi; l10n: LocaApi } {
  const result: LocaApi = { ...l10n }
  for (const [from, to] of renamedKeys(previous, schema)) {
    const entry = result[from]
    if (entry && !Object.hasOwn(result, to)) result[to] = entry
  }
  const live = new Set(keysOf(schema).values())
  for (const key of keysOf(previous).values()) if (!live.has(key)) delete result[key]
  const tables = schema.tables.map((table) => ({
    ...table,
    columns: (table.columns ?? []).map(({ name_localized, ...column }) => {
      if (name_localized && Object.keys(name_localized).length > 0) {
        const key = columnKey(table.name, column)
        result[key] = { ...result[key], ...name_localized }
      }
      return column
    }),
  }))
  return { schema: { ...schema, tables }, l10n: result }
}

/** Keys of everything in a snapshot, by ids, which stay the same when a name changes. */
function keysOf(schema: SchemaApi): Map<string, string> {
  const keys = new Map<string, string>()
  for (const table of schema.tables) {
    keys.set(`t${table.table_id}`, tableKey(table.name))
    for (const column of table.columns ?? []) keys.set(`c${column.column_id}`, columnKey(table.name, column))
  }
  return keys
}

function renamedKeys(previous: SchemaApi, next: SchemaApi): [from: string, to: string][] {
  const before = keysOf(previous)
  const renamed: [string, string][] = []
  for (const [identity, key] of keysOf(next)) {
    const old = before.get(identity)
    if (old !== undefined && old !== key) renamed.push([old, key])
  }
  return renamed
}
