import type { Actor } from '../platform/actor.ts'
import { hasSystemRight } from '../platform/http/system-right.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import type { CallerRights, Guarded, Person, RightsService } from '../rights/service.ts'
import { manageTags, mayTag, type TagSnapshot, tagCaller } from '../tags/service.ts'
import type { Allows, State } from './engine.ts'
import { type Action, isAsking, rootUserId, type Transition } from './model.ts'

/** The user who has set a transition, with its current rights. */
interface Setter {
  readonly actor: Actor
  readonly rights: CallerRights
}

/** The setters who may act now; others are absent. Root is not looked up. */
export type Setters = ReadonlyMap<number, Setter>

export interface SetterDeps {
  readonly rights: Pick<RightsService, 'forActor'>
  /** The actors of the users who may sign in now, and always root; one statement for all. */
  readonly actorsOf: (from: Queryable, userIds: readonly number[]) => Promise<ReadonlyMap<number, Actor>>
}

export async function findSetters(deps: SetterDeps, from: Queryable, ids: Iterable<number>): Promise<Setters> {
  const wanted = [...new Set(ids)].filter((id) => id !== rootUserId)
  if (wanted.length === 0) return new Map()
  const setters = new Map<number, Setter>()
  for (const [id, actor] of await deps.actorsOf(from, wanted)) {
    setters.set(id, { actor, rights: await deps.rights.forActor(actor) })
  }
  return setters
}

/** An object that transitions change, with the data for checking rights. */
export interface GuardedItem {
  readonly table: { readonly id: number; readonly aclTable: boolean }
  readonly systemObjectId: number
  readonly poolId: number | null
  readonly acl: unknown
  readonly privateAcl: boolean
}

/**
 * Whether the setter of a transition may do its action, or could give itself the right: because it may change the grants of the
 * pool, or, for an object without pool, the grants of object types.
 */
export function allowsOf(
  setters: Setters,
  itemOf: (key: number | string) => GuardedItem | undefined,
  tags: TagSnapshot,
  at: number,
): Allows {
  return (transition, action, { key }, state) => {
    if (transition.setBy === rootUserId) return true
    const setter = setters.get(transition.setBy)
    if (!setter) return false
    if (setter.actor.isRoot) return true
    const item = itemOf(key)
    if (!item) return false
    const object = guardAt(item, state)
    const right = action.type === 'change_owner' ? 'change_owner' : 'write'
    if (!setter.rights.may(right, object) && !mayGrant(setter, object)) return false
    // Receivers of webhooks get all data of an object, including fields that the setter may not see.
    if (action.type === 'webhook') return false
    return action.type !== 'set_tags' || mayChangeTags(setter, action, state, tags, at)
  }
}

function guardAt({ table, systemObjectId, poolId, acl, privateAcl }: GuardedItem, { tags, owner }: State): Guarded {
  return {
    systemObjectId,
    objecttypeId: table.id,
    poolId,
    ownerUserId: idOf(owner, 'u'),
    ownerGroupId: idOf(owner, 'g'),
    tags,
    // The grants were checked when they were stored.
    acl: table.aclTable ? ((acl ?? null) as Guarded['acl']) : null,
    privateAcl: table.aclTable && privateAcl,
  }
}

function idOf(person: Person | null, letter: 'u' | 'g'): number | null {
  return person?.startsWith(letter) ? Number(person.slice(1)) : null
}

function mayGrant({ actor, rights }: Setter, { poolId }: Guarded): boolean {
  if (poolId === null) return hasSystemRight(actor, 'system.objecttypemanager')
  if (!hasSystemRight(actor, 'system.poolmanager')) return false
  return rights.mayPool('bag_write', poolId) && rights.mayPool('bag_acl', poolId)
}

/** A manager of tags could give itself the right on any tag. */
function mayChangeTags(
  { actor }: Setter,
  action: Extract<Action, { type: 'set_tags' }>,
  state: State,
  tags: TagSnapshot,
  at: number,
): boolean {
  if (hasSystemRight(actor, manageTags.name)) return true
  return action.tags.every(({ id, set }) => {
    const tag = tags.get(id)
    if (!tag || state.tags.includes(id) === set) return true
    return mayTag(tag, set ? 'tag_add' : 'tag_remove', tagCaller(actor), at)
  })
}

/** Transitions whose setter matters: the others do nothing to objects before the commit. */
export function changesObjects({ actions }: Transition): boolean {
  return actions.some((action) => action.type === 'set_tags' || action.type === 'change_owner' || isAsking(action))
}
