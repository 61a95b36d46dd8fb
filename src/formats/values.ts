import type { Column } from '../datamodel/model.ts'
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

/** 1234 becomes `12.34`; computed with digits, so that integers near 2^53 stay exact. */
function hundredths(value: number): string {
  const digits = String(Math.abs(value)).padStart(3, '0')
  return `${value < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
