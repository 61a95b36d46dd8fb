import type { Logger } from 'pino'
import type { EventLog, FollowedEvent } from '../events/service.ts'
import type { Jobs } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import { type Cause, currentCause, joinCauses, withCause } from '../platform/cause.ts'
import type { Db, Queryable, Tx } from '../platform/postgres/db.ts'
import { effectJobs } from './effects.ts'
import type { Effect } from './engine.ts'
import { isRemote, type Transition } from './model.ts'
import type { RunOnObjects } from './run.ts'
import type { SetterDeps } from './setters.ts'
import * as store from './store.ts'
import { withheldEvents } from './withheld.ts'

/** Payload of the job that runs one event transition for a part of the log. */
interface EventRunJob {
  readonly transitionId: number
  readonly events: readonly FollowedEvent[]
}

export interface EventRunOptions {
  db: Db
  jobs: Pick<Jobs, 'register' | 'enqueueAll'>
  log: Logger
  events: Pick<EventLog, 'append'>
  /** All transitions of the instance, its pools and object types. */
  transitions: () => readonly Transition[]
  follow: (
    from: Queryable,
    after: number,
    types: readonly string[],
    limit: number,
  ) => Promise<{ events: FollowedEvent[]; upTo: number }>
  runOnObjects: RunOnObjects
  /** Gives the actors: event transitions run with the rights of the user who has set them. */
  actorsOf: SetterDeps['actorsOf']
  /** While it returns true, the log is not followed; afterwards the run continues where it stopped. */
  paused: () => boolean
  /** Waits until the memory of this process has all changes that are committed: transitions may be newer than an event. */
  upToDate: () => Promise<void>
  /** Milliseconds between two checks of the log. */
  interval?: number
}

export type EventRuns = ReturnType<typeof createEventRuns>

const job = 'transition.event'
/** The kind of a cause: the trigger of the transition. */
const kindOfStep = 'event' satisfies Transition['trigger']
/** Entries of the log per look, and per job. */
const pageSize = 1000
const batchSize = 200

/** Follows the event log and runs event transitions for its entries. */
export function createEventRuns(options: EventRunOptions) {
  const { db, jobs, log, interval = 1000 } = options
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<boolean> = Promise.resolve(false)
  /** Jobs queued by this process so far. */
  let queued = 0

  function eventTransitions(): Transition[] {
    return options.transitions().filter((transition) => transition.trigger === 'event')
  }

  jobs.register<EventRunJob>(job, async ({ transitionId, events }) => {
    const transition = eventTransitions().find(({ id }) => id === transitionId)
    if (!transition) return
    const step = { kind: kindOfStep, id: transitionId }
    await withCause(joinCauses(currentCause(), ...events.map(({ cause }) => cause), [step]), async () => {
      const setter = (await options.actorsOf(db, [transition.setBy])).get(transition.setBy)
      if (!setter) return tellWithheld(transition, events)
      await runForObjects(transition, setter, events)
      await runWithoutObjects(
        transition,
        events.filter((event) => event.systemObjectId === null),
      )
    })
  })

  /** Logs that a transition was not run because its setter may not act any more. */
  async function tellWithheld(transition: Transition, all: readonly FollowedEvent[]): Promise<void> {
    const systemObjectIds = all.flatMap(({ systemObjectId }) => systemObjectId ?? [])
    const told = transition.actions.map(({ type: action }) => ({
      transition,
      action,
      reason: 'user' as const,
      systemObjectIds,
    }))
    await options.events.append(db, withheldEvents(told))
  }

  /** One run for all objects of the events, with the rights of the setter of the transition. */
  async function runForObjects(transition: Transition, setter: Actor, all: readonly FollowedEvent[]): Promise<void> {
    const events = all.filter((event) => event.systemObjectId !== null)
    if (events.length === 0) return
    await options.runOnObjects(setter, {
      trigger: { kind: 'event', transitionId: transition.id },
      objects: [...new Set(events.map((event) => Number(event.systemObjectId)))].map((systemObjectId) => ({
        systemObjectId,
      })),
      skipMissing: true,
      events: events.map(shownEvent),
    })
  }

  /** For events without an object, only mails and webhooks run, and only if the transition has no condition on an object. */
  async function runWithoutObjects(transition: Transition, events: readonly FollowedEvent[]): Promise<void> {
    const { before, after, objecttypeIds, actions } = transition
    if (events.length === 0 || before !== null || after !== null || objecttypeIds.length > 0) return
    const effects = actions.flatMap((action, index): Effect[] =>
      isRemote(action) ? [{ transition, index, action, objects: [] }] : [],
    )
    await db.transaction((tx) =>
      jobs.enqueueAll(
        tx,
        effectJobs(null, effects, () => null, events.map(shownEvent)),
      ),
    )
  }

  /** Queues runs for a page of the log; returns whether there may be more. */
  async function look(): Promise<boolean> {
    if (options.paused()) return false
    await options.upToDate()
    const transitions = eventTransitions()
    if (transitions.length === 0) {
      await store.stopFollowing(db)
      return false
    }
    const types = [...new Set(transitions.flatMap((transition) => transition.eventTypes))]
    return db.transaction(async (tx) => {
      const after = await store.lockCursor(tx)
      if (after === null) return false
      const { events, upTo } = await options.follow(tx, after, types, pageSize)
      if (upTo === after) return false
      await queueRuns(tx, transitions, events)
      await store.moveCursor(tx, upTo)
      return events.length > 0
    })
  }

  async function queueRuns(
    tx: Tx,
    transitions: readonly Transition[],
    events: readonly FollowedEvent[],
  ): Promise<void> {
    const requests = transitions.flatMap(({ id: transitionId, eventTypes }) => {
      const wanted = events.filter((event) => eventTypes.includes(event.type) && !startedByEvent(event.cause))
      const count = Math.ceil(wanted.length / batchSize)
      return Array.from({ length: count }, (_, index): { name: string; payload: EventRunJob } => ({
        name: job,
        payload: { transitionId, events: wanted.slice(index * batchSize, (index + 1) * batchSize) },
      }))
    })
    await jobs.enqueueAll(tx, requests)
    queued += requests.length
  }

  /** One check at a time in a process: a second one would find the cursor locked, and report that nothing is there. */
  function lookInTurn(): Promise<boolean> {
    looking = looking.then(look).catch((error: unknown) => {
      log.warn({ err: error }, 'the event log cannot be followed')
      return false
    })
    return looking
  }

  return {
    /** Begins to follow the log. */
    start(): void {
      const again = async (): Promise<void> => {
        const more = await lookInTurn()
        if (timer) timer = setTimeout(again, more ? 0 : interval)
      }
      timer = setTimeout(again, interval)
    },

    /** Processes the whole log at once; returns the number of jobs that were ever queued. For tests that wait for all of them. */
    async lookNow(): Promise<number> {
      while (await lookInTurn()) {
        // A page at a time.
      }
      return queued
    },

    async close(): Promise<void> {
      clearTimeout(timer)
      timer = undefined
      await looking
    },
  }
}

/** Consequences of an event transition, direct or indirect, start no event transition: this ends circles. */
function startedByEvent(cause: Cause | null): boolean {
  return cause?.some(({ kind }) => kind === kindOfStep) ?? false
}

function shownEvent({ id, type, info }: FollowedEvent) {
  return { id, type, info }
}
