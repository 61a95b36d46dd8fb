/**
 * A *transition* is a step of a workflow: when it applies to a change of an object and its conditions hold, it *fires*, and its
 * *actions* run in order. See docs/workflow.md for the meaning of every part.
 */
import type { Localized } from '../platform/values/localized.ts'
import type { Person, Principal } from '../rights/service.ts'
import type { TagFilter } from '../tags/service.ts'

/** The effect of firing on the save: see `verdictOf` and `isExit`. */
export const transitionTypes = ['process', 'resolve', 'reject', 'exit_resolve', 'exit_reject'] as const
export type TransitionType = (typeof transitionTypes)[number]

/** `automatic`: evaluated in every save; `manual`: run by a user; `event`: run for entries of the event log. */
export const transitionTriggers = ['automatic', 'manual', 'event'] as const
export type TransitionTrigger = (typeof transitionTriggers)[number]

export const operations = ['INSERT', 'UPDATE', 'DELETE'] as const
export type Operation = (typeof operations)[number]

export type Action =
  | { readonly type: 'set_tags'; readonly tags: readonly { readonly id: number; readonly set: boolean }[] }
  | { readonly type: 'change_owner'; readonly owner: Person }
  | {
      readonly type: 'email'
      readonly subject: Localized
      readonly message: Localized
      readonly batchable: boolean
      /** `owner` and `contact` are those of each object. */
      readonly recipients: readonly Principal[]
    }
  | {
      readonly type: 'webhook'
      readonly name: string
      /** Whether it is asked before the change is written; otherwise it is called after the commit. */
      readonly preSave?: true
    }
  | {
      readonly type: 'plugin'
      readonly plugin: string
      readonly callback: string
      /** Further data for the callback. */
      readonly info: Readonly<Record<string, unknown>>
    }

/** Actions that change the object itself. */
export type LocalAction = Extract<Action, { type: 'set_tags' | 'change_owner' }>

/** Actions that work outside the database, after the commit. */
export type RemoteAction = Extract<Action, { type: 'email' | 'webhook' }>

/** Actions that ask before the change is written: a program of a plugin, or a webhook with `callback: pre_save`. */
export type AskingAction =
  | Extract<Action, { type: 'plugin' }>
  | (Extract<Action, { type: 'webhook' }> & { readonly preSave: true })

export function isAsking(action: Action): action is AskingAction {
  return action.type === 'plugin' || (action.type === 'webhook' && action.preSave === true)
}

/** Whether a transition asks a plugin or webhook before the write. */
export function asksBefore({ actions }: TransitionSettings): boolean {
  return actions.some(isAsking)
}

/** Whether the action sends something after the commit. */
export function isRemote(action: Action): action is RemoteAction {
  return !isAsking(action) && (action.type === 'email' || action.type === 'webhook')
}

/** The user root, who runs the service. Transitions from before setters were recorded belong to root, who may do everything. */
export const rootUserId = 1

/** The stored settings beside id and version: in the table of the instance's transitions, or in a pool or object type. */
export interface TransitionSettings {
  readonly type: TransitionType
  readonly trigger: TransitionTrigger
  /** For automatic transitions; none: it never fires. */
  readonly operations: readonly Operation[]
  /** For event transitions: types of the event log. */
  readonly eventTypes: readonly string[]
  /** Label of a manual transition. */
  readonly displayname: Localized
  /** A note for administrators. */
  readonly comment: string
  /** Shown before it runs; for a rejecting transition: shown as the reason. Empty: no confirmation is needed. */
  readonly confirm: Localized
  /** Whether private pools and object types inherit it nevertheless. */
  readonly sticky: boolean
  /** The callers for whom it fires; empty: all. With `whoNot` all other callers. */
  readonly who: readonly Principal[]
  readonly whoNot: boolean
  /** Empty: all object types. */
  readonly objecttypeIds: readonly number[]
  readonly before: TagFilter | null
  readonly after: TagFilter | null
  readonly actions: readonly Action[]
}

export interface Transition extends TransitionSettings {
  readonly id: number
  readonly version: number
  /** The user who saved it in this form. It does only what that user may do at the moment when it runs. */
  readonly setBy: number
}

/** The decision about the save; null: none. The last decision counts. */
export function verdictOf(type: TransitionType): 'accept' | 'reject' | null {
  if (type === 'process') return null
  return type === 'reject' || type === 'exit_reject' ? 'reject' : 'accept'
}

/** Whether the following transitions are skipped. */
export function isExit(type: TransitionType): boolean {
  return type === 'exit_resolve' || type === 'exit_reject'
}
