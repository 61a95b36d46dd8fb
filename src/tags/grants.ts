import type { Actor } from '../platform/actor.ts'
import { inForce, isCaller, type TagRight } from '../rights/service.ts'
import type { Tag } from './model.ts'

/** The caller whose rights are evaluated: an actor, or compiled rights. */
export interface TagCaller {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
}

export function tagCaller({ userId, groupIds, isRoot }: Actor): TagCaller {
  return { userId, groupIds, root: isRoot }
}

/**
 * Whether a caller has a right on a tag. A tag without grants is open to all. A tag with grants, in force or not, is only for the
 * principals in them, and for root.
 */
export function mayTag({ acl }: Pick<Tag, 'acl'>, right: TagRight, caller: TagCaller, at: number): boolean {
  if (caller.root || acl.length === 0) return true
  return acl.some(
    (grant) =>
      grant.rights[right] !== undefined &&
      grant.who !== 'owner' &&
      grant.who !== 'contact' &&
      isCaller(caller, grant.who) &&
      inForce(grant, at),
  )
}

/** Whether the tag is offered to the caller. Callers who may add or remove it must be able to find it. */
export function seesTag(tag: Pick<Tag, 'acl'>, caller: TagCaller, at: number): boolean {
  return (
    mayTag(tag, 'tag_see', caller, at) || mayTag(tag, 'tag_add', caller, at) || mayTag(tag, 'tag_remove', caller, at)
  )
}
