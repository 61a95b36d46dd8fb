import { badRequest } from '../platform/errors.ts'
import { isRecord } from '../platform/values/records.ts'
import type { Field } from './fields/field.ts'

/**
 * Sections that clients know and that have no meaning here: there is no licence, texts do not come from spreadsheets, and no other
 * server numbers objects (decisions.md, 82).
 */
export const unavailableSections = { license: 'general', loca: 'general', objectstore: 'general' } as const

export function isUnavailable(name: string): boolean {
  return Object.hasOwn(unavailableSections, name)
}

/** @throws {AppError} for anything but the values that clients send where nothing was ever set. */
export function assertUnset(value: unknown, path: string): void {
  if (!isUnset(value)) throw badRequest(`${path} is not available here`, { path, unavailable: true })
}

/** A form that clients know and that has no meaning here; accepted as long as it is empty. */
export function unavailableForm(reason: string): Field<Readonly<Record<string, never>>> {
  return {
    type: 'form',
    default: {},
    more: { parameters: {}, refused: reason },
    check(wire, path) {
      if (!isRecord(wire) || !isUnset(wire))
        throw badRequest(`${path} is not available here: ${reason}`, { path, reason })
      return {}
    },
    read: () => ({}),
    show: () => ({}),
  }
}

function isUnset(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isRecord(value)) return Object.values(value).every(isUnset)
  return [null, undefined, '', false, 0].includes(value as null)
}
