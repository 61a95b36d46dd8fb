/**
 * The owner of a share of limited resources: a user, however many clients and addresses it has, or else the network of a caller
 * without an account.
 */
import { isIPv6 } from 'node:net'
import type { Actor } from '../actor.ts'
import { AppError } from '../errors.ts'

/** The user that represents all guests. */
export const guestReference = 'system:anonymous'

const shared = 'system:share:'

/** The reference of the user for everybody who has a link. */
export const sharedReference = (uuid: string): string => shared + uuid

/** Whether several people act as a user: guests, and people with a link. */
export function isShared({ reference }: Pick<Actor, 'reference'>): boolean {
  return reference === guestReference || reference?.startsWith(shared) === true
}

/**
 * The name of a caller's share. All guests are one user, and so are all people with one link: they are distinguished by their
 * networks.
 */
export function callerOf(actor: Pick<Actor, 'userId' | 'reference'> | null, address: string): string {
  if (actor && !isShared(actor)) return `user ${actor.userId}`
  return `network ${networkOf(address)}`
}

/** The error for a caller whose share is used up: the setting, its value, and the time after which to retry. */
export function quotaExceeded(
  quota: string,
  most: number,
  retryAfter: number,
  more: Record<string, unknown> = {},
): AppError {
  return new AppError('QuotaExceeded', { quota, most, retry_after: Math.max(1, Math.ceil(retryAfter)), ...more })
}

/** A site usually has a whole /48 of IPv6 addresses, with many networks in it. */
export function siteOf(address: string): string {
  const network = networkOf(address)
  return network.includes(':') ? network.split(':').slice(0, 3).join(':') : network
}

/** A subscriber usually has a whole /64 of IPv6 addresses. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace('::ffff:', '')
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map((part) => part.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')
}
