import type { Task } from '../../platform/values/tasks.ts'
import type { Confirmation, RunRequest } from '../../transitions/service.ts'
import { assertAsked, assertUnchangedSince, type CallbackOutcome } from './callbacks/run-callbacks.ts'
import type { SaveContext } from './context.ts'
import type { Item } from './item.ts'
import { type WriteOptions, writeAll } from './write/all.ts'

export interface ChangeOptions extends Pick<RunRequest, 'confirmTransition' | 'events'> {
  /** The results of the callbacks, and the versions of the objects that they saw. */
  readonly callbackOutcome: CallbackOutcome
  /** Set: a transition is run for stored objects. Absent: the transitions that apply to the change run. */
  readonly trigger?: RunRequest['trigger']
  /** A step after the transitions that may still change the items, or refuse them. */
  readonly check?: () => Promise<void>
  /** Returns the questions for the caller before anything is written; `confirmation` is the question of the transitions. */
  readonly ask: (confirmation: Confirmation | null) => readonly Task[] | Promise<readonly Task[]>
  readonly write?: WriteOptions
}

const whole: WriteOptions = { dryRun: false, skipIndex: false, skipEvents: false }

/**
 * The last part of every change of objects (a save, a delete, an undelete, a transition that a user runs): check that the objects
 * are still those that the callbacks saw, transitions, checks, open questions, write, and the messages of the transitions. Returns
 * the open questions: if there are any, nothing was written.
 */
export async function finishChange(
  context: SaveContext,
  items: readonly Item[],
  { callbackOutcome, confirmTransition, trigger, check, ask, events, write = whole }: ChangeOptions,
): Promise<readonly Task[]> {
  assertUnchangedSince(context, items, callbackOutcome)
  const transitions = await context.deps.runTransitions(context.tx, context.actor, items, confirmTransition, trigger)
  assertAsked(items, transitions.asked, callbackOutcome)
  await check?.()
  // Objects that were added since.
  assertUnchangedSince(context, items, callbackOutcome)
  const tasks = await ask(transitions.confirmation)
  if (tasks.length > 0) return tasks
  await writeAll(context, items, write)
  await transitions.enqueue(context.tx, events)
  return tasks
}
