import type { Actor } from '../platform/actor.ts'
import { inForce, isCaller, type TagRight } from '../rights/service.ts'
import type { Tag } from './model.ts'

/** Whose rights are asked: an actor's, or compiled ones. */
export interface TagCaller {
  readonly userId: number
  readonly groupIds: readonly number[]
  readonly root: boolean
}

export function tagCaller({ userId, groupIds, isRoot }: Actor): TagCaller {
  return { userId, groupIds, root: isRoot }
}

/**
 * What a caller may do with a tag. A tag without grants is open; one that has some, in force or not, is for those whom
 * they name, and for root.
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

/** Whether the tag is a choice for the caller: who may apply it or take it off must find it. */
export function seesTag(tag: Pick<Tag, 'acl'>, caller: TagCaller, at: number): boolean {
  return (
    mayTag(tag, 'tag_see', caller, at) || mayTag(tag, 'tag_add', caller, at) || mayTag(tag, 'tag_remove', caller, at)
  )
}
