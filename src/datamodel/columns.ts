import { columnTypes } from './column-types.ts'
import type { ColumnType } from './model.ts'

const known = new Map<string, ColumnType>([...columnTypes.map((type) => [type, type] as const), ['files', 'eas']])
const customType = /^custom:[a-z0-9][a-z0-9_.-]{0,200}$/i

/** The type of a type name in a snapshot; undefined when there is no such type. */
export function columnTypeOf(typeName: string | undefined): ColumnType | undefined {
  if (typeName === undefined) return undefined
  return known.get(typeName) ?? (customType.test(typeName) ? 'custom' : undefined)
}

/** Types whose values are text, so that length and pattern apply. */
export const textTypes: ReadonlySet<ColumnType> = new Set([
  'text',
  'text_oneline',
  'string',
  'text_l10n',
  'text_l10n_oneline',
])
export const numberTypes: ReadonlySet<ColumnType> = new Set(['number', 'integer.2', 'double'])
export const dateTypes: ReadonlySet<ColumnType> = new Set(['date', 'datetime', 'daterange'])
/** Types whose values can be part of a unique key. */
export const uniqueTypes: ReadonlySet<ColumnType> = new Set([
  'text',
  'text_oneline',
  'string',
  'number',
  'integer.2',
  'double',
  'boolean',
  'date',
  'datetime',
  'link',
])
