import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { identityOf } from '../record-input.ts'
import type { UserInput } from '../schema.ts'
import type { UserDependencies } from './deps.ts'

const onlyPins = new Set(['_basetype', 'user', '_collection_pin_codes'])
const onlyWho = new Set(['_id', '_version', 'lookup:_id'])

/** Whether the input has only PINs of collections: then the record of the user stays unchanged, without a new version. */
export function isOnlyPins(input: UserInput): boolean {
  return (
    Array.isArray(input._collection_pin_codes) &&
    Object.keys(input).every((name) => onlyPins.has(name)) &&
    Object.keys(input.user).every((name) => onlyWho.has(name))
  )
}

/**
 * Checks the PINs of a request. The returned function stores them in the transaction of the save.
 * @throws {AppError} `TooManyAttempts`, or when they are entered for another user
 */
export async function enterPins(
  { pins }: Pick<UserDependencies, 'pins'>,
  actor: Actor,
  inputs: readonly UserInput[],
): Promise<(tx: Tx) => Promise<void>> {
  const entering = inputs.flatMap(({ user, _collection_pin_codes: codes }, index) =>
    codes?.length ? [{ user, codes, path: `[${index}]` }] : [],
  )
  for (const { user, path } of entering) {
    const by = identityOf('user', user, `${path}.user`)?.by
    if (by === actor.userId || (typeof by === 'string' && by === actor.reference)) continue
    const place = `${path}._collection_pin_codes`
    throw badRequest(`${place}: everybody enters PINs for themselves`, { path: place })
  }
  const [first, second] = entering
  if (!first) return async () => {}
  if (second) throw badRequest('PINs are in the request twice', { path: `${second.path}._collection_pin_codes` })
  return pins.enter(actor, first.codes, `${first.path}._collection_pin_codes`)
}
