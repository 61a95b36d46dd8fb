import { basename } from 'node:path'
import { type Static, Type } from 'typebox'
import { Document, isMap, isSeq, parseDocument } from 'yaml'
import { createChecker } from '../../../platform/values/checker.ts'
import { SheetError } from '../limits.ts'

/** The types of columns that cells can be read as; `file` is a column of files, `parent` the object above in a hierarchy. */
export const cellTypes = [
  'text',
  'text_oneline',
  'string',
  'text_l10n',
  'text_l10n_oneline',
  'number',
  'integer.2',
  'double',
  'boolean',
  'date',
  'datetime',
  'daterange',
  'link',
  'file',
  'parent',
] as const
export type CellType = (typeof cellTypes)[number]

const strict = { additionalProperties: false }
const Name = Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: 63 })
const Language = Type.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$' })

const ListTarget = Type.Object(
  {
    /** Object type of the values, and its column for them. */
    type: Name,
    column: Name,
    /** When a cell has several values: the link in the rows of the nested table. */
    link: Type.Optional(Name),
  },
  strict,
)

const MappedColumn = Type.Object(
  {
    heading: Type.String({ maxLength: 200 }),
    ignore: Type.Optional(Type.Boolean()),
    column: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: 128 })),
    type: Type.Optional(Type.Unsafe<CellType>(Type.Union(cellTypes.map((type) => Type.Literal(type))))),
    language: Type.Optional(Language),
    separator: Type.Optional(Type.String({ minLength: 1, maxLength: 10 })),
    list: Type.Optional(ListTarget),
    decimal: Type.Optional(Type.Union([Type.Literal('.'), Type.Literal(',')])),
    order: Type.Optional(Type.Union([Type.Literal('dmy'), Type.Literal('mdy')])),
    folder: Type.Optional(Type.String({ maxLength: 500 })),
    extensions: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Za-z0-9]{1,10}$' }), { maxItems: 50 })),
    standard: Type.Optional(Type.Union([Type.Literal(1), Type.Literal(2), Type.Literal(3)])),
  },
  strict,
)

const MappingFile = Type.Object(
  {
    mapping: Type.Literal(1),
    file: Type.Object(
      {
        name: Type.String(),
        format: Type.Union([Type.Literal('csv'), Type.Literal('xlsx')]),
        encoding: Type.Optional(Type.String()),
        delimiter: Type.Optional(Type.String({ minLength: 1, maxLength: 1 })),
        quote: Type.Optional(Type.String({ minLength: 1, maxLength: 1 })),
        sheet: Type.Optional(Type.String()),
      },
      strict,
    ),
    type: Name,
    name: Type.Optional(Type.Record(Language, Type.String({ maxLength: 500 }))),
    mask: Type.Optional(Type.String({ pattern: '^[a-z_][a-z0-9_]*$', maxLength: 128 })),
    key: Type.Union([
      Type.Object({ column: Name }, strict),
      Type.Object({ column: Name, rows_of: Type.String({ minLength: 1, maxLength: 200 }) }, strict),
    ]),
    language: Language,
    pool: Type.Optional(Type.String({ maxLength: 500 })),
    empty: Type.Optional(Type.Union([Type.Literal('keep'), Type.Literal('clear')])),
    columns: Type.Array(MappedColumn, { minItems: 1, maxItems: 1000 }),
  },
  strict,
)

const mappingFile = createChecker(MappingFile)

export type Mapping = Static<typeof MappingFile>
export type ColumnMapping = Static<typeof MappedColumn>

/** A column that is imported: it has a target and a type. */
export type ImportedColumn = ColumnMapping & { readonly column: string; readonly type: CellType }

export function importedColumns(mapping: Mapping): ImportedColumn[] {
  return mapping.columns.filter((column) => column.ignore !== true) as ImportedColumn[]
}

/** The default file of a mapping: `works.csv` has `works.mapping.yml`. */
export function mappingFileOf(file: string): string {
  return `${file.replace(/\.[^./\\]+$/, '')}.mapping.yml`
}

/** @throws {SheetError} naming the place and the mistake. */
export function parseMapping(text: string, name: string): Mapping {
  if (text.length > 5_000_000) throw new SheetError(`${name} is too large for a mapping`)
  const document = parseDocument(text, { maxAliasCount: 0 } as object)
  const [fault] = document.errors
  if (fault) throw new SheetError(`${name}: ${fault.message.split('\n')[0]}`)
  const value: unknown = document.toJS({ maxAliasCount: 0 })
  const wrong = mappingFile.misfit(value)
  if (wrong) throw new SheetError(`${name}: ${placeOf(wrong.instancePath)} ${wrong.message}`)
  const mapping = value as Mapping
  assertComplete(mapping, name)
  return mapping
}

function placeOf(pointer: string): string {
  const place = pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
  return place.join('').replace(/^\./, '') || 'the mapping'
}

/** Rules that the schema cannot express. */
function assertComplete(mapping: Mapping, name: string): void {
  const fail = (index: number, why: string): never => {
    throw new SheetError(`${name}: columns[${index}] (${JSON.stringify(mapping.columns[index]?.heading)}) ${why}`)
  }
  const places = new Map<string, number>()
  for (const [index, column] of mapping.columns.entries()) {
    if (column.ignore === true) continue
    if (column.type === undefined) fail(index, 'needs a type, or "ignore: true"')
    if (column.type !== 'parent' && column.column === undefined) fail(index, 'needs a column')
    if (column.type === 'parent') column.column ??= '_parent'
    if (column.type === 'link' && column.list === undefined) fail(index, 'is a link, so it needs a list')
    if (column.list?.type === mapping.type) fail(index, `links to ${mapping.type} itself: only a parent can do that`)
    if (column.separator !== undefined && column.type === 'link' && column.list?.link === undefined) {
      fail(index, 'has several links, so its list needs a link: the column in the nested table')
    }
    if (column.separator !== undefined && column.type !== 'link' && column.type !== 'file') {
      fail(index, 'has a separator, which only links and files can have')
    }
    const localized = column.type?.startsWith('text_l10n') ?? false
    const place = `${column.column}${localized ? `.${column.language ?? mapping.language}` : ''}`
    if (places.has(place)) fail(index, `goes to ${place}, and so does columns[${places.get(place)}]`)
    places.set(place, index)
  }
  if ('rows_of' in mapping.key) return
  const key = importedColumns(mapping).find(({ column }) => column === mapping.key.column)
  if (!key) throw new SheetError(`${name}: key.column is ${mapping.key.column}, which no column is imported to`)
  if (!['string', 'text', 'text_oneline', 'number', 'integer.2'].includes(key.type)) {
    throw new SheetError(`${name}: the key ${mapping.key.column} must be a text or a whole number`)
  }
}

/** The mapping as text for people: with the reasons as comments, by heading. */
export function writeMapping(mapping: Mapping, reasons: ReadonlyMap<string, string>): string {
  const document = new Document(mapping)
  document.commentBefore = [
    ` How ${basename(mapping.file.name)} becomes objects, proposed by looking at it. Edit it, and import with it:`,
    `   strongroom import ${mapping.file.format} ${basename(mapping.file.name)} --mapping <this file>`,
    ' What each line means: docs/import-spreadsheet.md',
  ].join('\n')
  const columns = document.get('columns')
  if (isSeq(columns)) {
    for (const item of columns.items) {
      const reason = isMap(item) ? reasons.get(String(item.get('heading'))) : undefined
      if (isMap(item) && reason !== undefined) item.commentBefore = ` ${reason.replaceAll(/\s+/g, ' ')}`
    }
  }
  return document.toString({ lineWidth: 0 })
}
