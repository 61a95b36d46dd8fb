import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../../platform/errors.ts'
import type { Secret } from '../../platform/secrets/sealed-texts.ts'
import { isRecord } from '../../platform/values/records.ts'
import { type Field, type Members, objectOf, type ValuesOf, wrong } from './field.ts'
import { keepsSecret } from './secrets.ts'

/**
 * A member that the service does not use yet: only its default can be set, since any other value would have no effect. A value that
 * an earlier release stored is still shown, and may be sent back with its document.
 */
export function waiting<Value>(field: Field<Value>, reason: string): Field<Value> {
  return {
    ...field,
    more: { ...field.more, refused: reason },
    check(wire, path, stored) {
      const kept = field.check(wire, path, stored)
      if (isDeepStrictEqual(kept, field.default) || isDeepStrictEqual(kept, stored)) return kept
      throw badRequest(`${path} has no effect yet: ${reason}`, { path, reason })
    },
  }
}

interface FormOptions<M extends Members> {
  /**
   * The addresses to which the secrets of the form are sent. A stored secret is not kept for an address that it was not given for;
   * otherwise a caller could enter an own server and receive the secret.
   */
  sentTo?: (values: ValuesOf<M>) => readonly Secret[]
}

/** Named members, all of them always present. */
export function form<const M extends Members>(members: M, { sentTo }: FormOptions<M> = {}): Field<ValuesOf<M>> {
  const entries = Object.entries(members)
  const read = (wire: unknown): ValuesOf<M> =>
    mapped(entries, ([name, member]) => member.read(effective(member, wire, name))) as ValuesOf<M>
  return {
    type: 'form',
    default: mapped(entries, ([, member]) => member.default),
    more: { parameters: describeMembers(members) },
    members,
    check: (wire, path, stored) => {
      const given = objectOf(wire, path)
      for (const name of Object.keys(given)) {
        if (!Object.hasOwn(members, name))
          throw badRequest(`${path}/${name} does not exist`, { path: `${path}/${name}` })
      }
      const before = isRecord(stored) ? stored : {}
      const kept: Record<string, unknown> = {}
      for (const [name, member] of entries) {
        const value = checkMember(member, given[name], `${path}/${name}`, before[name])
        if (value !== undefined) kept[name] = value
      }
      const known = new Set(sentTo?.(read(before)))
      if (sentTo?.(read(kept)).some((address) => !known.has(address))) assertNoneKept(members, given, before, path)
      return kept
    },
    read,
    show: (wire) => mapped(entries, ([name, member]) => member.show(effective(member, wire, name))),
  }
}

/** @throws {AppError} with the path of the first secret that would be kept. */
function assertNoneKept(members: Members, given: unknown, stored: unknown, path: string): void {
  for (const [name, member] of Object.entries(members)) {
    const [wire, before] = [given, stored].map((one) => (isRecord(one) ? one[name] : undefined))
    if (member.members) assertNoneKept(member.members, wire, before, `${path}/${name}`)
    else if (member.type === 'secret' && before && keepsSecret(wire)) {
      throw wrong(`${path}/${name}`, 'the secret itself: what is stored was given for another address')
    }
  }
}

/** Absent and `null` mean "the default", which is not stored. For secrets, their own check decides. */
function checkMember(member: Field<unknown>, wire: unknown, path: string, stored: unknown): unknown {
  if (member.type === 'secret') return member.check(wire, path, stored) || undefined
  if (member.members && (wire === undefined || wire === null)) return member.check({}, path, stored)
  if (member.required && (wire === undefined || wire === null)) throw wrong(path, 'given')
  return wire === undefined || wire === null ? undefined : member.check(wire, path, stored)
}

function effective(member: Field<unknown>, wire: unknown, name: string): unknown {
  const given = isRecord(wire) && Object.hasOwn(wire, name) ? wire[name] : undefined
  return given === undefined || given === null ? member.default : given
}

interface TableOptions<M extends Members> {
  default?: readonly unknown[]
  /** Member whose value must be unique among the rows. It also identifies the row whose secrets are kept. */
  key?: string
  required?: boolean
  maxRows?: number
  /** The same as for forms, for each row. */
  sentTo?: FormOptions<M>['sentTo']
}

/** Any number of rows of the same members. */
export function table<const M extends Members>(
  members: M,
  { default: fallback = [], key, required = false, maxRows = 1000, sentTo }: TableOptions<M> = {},
): Field<readonly ValuesOf<M>[]> {
  const row = form(members, sentTo ? { sentTo } : {})
  const rowsOf = (wire: unknown): unknown[] => (Array.isArray(wire) ? wire : [])
  return {
    type: 'table',
    default: fallback,
    more: { fields: Object.values(describeMembers(members)) },
    row,
    check: (wire, path, stored) => {
      if (!Array.isArray(wire)) throw wrong(path, 'a list')
      if (wire.length > maxRows) throw wrong(path, `a list of at most ${maxRows} rows`)
      if (required && wire.length === 0) throw wrong(path, 'a list of at least one row')
      const before = new Map(rowsOf(stored).map((old) => [key && isRecord(old) ? old[key] : undefined, old]))
      const rows = wire.map((item, index) => {
        const old = key !== undefined && isRecord(item) ? before.get(item[key]) : undefined
        return row.check(item, `${path}/${index}`, old) as Record<string, unknown>
      })
      if (key !== undefined) assertUnique(rows, key, path)
      return rows
    },
    read: (wire) => rowsOf(wire).map((item) => row.read(item)),
    show: (wire) => rowsOf(wire).map((item) => row.show(item)),
  }
}

function assertUnique(rows: readonly Record<string, unknown>[], key: string, path: string): void {
  const seen = new Set<unknown>()
  rows.forEach((row, index) => {
    const value = row[key]
    if (value === undefined || value === '') throw wrong(`${path}/${index}/${key}`, 'given')
    if (seen.has(value)) throw wrong(`${path}/${index}/${key}`, `unique: ${String(value)} stands there twice`)
    seen.add(value)
  })
}

/** Description of members for forms (`GET /config/list`). */
export function describeMembers(members: Members): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).map(([name, field], position) => [
      name,
      { name, position, type: field.type, default: field.show(field.default), ...field.more },
    ]),
  )
}

function mapped<T>(
  entries: readonly [string, Field<unknown>][],
  of: (entry: [string, Field<unknown>]) => T,
): Record<string, T> {
  return Object.fromEntries(entries.map((entry) => [entry[0], of(entry)]))
}
