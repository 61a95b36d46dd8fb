import type { Actor } from '../platform/actor.ts'
import { hasSystemRight } from '../platform/http/system-right.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { SystemRights } from './model.ts'
import { principalsOf } from './readable.ts'
import type { RightsHooks } from './record-input.ts'
import { covers } from './system-rights.ts'

/**
 * Whether the actor has, or can give itself, everything that the principals (`u5`, `g3`) reach besides system rights. An actor who
 * manages users and groups could act as such a user or be in such a group, and must not gain rights by it. The check covers grants
 * on pools and object types, records owned by groups, and the explicit right `link`, to put users into a group.
 */
export type Reaches = (principals: readonly string[]) => Promise<boolean>

interface LinkedGroup {
  readonly id: number
  readonly systemRights: SystemRights
  /** Principals with the right `link` on the group, or with `acl`, who can give it to themselves. */
  readonly linkers: readonly Linker[]
}

interface Linker {
  readonly who: string
  readonly now: boolean
  /** Whether it has `link` itself. */
  readonly direct: boolean
}

/** Reads the database only when it is called, and never for root. */
export function reachOf(actor: Actor, rights: RightsHooks, from: Queryable): Reaches {
  let linked: Promise<readonly LinkedGroup[]> | undefined

  return async (principals) => {
    if (actor.isRoot || principals.length === 0) return true
    linked ??= groupsWithLinkers(from)
    const groups = await linked
    const changesGroups = hasSystemRight(actor, 'system.group')
    const usable = ({ now, direct }: Linker) => now && (direct || changesGroups)
    const held = ({ systemRights }: LinkedGroup) => covers(actor.systemRights, systemRights)
    // The principals of the actor, and of the groups that it can put itself into.
    const own = withLinked(
      principalsOf(actor),
      groups.filter(held).map((group) => ({ ...group, linkers: group.linkers.filter(usable) })),
    )
    const beyond = [...withLinked(principals, groups)].filter((principal) => !own.has(principal))
    if (beyond.length === 0) return true
    if (groups.some((group) => beyond.includes(`g${group.id}`) && !held(group))) return false
    if (!(await rights.coversGrants(actor, new Set(beyond)))) return false
    const groupIds = beyond.filter((principal) => principal.startsWith('g')).map((id) => Number(id.slice(1)))
    return (await rights.groupsOfObjects(from, groupIds)).size === 0
  }
}

/** The principals, the groups that they may put users into, and so on. */
function withLinked(principals: readonly string[], groups: readonly LinkedGroup[]): ReadonlySet<string> {
  const all = new Set(principals)
  for (let size = 0; size !== all.size; ) {
    size = all.size
    for (const { id, linkers } of groups) if (linkers.some(({ who }) => all.has(who))) all.add(`g${id}`)
  }
  return all
}

/** Groups with a grant of the right `link` or `acl`, with all principals who have it now or will have it. */
async function groupsWithLinkers(from: Queryable): Promise<readonly LinkedGroup[]> {
  const { rows } = await from.query<LinkedGroup>(
    `select t.id, t.system_rights as "systemRights",
       (select coalesce(jsonb_agg(jsonb_build_object(
          'who', case when a->>'who' <> 'owner' then a->>'who'
                      when t.owner_group is not null then 'g' || t.owner_group else 'u' || t.owner_user end,
          'direct', a->'rights' ? 'link',
          'now', a->>'from' is null or (a->>'from')::timestamptz <= now())), '[]')
        from jsonb_array_elements(t.acl) as a
        where a->'rights' ?| array['link', 'acl'] and coalesce(a->>'active', 'true') = 'true'
          and (a->>'to' is null or (a->>'to')::timestamptz > now())) as linkers
     from "group" t where t.acl @? '$[*].rights.link' or t.acl @? '$[*].rights.acl' order by t.id`,
    [],
    'groups_with_linkers',
  )
  return rows
}

export function principalsOfUser(userId: number, groupIds: readonly number[]): string[] {
  return [`u${userId}`, ...groupIds.map((id) => `g${id}`)]
}
