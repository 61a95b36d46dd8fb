import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { once } from './once.ts'

/** A value that does not have the shape of a schema: the place as a JSON pointer, and the reason. */
interface Misfit {
  readonly instancePath: string
  readonly message: string
}

export interface Checker<T> {
  check(value: unknown): value is T
  /** The first part of the value that does not fit; undefined: all of it fits. */
  misfit(value: unknown): Misfit | undefined
}

/**
 * Checks values outside of requests (files, parts of bodies, texts of devices). The schema is compiled at the first use. Without the
 * conversions of `typebox/compile` and `typebox/value`: nothing uses them, and they are 150 modules that each start would load.
 */
export function createChecker<S extends TSchema>(schema: S): Checker<Static<S>> {
  const compiled = once(() => Compile(schema))
  return {
    check: (value): value is Static<S> => compiled().Check(value),
    misfit: (value) => compiled().Errors(value)[1][0],
  }
}
