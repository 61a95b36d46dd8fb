/** Adapters between capabilities that cannot import each other: what an earlier one asks of later ones. */
import { countInPools, requeuePools } from './objects/uses.ts'
import type { PoolOptions, PoolTagLayer } from './pools/service.ts'
import { effectiveTags, renderTag, type TagService } from './tags/service.ts'
import type { Transition, TransitionService } from './transitions/service.ts'

interface PoolPartners {
  tags: () => TagService
  transitions: () => TransitionService
  wakeIndex: () => void
}

/** What pools ask of tags, transitions and objects; functions, as these are built after pools. */
export function poolParts({ tags, transitions, wakeIndex }: PoolPartners): PoolOptions['parts'] {
  return {
    existingTags: (tx, ids) => tags().existing(tx, ids),
    renderTags: (layers) => renderTagLayers(tags(), layers),
    // Pools keep lists of transitions as the transitions engine gives them.
    changeTransitions: (tx, actor, changes) =>
      transitions().validateLists(
        tx,
        actor,
        changes.map((change) => ({ ...change, previous: change.previous as readonly Transition[] })),
      ),
    renderTransitions: async (from, lists, languages) => {
      const wire = await transitions().renderLists(from, lists as readonly (readonly Transition[])[], languages)
      return wire.map((list) => list.map((transition) => ({ ...transition })))
    },
    countObjects: countInPools,
    requeueObjects: (tx, poolIds) => requeuePools(tx, poolIds, wakeIndex),
  }
}

function renderTagLayers(tags: TagService, layers: readonly PoolTagLayer[]) {
  const snapshot = tags.snapshot()
  const compiled = [...effectiveTags(snapshot, layers).values()]
  const own = layers.at(-1)?.tags ?? []
  const render = (id: number, enabled?: boolean, isDefault?: boolean) => {
    const tag = snapshot.get(id)
    if (!tag) return []
    return [{ ...renderTag(tag), enabled: enabled ?? tag.enabled, is_default: isDefault ?? tag.isDefault }]
  }
  return {
    own: own.flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
    compiled: compiled.flatMap((tag) => render(tag.id, tag.enabled, tag.isDefault)),
  }
}
