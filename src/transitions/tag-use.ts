import type { Tx } from '../platform/postgres/db.ts'
import { type TagUse, tagsOfFilter } from '../tags/service.ts'
import type { Transition } from './model.ts'

/** The use of tags by transitions of one kind of place: tags that one of them refers to are not deleted. */
export function tagUseOf(context: string, transitions: (tx: Tx) => Promise<readonly Transition[]>): TagUse {
  return {
    context,
    async count(tx, tagIds) {
      const counts = new Map<number, number>()
      for (const transition of await transitions(tx)) {
        const used = tagsOfTransition(transition)
        for (const id of tagIds) if (used.has(id)) counts.set(id, (counts.get(id) ?? 0) + 1)
      }
      return counts
    },
  }
}

/** All tags that a transition refers to. */
export function tagsOfTransition({ before, after, actions }: Transition): ReadonlySet<number> {
  const set = actions.flatMap((action) => (action.type === 'set_tags' ? action.tags.map((tag) => tag.id) : []))
  return new Set([...tagsOfFilter(before), ...tagsOfFilter(after), ...set])
}
