import type { Principal, WhoNames } from '../rights/service.ts'
import { renderWho } from '../rights/service.ts'
import { renderTagFilter } from '../tags/service.ts'
import type { Action, Transition } from './model.ts'

/** A transition as clients see it; `names` has the display names of its principals. */
export function renderTransition(transition: Transition, names: WhoNames) {
  return {
    _id: transition.id,
    _version: transition.version,
    _set_by: renderWho(`u${transition.setBy}`, names),
    type: transition.type,
    trigger: transition.trigger,
    operations: transition.operations,
    ...(transition.trigger === 'event' ? { event_types: transition.eventTypes } : {}),
    displayname: transition.displayname,
    comment: transition.comment,
    confirm: transition.confirm,
    sticky: transition.sticky,
    who: transition.who.map((who) => renderWho(who, names)),
    who_not: transition.whoNot,
    objecttype_ids: transition.objecttypeIds,
    ...(transition.before ? { 'tagfilter:before': renderTagFilter(transition.before) } : {}),
    ...(transition.after ? { 'tagfilter:after': renderTagFilter(transition.after) } : {}),
    actions: transition.actions.map((action) => ({ type: typeOf(action), info: renderInfo(action, names) })),
  }
}

function typeOf(action: Action): string {
  return action.type === 'plugin' ? `${action.plugin}:${action.callback}` : action.type
}

function renderInfo(action: Action, names: WhoNames): Readonly<Record<string, unknown>> {
  switch (action.type) {
    case 'set_tags':
      return { tags: action.tags.map(({ id, set }) => ({ _id: id, set })) }
    case 'change_owner':
      return { owner: renderWho(action.owner, names) }
    case 'email':
      return {
        subject: action.subject,
        message: action.message,
        batchable: action.batchable,
        recipients: action.recipients.map((who) => renderWho(who, names)),
      }
    case 'webhook':
      return { name: action.name, callback: action.preSave ? 'pre_save' : 'after_commit_async' }
    case 'plugin':
      return action.info
  }
}

/** All principals of the transitions, for one look-up of their names. */
export function principalsOf(transitions: readonly Transition[]): Principal[] {
  return transitions.flatMap(({ who, actions, setBy }) => [
    `u${setBy}` as const,
    ...who,
    ...actions.flatMap((action): readonly Principal[] => {
      if (action.type === 'change_owner') return [action.owner]
      return action.type === 'email' ? action.recipients : []
    }),
  ])
}
