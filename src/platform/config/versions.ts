import type { Actor } from '../actor.ts'
import { AppError } from '../errors.ts'
import type { Config, VersionConvention } from './config.ts'

export type { VersionConvention } from './config.ts'

/** The client of sessions that are made for one call of a program. */
export const callClient = 'plugin'

/** Which of them the client behind a request keeps to. One token has one convention, so no update is lost. */
export type ConventionOf = (actor: Actor) => VersionConvention

/** The convention of the client that signed in, if its configuration has one; else that of the instance (decisions.md, 88). */
export function clientConventions({
  versionConvention,
  oauthClients,
  pluginVersionConvention,
}: Pick<Config, 'versionConvention' | 'oauthClients' | 'pluginVersionConvention'>): ConventionOf {
  const own = new Map(oauthClients.map(({ id, versionConvention: said }) => [id, said ?? versionConvention]))
  own.set(callClient, pluginVersionConvention ?? versionConvention)
  return ({ session }) => (session && own.get(session.clientId)) ?? versionConvention
}

export function expectedVersion(stored: number, convention: VersionConvention): number {
  return convention === 'next' ? stored + 1 : stored
}

/** @throws {AppError} `VersionMismatch` with `got` and `expected`. */
export function assertVersion(
  got: number | null | undefined,
  stored: number,
  convention: VersionConvention,
  parameters: Readonly<Record<string, unknown>>,
): void {
  if (got !== expectedVersion(stored, convention)) throw versionMismatch(got, stored, convention, parameters)
}

export function versionMismatch(
  got: number | null | undefined,
  stored: number,
  convention: VersionConvention,
  parameters: Readonly<Record<string, unknown>>,
): AppError {
  const expected = expectedVersion(stored, convention)
  return new AppError('VersionMismatch', { ...parameters, got: got ?? null, expected })
}
