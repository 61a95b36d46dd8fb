import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../../platform/errors.ts'
import type { StoredGrant } from '../model.ts'
import type { PresetTerms } from './model.ts'

const hour = 3_600_000

/**
 * A grant with the content of its preset. A new grant must have no rights of its own. A grant that was made from the preset before
 * may be sent as it was read, even when the preset has changed since.
 */
export function madeFrom(
  { rights, tagfilter, default_expiration_hours: hours }: PresetTerms,
  sent: StoredGrant,
  before: StoredGrant | undefined,
  path: string,
  at: number,
): StoredGrant {
  const { tagfilter: own, rights: named, ...rest } = sent
  const known = before?.preset === sent.preset
  if (!known && Object.keys(named).length > 0 && !isDeepStrictEqual(named, rights)) {
    throw badRequest(`${path}.rights are not those of the preset: leave them out`, { path: `${path}.rights` })
  }
  if (!known && own && !isDeepStrictEqual(own, tagfilter)) {
    throw badRequest(`${path}.tagfilter is not that of the preset: leave it out`, { path: `${path}.tagfilter` })
  }
  const grant = { ...rest, rights, ...(tagfilter ? { tagfilter } : {}) }
  if (known || !hours || sent.to !== undefined) return grant
  const begins = Math.max(at, sent.from === undefined ? at : Date.parse(sent.from))
  return { ...grant, to: new Date(begins + hours * hour).toISOString() }
}
