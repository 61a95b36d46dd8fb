import type { NewEvent } from '../events/service.ts'
import type { Action, Transition } from './model.ts'

/** An action that a transition did not do. */
export interface WithheldAction {
  readonly transition: Pick<Transition, 'id' | 'setBy'> & { readonly version?: number }
  readonly action: Action['type']
  /** `user`: its setter may not act any more; `right`: its setter has no right to do that to these objects. */
  readonly reason: 'user' | 'right'
  readonly systemObjectIds: readonly number[]
}

/** The highest number of ids in one entry. */
const mostNamed = 100

/** Entries of the log that tell administrators why a transition had no effect: one for each action. */
export function withheldEvents(withheld: readonly WithheldAction[]): NewEvent[] {
  const groups = Map.groupBy(withheld, ({ transition, action, reason }) => `${transition.id} ${action} ${reason}`)
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { transition, action, reason } = first
    const ids = [...new Set([first, ...others].flatMap(({ systemObjectIds }) => systemObjectIds))]
    return {
      type: 'TRANSITION_WITHHELD' as const,
      actor: null,
      basetype: 'transition',
      schema: 'BASE',
      objectId: transition.id,
      ...(transition.version === undefined ? {} : { objectVersion: transition.version }),
      info: { action, reason, set_by: transition.setBy, count: ids.length, system_object_ids: ids.slice(0, mostNamed) },
    }
  })
}
