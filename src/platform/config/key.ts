import type { Form } from './forms.ts'

/** One setting: its place, its allowed values, its purpose. */
export interface Key<T> {
  /** Place in the file. */
  path: string
  /** Name in the environment. */
  env: string
  default: T
  /** The form of the value, as text for the documentation. */
  form: string
  doc: string
  /** Returns the checked value. @throws {ConfigError} with a message that starts with `name`. */
  check(name: string, value: unknown): T
  /** The value of a variable's text; `check` follows. */
  fromText(name: string, text: string): unknown
  /** The value as `strongroom config` shows it. */
  show(value: T): unknown
  /** Bytes that are held in memory, and so limited to a share of it. */
  readonly bound?: MemoryBound
}

interface MemoryBound {
  readonly share: 'largestBody' | 'largestAnswer' | 'work'
  /** Whether the default is the whole share. */
  readonly isDefault: boolean
}

export function key<T>(
  path: string,
  env: string,
  form: Form<T>,
  standard: T,
  doc: string,
  bound?: MemoryBound,
): Key<T> {
  const own = { path, env, default: standard, doc, ...(bound === undefined ? {} : { bound }) }
  return { ...own, fromText: (_name, value) => value, show: (value) => value, ...form }
}
