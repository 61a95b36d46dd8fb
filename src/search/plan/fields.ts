/**
 * The searchable fields: the columns of the datamodel as search knows them, compiled once per model.
 *
 * Every column can be searched by its name. The masks add more: the columns in `_fulltext`, the columns prepared for facets, and
 * the nested tables whose rows are matched as rows. A setting counts when any mask of the object type has it; the system mask
 * counts if there is no other mask.
 */
import type { Column, ColumnType, Mask, MaskField, Model, Table } from '../../datamodel/model.ts'
import { type CustomMember, type CustomTypes, customTypeName } from '../../datamodel/service.ts'
import { showingMasks } from '../../objects/service.ts'
import { hash53 } from '../document/hash.ts'
import { type FileFieldKind, fileFieldKinds } from './file-fields.ts'

export type FieldKind = 'text' | 'string' | 'l10n' | 'number' | 'boolean' | 'date' | 'link' | 'custom' | 'files' | 'geo'

const kinds: Record<ColumnType, FieldKind> = {
  text: 'text',
  text_oneline: 'text',
  string: 'string',
  text_l10n: 'l10n',
  text_l10n_oneline: 'l10n',
  number: 'number',
  'integer.2': 'number',
  double: 'number',
  boolean: 'boolean',
  date: 'date',
  datetime: 'date',
  daterange: 'date',
  geo_json: 'geo',
  eas: 'files',
  link: 'link',
  custom: 'custom',
}

/** Weight of a word for the score: A title, B subtitle; C other text of the object, D text of linked objects. */
export type Weight = 'A' | 'B' | 'C' | 'D'

export interface SearchField {
  /** For data of files: a placeholder column, under whose key the indexer puts the values. */
  readonly column: Column
  readonly name: string
  readonly kind: FieldKind
  /** The name of the column in lexemes. */
  readonly code: string
  /** Nested tables on the way to the column, outermost first; empty for a column of the object type itself. */
  readonly path: readonly Table[]
  /** Whether the words are part of `_fulltext`. */
  readonly fulltext: boolean
  /** Name of the group of its words in `_fulltext`; null: the object type has no groups. */
  readonly group: string | null
  /** Whether values are prepared for facets while indexing. */
  readonly facet: boolean
  /** Whether words of the column are offered as completions while people type. */
  readonly terms: boolean
  /** Whether tables of results show the column. People sort by such columns, so their sort keys are stored. */
  readonly listed: boolean
  readonly weight: Weight
  /**
   * The part of the column that is searched: data of its preferred files, or a member of a value of a plugin's type. `null`: the
   * column itself.
   */
  readonly part: FieldPart | null
}

export interface FieldPart extends Pick<FileFieldKind, 'name' | 'sorted' | 'level' | 'expert'> {
  /** The column that has the files, or the values. */
  readonly of: Column
  /** For columns of files: reads the indexed values of a file. */
  readonly fileValues?: FileFieldKind['values']
  /** For columns with values of a plugin's type. */
  readonly member?: CustomMember
}

/** A nested table of an object type. */
export interface NestedFields {
  readonly table: Table
  /** `artwork._nested:artwork__contributor` */
  readonly name: string
  /** Whether rows are indexed on their own, so that several conditions can be required of the same row. */
  readonly rows: boolean
  readonly fields: readonly SearchField[]
  readonly nested: readonly NestedFields[]
}

export interface TypeFields {
  readonly table: Table
  /** Columns of the object type itself. */
  readonly fields: readonly SearchField[]
  readonly nested: readonly NestedFields[]
  /** All columns, nested ones too. */
  readonly all: readonly SearchField[]
  /** Columns of files. */
  readonly files: readonly SearchField[]
  readonly fulltext: Fulltext
}

/** The columns that make up `_fulltext` of objects of a type. */
export interface Fulltext {
  /** Two sets of columns have different names. */
  readonly name: string
  /**
   * Groups of columns, each shown by the same masks. There is at least one group. The groups have names only when there are
   * several.
   */
  readonly groups: readonly (readonly SearchField[])[]
  readonly links: readonly SearchField[]
}

export interface FieldCatalogue {
  readonly types: ReadonlyMap<number, TypeFields>
  readonly byName: ReadonlyMap<string, SearchField>
  readonly byColumn: ReadonlyMap<number, SearchField>
  readonly nestedByName: ReadonlyMap<string, NestedFields>
  readonly nestedByTable: ReadonlyMap<number, NestedFields>
}

const compiled = new WeakMap<Model, FieldCatalogue>()

export function fieldsOf(model: Model): FieldCatalogue {
  const known = compiled.get(model)
  if (known) return known
  const catalogue = compile(model)
  compiled.set(model, catalogue)
  return catalogue
}

function compile(model: Model): FieldCatalogue {
  const types = new Map<number, TypeFields>()
  const byName = new Map<string, SearchField>()
  const byColumn = new Map<number, SearchField>()
  const nestedByName = new Map<string, NestedFields>()
  const nestedByTable = new Map<number, NestedFields>()
  for (const table of model.objecttypes.values()) {
    const settings = maskSettings(table)
    const all: SearchField[] = []
    const fields = tableFields(table, [], settings, all, model.customTypes)
    const nested = table.nested.map((each) => nestedFields(each, [], settings, all, model.customTypes))
    types.set(table.id, {
      table,
      fields,
      nested,
      all,
      files: all.filter(({ kind }) => kind === 'files'),
      fulltext: fulltextOf(table, all),
    })
    for (const field of all) {
      byName.set(field.name, field)
      if (!field.part) byColumn.set(field.column.id, field)
    }
    const register = (each: NestedFields): void => {
      nestedByName.set(each.name, each)
      nestedByTable.set(each.table.id, each)
      each.nested.forEach(register)
    }
    nested.forEach(register)
  }
  return { types, byName, byColumn, nestedByName, nestedByTable }
}

function fulltextOf(table: Table, all: readonly SearchField[]): Fulltext {
  const own = all.filter((field) => field.fulltext && field.kind !== 'link')
  const links = all.filter((field) => field.fulltext && field.kind === 'link')
  const name = nameOf([table.id, ...codesOf(own), '|', ...codesOf(links)])
  return { name, groups: [...Map.groupBy(own, (field) => field.group).values()], links }
}

const codesOf = (fields: readonly SearchField[]): string[] => fields.map((field) => field.code).sort()

function nameOf(parts: readonly (string | number)[]): string {
  return hash53(parts.join()).toString(36)
}

/** Groups of the columns that belong to `_fulltext`, by the masks that show them. */
function groupsOf(table: Table, fulltext: ReadonlySet<Column>): Map<Column, string> {
  const own = [...fulltext].filter((column) => column.type !== 'link')
  const groups = Map.groupBy(own, (column) => [...showingMasks(table).column(column)].map((mask) => mask.id).join())
  if (groups.size < 2) return new Map()
  return new Map(
    [...groups.values()].flatMap((columns) => {
      const name = nameOf(columns.map((column) => column.id).sort((a, b) => a - b))
      return columns.map((column) => [column, name] as const)
    }),
  )
}

/** The highest number of columns of an object type whose sort keys are stored. */
const mostListed = 12

interface Settings {
  fulltext: Set<Column>
  groups: ReadonlyMap<Column, string>
  listed: Set<Column>
  facet: Set<Column>
  /** Columns of files whose texts are searched. */
  expert: Set<Column>
  /** Position of the column in `_standard`, by the preferred mask. */
  standard: Map<Column, number>
  nested: Set<Table>
}

function maskSettings(table: Table): Settings {
  const settings: Settings = {
    fulltext: new Set(),
    groups: new Map(),
    listed: new Set(),
    facet: new Set(),
    expert: new Set(),
    standard: new Map(),
    nested: new Set(),
  }
  const masks = [...table.masks.values()].sort((a, b) => Number(b.isPreferred) - Number(a.isPreferred))
  const own = masks.filter((mask) => !mask.isAllFields)
  for (const mask of own.length > 0 ? own : masks) readMask(settings, mask)
  settings.groups = groupsOf(table, settings.fulltext)
  return settings
}

function readMask(settings: Settings, mask: Mask): void {
  const read = (fields: readonly MaskField[], within: { fulltext: boolean; table: boolean }): void => {
    for (const field of fields) {
      if (field.kind === 'column') {
        if (field.search.fulltext && within.fulltext) settings.fulltext.add(field.column)
        if (field.inTable && within.table && settings.listed.size < mostListed) settings.listed.add(field.column)
        if (field.search.facet) settings.facet.add(field.column)
        if (field.search.expert) settings.expert.add(field.column)
        if (field.standard && mask === mask.table.preferredMask)
          settings.standard.set(field.column, field.standard.order)
      } else if (field.kind === 'nested') {
        if (field.search.nested) settings.nested.add(field.table)
        read(field.fields, {
          fulltext: within.fulltext && field.search.fulltext,
          table: within.table && field.inTable,
        })
      }
    }
  }
  read(mask.fields, { fulltext: true, table: true })
}

function tableFields(
  table: Table,
  path: readonly Table[],
  settings: Settings,
  all: SearchField[],
  types: CustomTypes,
): SearchField[] {
  const fields = table.columns.map((column) => {
    const kind = kinds[column.type]
    const slot = settings.standard.get(column)
    return {
      column,
      name: column.fullName,
      kind,
      code: column.id.toString(36),
      path,
      fulltext: settings.fulltext.has(column),
      group: settings.groups.get(column) ?? null,
      // Links always are: their cost is small, and every hierarchy needs its tree.
      facet: kind === 'link' || settings.facet.has(column),
      listed: settings.listed.has(column),
      weight:
        kind === 'link' ? ('D' as const) : slot === 1 ? ('A' as const) : slot === 2 ? ('B' as const) : ('C' as const),
      // For values of a plugin's type, only the members do.
      terms: !types.has(customTypeName(column.typeName)),
      part: null,
    }
  })
  // Behind the other fields, because data of files may be long.
  const files = fields.filter(({ kind }) => kind === 'files').flatMap((field) => fileFields(field, settings))
  const members = fields.filter(({ kind }) => kind === 'custom').flatMap((field) => memberFields(field, types))
  all.push(...fields, ...members, ...files)
  return [...fields, ...members, ...files]
}

function fileFields({ column, path, code }: SearchField, settings: Settings): SearchField[] {
  const kept = fileFieldKinds.filter(({ expert }) => !expert || settings.expert.has(column))
  return kept.map(({ kind, facet, values: fileValues, ...file }, index) => {
    const key = `${column.key}/${index}`
    const name = `${column.fullName}.${file.name}`
    return {
      column: { ...column, key, name: `${column.name}.${file.name}`, fullName: name },
      name,
      kind,
      code: `${code}/${file.name.replace('technical_metadata.', '').replace('metadata_fulltext', 't')}`,
      path,
      fulltext: false,
      group: null,
      facet,
      listed: false,
      weight: 'C' as const,
      // The words of whole books would crowd out other words that match a pattern.
      terms: !file.expert,
      part: { ...file, fileValues, of: column },
    }
  })
}

/** Members of the values of a type: searched like columns, counted if the column is. */
function memberFields({ column, path, code, facet }: SearchField, types: CustomTypes): SearchField[] {
  const members = types.get(customTypeName(column.typeName))?.members ?? []
  return members.map((member) => {
    const name = `${column.fullName}.${member.name}`
    const kind = kinds[member.type]
    return {
      column: { ...column, key: memberKey(column, member), name: `${column.name}.${member.name}`, fullName: name },
      name,
      kind,
      code: `${code}/${member.name}`,
      path,
      fulltext: false,
      group: null,
      facet: facet && countedMembers.has(kind),
      listed: false,
      weight: 'C' as const,
      terms: member.terms,
      part: { name: member.name, sorted: true, level: 'any', expert: false, of: column, member },
    }
  })
}

const countedMembers: ReadonlySet<FieldKind> = new Set(['text', 'string', 'l10n', 'number', 'boolean'])

/** The key under which the indexer puts the values of a member. */
function memberKey({ key }: Column, { name }: CustomMember): string {
  return `${key}/.${name}`
}

function nestedFields(
  table: Table,
  path: readonly Table[],
  settings: Settings,
  all: SearchField[],
  types: CustomTypes,
): NestedFields {
  const inner = [...path, table]
  const fields = tableFields(table, inner, settings, all, types)
  const nested = table.nested.map((each) => nestedFields(each, inner, settings, all, types))
  // A single column needs no pairing of conditions, but a row of dates must keep its beginning and its end together.
  const rows =
    settings.nested.has(table) ||
    fields.filter(({ part }) => !part).length > 1 ||
    fields.some((field) => field.kind === 'date')
  const name = `${table.root.name}.${inner.map((each) => each.wireKey).join('.')}`
  return { table, name, rows, fields, nested }
}
