import type { Column } from '../datamodel/model.ts'
import { hundredths } from '../platform/values/hundredths.ts'
import { isRecord } from '../platform/values/records.ts'

/** A value without languages as text for programs: numbers with a point, dates as they are stored, structured values as JSON. */
export function plainText(column: Column, value: unknown): string {
  switch (column.type) {
    case 'boolean':
      return String(value === true)
    case 'integer.2':
      return hundredths(Number(value))
    case 'date':
    case 'datetime':
      return isRecord(value) ? String(value.value ?? '') : ''
    case 'geo_json':
    case 'custom':
    case 'daterange':
      return JSON.stringify(value)
    default:
      return String(value)
  }
}
