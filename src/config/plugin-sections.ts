import type { Actor } from '../platform/actor.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { isRecord } from '../platform/values/records.ts'
import { type Field, wrong } from './fields/field.ts'
import { form, table } from './fields/forms.ts'
import { secret } from './fields/secrets.ts'
import { bool, int, list, localized, select, text } from './fields/values.ts'

/** Sections that plugins add: read and written beside those of the service, in `plugin/<plugin>/config/<section>`. */
export interface PluginSections {
  /** Definitions by plugin (`GET /config/list`). */
  list(): Record<string, { defs: object[] }>
  /** The current values, with defaults and without secrets. */
  shown(): Record<string, { config: Record<string, unknown> }>
  /**
   * Writes the change of some sections. Returns their names in the form that events have.
   * @throws {AppError} `ServerGeneric` with the path of an invalid value.
   */
  write(tx: Tx, actor: Actor, changes: readonly PluginSectionChange[]): Promise<string[]>
}

export interface PluginSectionChange {
  readonly plugin: string
  readonly section: string
  /** The path of the value in the section; empty: the whole section. */
  readonly members: readonly string[]
  /** `null`: the default. */
  readonly value: unknown
  /** Whether members of the section that are absent in the value stay. */
  readonly merge: boolean
}

/** A parameter as a manifest defines it. */
type Definition = Record<string, unknown>

const longestText = 1_000_000

/** The field of a section by the parameters of a manifest. A parameter of an unknown kind accepts any JSON. */
export function sectionField(parameters: Readonly<Record<string, Definition>>): Field<Record<string, unknown>> {
  return form(membersOf(Object.entries(parameters))) as Field<Record<string, unknown>>
}

function membersOf(entries: readonly (readonly [string, Definition])[]): Record<string, Field<unknown>> {
  return Object.fromEntries(entries.map(([name, definition]) => [name, fieldOf(definition)]))
}

function fieldOf(definition: Definition): Field<unknown> {
  const { type, default: fallback } = definition
  switch (type) {
    case 'bool':
      return bool(fallback === true)
    case 'int': {
      const [min, max] = [definition.min, definition.max].map((bound) =>
        Number.isSafeInteger(bound) ? Number(bound) : undefined,
      )
      return int(Number.isSafeInteger(fallback) ? Number(fallback) : 0, {
        min: min ?? Number.MIN_SAFE_INTEGER,
        max: max ?? Number.MAX_SAFE_INTEGER,
      })
    }
    case 'text':
    case 'text-multiline':
    case 'textarea':
    case 'email':
      return text(typeof fallback === 'string' ? fallback : '', { type, maxLength: longestText })
    case 'secret':
    case 'password':
      return secret(undefined, 10_000)
    case 'select': {
      const options = textsIn(definition.options)
      return options.length === 0
        ? anything(definition)
        : select(options, options.find((one) => one === fallback) ?? options[0] ?? '')
    }
    case 'string-list':
    case 'string-list-sort': {
      const choices = textsIn(definition.choices)
      const given = textsIn(fallback).filter((one) => choices.includes(one))
      return choices.length === 0 ? anything(definition) : list(given, { choices, sorted: type === 'string-list-sort' })
    }
    case 'text-loca':
      return localized()
    case 'table': {
      const fields = Array.isArray(definition.fields) ? definition.fields.filter(isRecord) : []
      return table(membersOf(fields.map((one) => [String(one.name), one])))
    }
    case 'form':
      return isRecord(definition.parameters)
        ? sectionField(definition.parameters as Record<string, Definition>)
        : anything(definition)
    case 'user':
      return user()
    default:
      return anything(definition)
  }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function anything({ type, default: fallback = null }: Definition): Field<unknown> {
  const inner = text('', { maxLength: longestText })
  return {
    type: typeof type === 'string' ? type : 'json',
    default: fallback,
    more: {},
    check: (wire, path, stored) => {
      // The JSON text has the usual limits of length and characters.
      const written = JSON.stringify(wire)
      inner.check(written, path, stored)
      if (written.includes('"$sealed"')) throw wrong(path, 'without a member $sealed')
      return wire
    },
    read: (wire) => wire,
    show: (wire) => wire,
  }
}

/** A user by its id, in the form of clients; the code sees the id. */
function user(): Field<number | null> {
  return {
    type: 'user',
    default: null,
    more: {},
    check: (wire, path) => {
      const inner = isRecord(wire) && isRecord(wire.user) ? wire.user : isRecord(wire) ? wire : null
      if (!inner || !Number.isSafeInteger(inner._id) || Number(inner._id) < 1) throw wrong(path, 'a user with its _id')
      return { _basetype: 'user', user: { _id: inner._id } }
    },
    read: (wire) => (isRecord(wire) && isRecord(wire.user) ? Number(wire.user._id) : null),
    show: (wire) => wire,
  }
}

/** The users that a section refers to, with the paths. */
export function usersIn(
  parameters: Readonly<Record<string, Definition>>,
  value: Record<string, unknown>,
): [string, number][] {
  return Object.entries(parameters).flatMap(([name, { type }]): [string, number][] => {
    const given = value[name]
    const id = type === 'user' && isRecord(given) && isRecord(given.user) ? given.user._id : undefined
    return typeof id === 'number' ? [[name, id]] : []
  })
}
