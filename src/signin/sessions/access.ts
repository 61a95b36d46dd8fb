import type { SystemRights } from '../../people/model.ts'
import { createNetworks, mergeSystemRights, type Networks, type RightParameters } from '../../people/service.ts'
import type { Actor, ActorSession } from '../../platform/actor.ts'
import type { UserAccessRow } from './store.ts'

/** Rights and groups of one user, compiled once; the actor of a request is created from it without a query. */
export interface UserAccess {
  readonly user: UserAccessRow
  /** The same for every request, unless a group only applies in some networks. */
  readonly fixed: Standing | null
  readonly memberships: readonly Membership[]
}

interface Standing {
  readonly groupIds: readonly number[]
  readonly systemRights: ReadonlyMap<string, RightParameters>
}

interface Membership {
  readonly id: number
  readonly systemRights: SystemRights
  readonly networks: Networks | null
  readonly exclude: boolean
}

export function compileAccess(user: UserAccessRow): UserAccess {
  const memberships = user.groups.map(
    ({ id, systemRights, networks, exclude }): Membership => ({
      id,
      systemRights,
      networks: networks.length > 0 ? createNetworks(networks) : null,
      exclude,
    }),
  )
  const filtered = memberships.some((membership) => membership.networks)
  return { user, memberships, fixed: filtered ? null : standing(user, memberships) }
}

/** The actor behind a request from `remoteAddr` (empty: a job of ours, for which networks are not checked). */
export function actorFrom(
  access: UserAccess,
  remoteAddr: string,
  instanceLanguages: readonly string[],
  session: ActorSession | null = null,
): Actor {
  const { user, fixed } = access
  const { groupIds, systemRights } = fixed ?? standing(user, membershipsAt(access.memberships, remoteAddr))
  return {
    userId: user.userId,
    login: user.login ?? '',
    displayname: user.displayname,
    reference: user.reference,
    groupIds,
    isRoot: systemRights.has('system.root'),
    systemRights,
    remoteAddr,
    languages: languagesOf(user.databaseLanguages, instanceLanguages),
    session,
  }
}

function standing(user: UserAccessRow, memberships: readonly Membership[]): Standing {
  return {
    groupIds: memberships.map((membership) => membership.id),
    systemRights: mergeSystemRights([user.systemRights, ...memberships.map((membership) => membership.systemRights)]),
  }
}

function membershipsAt(memberships: readonly Membership[], remoteAddr: string): readonly Membership[] {
  return memberships.filter(
    ({ networks, exclude }) => !networks || remoteAddr === '' || networks.contains(remoteAddr) !== exclude,
  )
}

/** The languages of the user that the instance still has; without any, all languages of the instance. */
function languagesOf(own: readonly string[], instance: readonly string[]): readonly string[] {
  const languages = own.length === 0 ? own : own.filter((language) => instance.includes(language))
  return languages.length > 0 ? languages : instance
}
