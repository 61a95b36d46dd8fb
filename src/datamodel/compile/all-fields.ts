import type { Column, ColumnField, FieldStandard, Mask, MaskField, NestedField, ReverseField, Table } from '../model.ts'
import { defaultSearch, defaultSystemFields, fieldBase } from './fields.ts'
import type { TableDraft } from './tables.ts'

export const allFieldsName = '_all_fields'

/**
 * The system mask `_all_fields`: every field of the object type, editable. Reverse objects have masks of the same kind. In these, a
 * reverse field is left out if it leads to an object type that is already on the path, so that the mask is finite. The link column
 * of a reverse field is left out too, because its value follows from the position in the payload.
 */
export function allFieldsMask(table: TableDraft): Mask {
  return maskOf(table, [table], null)
}

function maskOf(table: Table, path: readonly Table[], behind: Column | null): Mask {
  const standard = standardColumns(table)
  const fields: MaskField[] = [
    ...columnFields(table, standard, behind),
    ...table.nested.map((nested) => nestedField(nested)),
    ...table.reverses.filter((column) => !path.includes(column.table)).map((column) => reverseField(column, path)),
  ]
  return {
    id: 0,
    name: allFieldsName,
    table,
    isAllFields: behind === null,
    isInline: behind !== null,
    isPreferred: false,
    fields,
    fieldByColumn: new Map(
      fields.filter((field) => field.kind === 'column').map((field) => [field.column.name, field]),
    ),
    system: defaultSystemFields(table),
    requireComment: 'never',
    reversePoolChanged: 'ask',
    nameLocalized: {},
  }
}

interface StandardColumns {
  readonly text: Column | undefined
  readonly eas: Column | undefined
  readonly geo: Column | undefined
}

/** The standard of objects whose type has no mask: their first text, their first file, their first place. */
function standardColumns(table: Table): StandardColumns {
  const texts = new Set(['text_oneline', 'text_l10n_oneline', 'string', 'text', 'text_l10n'])
  return {
    text: table.columns.find((column) => texts.has(column.type)),
    eas: table.columns.find((column) => column.type === 'eas'),
    geo: table.columns.find((column) => column.type === 'geo_json'),
  }
}

const firstSlot: FieldStandard = { order: 1, format: 'comma', formatInner: 'comma', stopIfSet: false }

function columnFields(table: Table, standard: StandardColumns | null, behind: Column | null): ColumnField[] {
  const facets = new Set(['link', 'boolean', 'custom'])
  return table.columns
    .filter((column) => column !== behind)
    .map((column) => ({
      ...fieldBase({}),
      kind: 'column',
      column,
      linkMask: null,
      standard: column === standard?.text ? firstSlot : null,
      standardEas: column === standard?.eas ? 1 : null,
      standardGeo: column === standard?.geo ? 1 : null,
      search: { ...defaultSearch, facet: facets.has(column.type) },
    }))
}

function nestedField(table: Table): NestedField {
  return {
    ...fieldBase({}),
    kind: 'nested',
    table,
    fields: [...columnFields(table, null, null), ...table.nested.map(nestedField)],
    sort: [],
    standardFirstOnly: false,
  }
}

function reverseField(column: Column, path: readonly Table[]): ReverseField {
  return {
    ...fieldBase({}),
    kind: 'reverse',
    column,
    table: column.table,
    mask: maskOf(column.table, [...path, column.table], column),
    wireKey: `_reverse_nested:${column.table.name}:${column.name}`,
  }
}
