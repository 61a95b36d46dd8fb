import type {
  Column,
  ColumnField,
  ColumnType,
  Constraints,
  FieldStandard,
  Mask,
  MaskField,
  NestedField,
  SystemFieldMode,
  Table,
} from '../../src/datamodel/model.ts'

/**
 * Small compiled models for tests of pure functions: the parts of a table and a mask that a test does not mention
 * have neutral values.
 */
const noConstraints: Constraints = {
  notNull: false,
  regexp: null,
  check: null,
  checkTest: null,
  rangeLower: null,
  rangeUpper: null,
  rangeLowerOpen: false,
  rangeUpperOpen: false,
  rangeNotEmpty: false,
  lengthMin: null,
  lengthMax: null,
}

export function tableOf(id: number, name: string, kind: Table['kind'] = 'object'): Table {
  const table: Partial<Record<keyof Table, unknown>> = {
    id,
    name,
    kind,
    columns: [],
    nested: [],
    reverses: [],
    key: `n${id}`,
    wireKey: `_nested:${name}`,
    masks: new Map(),
    nameLocalized: {},
  }
  return { ...table, root: table as unknown as Table } as unknown as Table
}

export function columnOf(table: Table, id: number, name: string, type: ColumnType): Column {
  return {
    id,
    name,
    type,
    typeName: type,
    table,
    fullName: `${table.name}.${name}`,
    target: null,
    onDelete: 'restrict',
    reverseEdit: false,
    constraints: noConstraints,
    customSettings: {},
    nameLocalized: {},
    key: String(id),
  }
}

const base = {
  mode: 'edit' as const,
  appendOnly: false,
  removeOnly: false,
  inTable: true,
  standard: null,
  standardEas: null,
  standardGeo: null,
  search: { fulltext: false, expert: false, facet: false, nested: false },
  inherit: false,
  required: false,
  defaultValue: undefined,
}

export function standardOf(order: 1 | 2 | 3, more: Partial<FieldStandard> = {}): FieldStandard {
  return { order, format: 'comma', formatInner: 'comma', stopIfSet: false, ...more }
}

export function fieldOf(column: Column, more: Partial<ColumnField> = {}): ColumnField {
  return { ...base, kind: 'column', column, linkMask: null, ...more }
}

export function nestedOf(table: Table, fields: readonly MaskField[], more: Partial<NestedField> = {}): NestedField {
  return { ...base, kind: 'nested', table, fields, sort: [], standardFirstOnly: false, ...more }
}

export function maskOf(table: Table, fields: readonly MaskField[], more: Partial<Mask> = {}): Mask {
  const mode: SystemFieldMode = { output: 'show', edit: 'edit' }
  return {
    id: 1,
    name: 'mask',
    table,
    isAllFields: false,
    isInline: false,
    isPreferred: true,
    fields,
    fieldByColumn: new Map(),
    system: {
      parent: mode,
      object_id: mode,
      tags: mode,
      acl: mode,
      owner: mode,
      pool: mode,
      collections: mode,
      publish: mode,
    },
    requireComment: 'never',
    reversePoolChanged: 'never',
    nameLocalized: {},
    ...more,
  }
}
