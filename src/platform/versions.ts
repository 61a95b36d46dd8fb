import { AppError } from './errors.ts'

/**
 * What a client sends as the version of a record that it changes (decisions.md, 1 and 20): the stored one, or, where the
 * instance is configured for such clients, the one that it makes. Never both: that would lose updates.
 */
export type VersionConvention = 'stored' | 'next'

export function expectedVersion(stored: number, convention: VersionConvention): number {
  return convention === 'next' ? stored + 1 : stored
}

/** @throws {AppError} `VersionMismatch` with `got` and `expected`. */
export function assertVersion(
  got: number | null | undefined,
  stored: number,
  convention: VersionConvention,
  parameters: Readonly<Record<string, unknown>>,
  message?: string,
): void {
  const expected = expectedVersion(stored, convention)
  if (got === expected) return
  throw new AppError(
    'VersionMismatch',
    { ...parameters, got: got ?? null, expected },
    message === undefined ? {} : { message },
  )
}
