import { badRequest } from '../platform/errors.ts'
import { exportStates, exportTypes } from './model.ts'

/** All conditions of at least one list must hold. A condition: the column has one of the values. */
export type ExportFilter = readonly (readonly Condition[])[]

interface Condition {
  readonly column: 'type' | 'state'
  readonly values: readonly string[]
}

const fields = {
  type: { column: 'type', values: exportTypes },
  status: { column: 'state', values: exportStates },
} as const

/**
 * Reads `type:export|download+status:done,status:failed`: commas separate alternatives, plus signs separate conditions
 * that must all hold, a pipe separates values of a field. An unescaped plus sign arrives as a space.
 * @throws {AppError} `ServerGeneric`
 */
export function readFilter(text: string | undefined): ExportFilter | null {
  if (text === undefined || text === '') return null
  return text.split(',').map((part) => part.split(/[+ ]/).map(readCondition))
}

function readCondition(text: string): Condition {
  const [name = '', list, ...more] = text.split(':')
  const field = Object.hasOwn(fields, name) ? fields[name as keyof typeof fields] : undefined
  if (!field) throw badRequest(`Unknown column: ${name.slice(0, 100)}`, { param: 'filter', column: name.slice(0, 100) })
  const values = (list ?? '').split('|')
  const wrong = values.find((value) => !(field.values as readonly string[]).includes(value))
  if (wrong === undefined && more.length === 0) return { column: field.column, values }
  const message = `filter: ${name} is one of ${field.values.join(', ')}`
  throw badRequest(message, { param: 'filter', column: name, value: (wrong ?? text).slice(0, 100) })
}

/** The filter as SQL on columns of `export e`; it adds its values to `parameters`. */
export function filterSql(filter: ExportFilter | null, parameters: unknown[]): string {
  if (filter === null) return 'true'
  const holds = ({ column, values }: Condition): string => {
    parameters.push(values)
    return `e.${column} = any($${parameters.length}::text[])`
  }
  return `(${filter.map((all) => all.map(holds).join(' and ')).join(' or ')})`
}
