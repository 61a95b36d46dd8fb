import { type AppError, badRequest } from '../../platform/errors.ts'
import { isRecord } from '../../platform/values/records.ts'

/**
 * The kinds of values of the base configuration. A *wire* value is the form that clients send and the database stores; a *value* is
 * the form that the code uses (a duration `24h` is 86400).
 */
export interface Field<Value> {
  /** The kind of control in a form. */
  readonly type: string
  /** Wire form. */
  readonly default: unknown
  /** The form's description beside type, default and position. */
  readonly more: Readonly<Record<string, unknown>>
  /**
   * Checks a wire value that is to replace `stored`, and returns the value to store.
   * @throws {AppError} `ServerGeneric` with `parameters.path`.
   */
  check(wire: unknown, path: string, stored: unknown): unknown
  /** The checked wire value as the code sees it. */
  read(wire: unknown): Value
  /** The wire value as clients see it: without secrets. */
  show(wire: unknown): unknown
  /** Whether rows of a table must have a value for it. */
  readonly required?: boolean
  /** Members of a form: a path can go on into them. */
  readonly members?: Readonly<Record<string, Field<unknown>>>
  /** The rows of a table, each a form. */
  readonly row?: Field<unknown>
  /**
   * For texts that may be or contain a secret: the text that is shown instead, or null if there is no secret. Texts with a secret
   * are stored sealed.
   */
  readonly hide?: (text: string) => string | null
  /** For files whose content is stored with the setting (taken-files.ts). */
  readonly taking?: Taking
}

/** A file as it was uploaded. */
export interface TakenContent {
  readonly extension: string
  readonly bytes: Buffer
}

/** Converts a file to the content that is stored, or tells why the setting does not accept it. */
export interface Taking {
  readonly mostBytes: number
  readonly take: (content: TakenContent) => { readonly kept: string } | { readonly expected: string }
}

export type ValueOf<F> = F extends Field<infer Value> ? Value : never

export type Members = Readonly<Record<string, Field<unknown>>>

export type ValuesOf<M extends Members> = { readonly [K in keyof M]: ValueOf<M[K]> }

export function wrong(path: string, expected: string): AppError {
  return badRequest(`${path} must be ${expected}`, { path, expected })
}

interface Plain<Value> {
  type: string
  default: unknown
  more?: Record<string, unknown>
  required?: boolean
  check: (wire: unknown, path: string) => unknown
  read?: (wire: unknown) => Value
}

export function plain<Value>({ default: fallback, more = {}, read, ...rest }: Plain<Value>): Field<Value> {
  return { ...rest, default: fallback, more, read: read ?? ((wire) => wire as Value), show: (wire) => wire }
}

export function objectOf(wire: unknown, path: string): Record<string, unknown> {
  if (!isRecord(wire)) throw wrong(path, 'an object')
  return wire
}
