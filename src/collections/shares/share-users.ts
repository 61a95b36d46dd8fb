/** The users to be made for the grants of a request: links, and people known by a mail address. */

import type { NewSharedUser } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest, missingSystemRight } from '../../platform/errors.ts'
import { systemRight } from '../../platform/http/system-right.ts'
import { isRecord } from '../../platform/values/records.ts'
import { storedReference } from '../../platform/values/system-references.ts'
import type { StoredGrant } from '../../rights/service.ts'

/** A grant of the request that names a new user. */
export interface WantedShare {
  /** Places of the collection in the request, and of the grant in its list. */
  readonly index: number
  readonly entry: number
  readonly user: NewSharedUser
}

/** The user in a grant. */
interface NamedUser {
  /** An id or a reference; null: the user is only described. */
  readonly by: number | string | null
  readonly type: unknown
  readonly email: unknown
  readonly language: unknown
}

type Members = Readonly<Record<string, unknown>>

function membersOf(value: unknown): Members | null {
  return isRecord(value) ? value : null
}

/** null: it names a group, or is not a valid grant, which is checked elsewhere. */
export function namedUser(grant: unknown): NamedUser | null {
  const user = membersOf(membersOf(membersOf(grant)?.who)?.user)
  if (!user) return null
  const { _id: id = null, 'lookup:_id': lookup = null } = user
  const reference = membersOf(lookup)?.reference
  if (id !== null && !Number.isSafeInteger(id)) return null
  if (id === null && lookup !== null && typeof reference !== 'string') return null
  const by = id === null ? (lookup === null ? null : storedReference('user', reference as string)) : (id as number)
  return { by, type: user.type, email: user.email ?? user.login, language: user.frontend_language }
}

/**
 * The user to be made for one grant; null: none. A link belongs to exactly one grant: another grant that names its user,
 * such as a copy, gets a new link.
 */
export function shareUserOf(
  grant: unknown,
  path: string,
  {
    previous,
    links,
  }: { readonly previous: readonly StoredGrant[]; readonly links: ReadonlyMap<number | string, number> },
): NewSharedUser | null {
  const named = namedUser(grant)
  if (!named) return null
  const { by, type, email, language } = named
  if (by !== null) {
    const id = links.get(by)
    if (id === undefined) return null
    const stored = previous.find((one) => one.id === membersOf(grant)?._id)
    return stored?.who === `u${id}` ? null : { type: 'collection', path }
  }
  if (type === 'collection') return { type, path }
  if (type !== 'email') return null
  const place = `${path}.who.user.email`
  if (typeof email !== 'string' || email === '' || email.length > 320)
    throw badRequest(`${place} must be a mail address`, { path: place })
  if (language !== undefined && language !== null && (typeof language !== 'string' || language.length > 35))
    throw badRequest(`${path}.who.user.frontend_language must be a language`, {
      path: `${path}.who.user.frontend_language`,
    })
  return { type, email, language: language ? (language as string) : null, path: place }
}

const features = 'system.frontend_features'
const asked = {
  collection: { parameter: 'collection', value: 'share_anonymous' },
  email: { parameter: 'acl_manager', value: 'create_email_user' },
} as const

/**
 * Such users join the groups of their type, so making them needs a separate right: the creator of a link can also open
 * it. @throws {AppError} `SystemRightRequired`
 */
export function requireMaking(actor: Actor, wanted: readonly WantedShare[]): void {
  const manager = systemRight(actor, 'system.user')
  if (actor.isRoot || (manager && manager.create !== false)) return
  const held = systemRight(actor, features)
  for (const { user } of wanted) {
    const { parameter, value } = asked[user.type]
    const list = held?.[parameter]
    if (Array.isArray(list) && list.includes(value)) continue
    throw missingSystemRight(`${features}[${parameter}:${value}]`, { path: user.path })
  }
}

/** The grant with the user that has been made. */
export function withUser(grant: unknown, userId: number): unknown {
  return { ...membersOf(grant), who: { _basetype: 'user', user: { _id: userId } } }
}
