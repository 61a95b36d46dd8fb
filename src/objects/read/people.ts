import type { Principals } from '../../people/service.ts'
import type { Principal, RightsService } from '../../rights/service.ts'
import type { RenderDeps } from '../render/run.ts'

/** Names of owners and authors from the cache of `principals`: usually no statement at all. */
export function rememberedPeople(
  principals: Pick<Principals, 'names'>,
  rights: Pick<RightsService, 'renderAcls'>,
): RenderDeps['people'] {
  return {
    async whoNames(q, who, languages) {
      const userIds: number[] = []
      const groupIds: number[] = []
      for (const principal of who) {
        if (principal.startsWith('u')) userIds.push(Number(principal.slice(1)))
        else if (principal.startsWith('g')) groupIds.push(Number(principal.slice(1)))
      }
      const { users, groups } = await principals.names(q, { userIds, groupIds }, languages)
      return new Map<Principal, NonNullable<ReturnType<typeof users.get>>>([
        ...[...users].map(([id, name]) => [`u${id}` as const, name] as const),
        ...[...groups].map(([id, name]) => [`g${id}` as const, name] as const),
      ])
    },
    renderAcls: rights.renderAcls,
  }
}
