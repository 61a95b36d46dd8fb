import type { Task } from '../../platform/values/tasks.ts'
import type { Confirmation, RunRequest } from '../../transitions/service.ts'
import { assertAsked, assertAsSeen, type CallbackOutcome } from './callbacks/run-callbacks.ts'
import type { SaveContext } from './context.ts'
import type { Item } from './item.ts'
import { type WriteOptions, writeAll } from './write/all.ts'

export interface ChangeOptions extends Pick<RunRequest, 'confirmTransition' | 'events'> {
  /** What callbacks have said, and of which versions. */
  readonly callbackOutcome: CallbackOutcome
  /** A transition is run for stored objects; otherwise those that concern the change are. */
  readonly trigger?: RunRequest['trigger']
  /** What still changes the items, or refuses them, once the transitions have changed them. */
  readonly check?: () => Promise<void>
  /** What the caller is asked before anything is written; `confirmation` is what transitions ask. */
  readonly ask: (confirmation: Confirmation | null) => readonly Task[] | Promise<readonly Task[]>
  readonly write?: WriteOptions
}

const whole: WriteOptions = { dryRun: false, skipIndex: false, skipEvents: false }

/**
 * How every change of objects ends, whatever it was (a save, a delete, an undelete, a transition that somebody runs):
 * it is still what callbacks have seen, transitions, checks, open questions, write, and what the transitions send. Gives the open questions: if there are any,
 * nothing was written.
 */
export async function finishChange(
  context: SaveContext,
  items: readonly Item[],
  { callbackOutcome, confirmTransition, trigger, check, ask, events, write = whole }: ChangeOptions,
): Promise<readonly Task[]> {
  assertAsSeen(context, items, callbackOutcome)
  const transitions = await context.deps.runTransitions(context.tx, context.actor, items, confirmTransition, trigger)
  assertAsked(items, transitions.asked, callbackOutcome)
  await check?.()
  // Those that came to it besides.
  assertAsSeen(context, items, callbackOutcome)
  const tasks = await ask(transitions.confirmation)
  if (tasks.length > 0) return tasks
  await writeAll(context, items, write)
  await transitions.enqueue(context.tx, events)
  return tasks
}
