import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import { AppError } from '../errors.ts'
import { whenClosed } from './when-closed.ts'

/**
 * How long somebody waits for the result of some work, and how long it may keep the database busy. Statements that run
 * within a deadline (`Db.within`) end with it.
 */
export interface Deadline {
  /** For whom it is (`callerOf`); empty: for nobody alone. */
  readonly who: string
  /** Nothing ends it: neither a client that goes nor the time. */
  readonly neverEnds?: true
  /** Why it is over; null while it is not. */
  readonly over: AppError | null
  /** Milliseconds of work in the database that are left. */
  readonly left: number
  /** @throws {AppError} when it is over. */
  check(): void
  /** Takes off time that the database has worked. */
  spend(milliseconds: number): void
  /** Calls `action` when it is over; until the returned function is called. */
  onOver(action: () => void): () => void
  /** What was asked for is stored. From now on it has the time that it needs: a refusal would say that it is not. */
  stored(): void
}

/** What many wait for, or nobody: it takes the time that it takes. */
export const noDeadline: Deadline = {
  who: '',
  neverEnds: true,
  over: null,
  left: Number.POSITIVE_INFINITY,
  check() {},
  spend() {},
  onOver: () => () => {},
  stored() {},
}

/** The same for somebody, who waits in vain where it cannot be done. */
export function noDeadlineFor(who: string): Deadline {
  return { ...noDeadline, who }
}

const ofRequests = new AsyncLocalStorage<Deadline>()

/** The deadline of the request that is being answered: all statements of `Db` end with it. `noDeadline` beside requests. */
export function currentDeadline(): Deadline {
  return ofRequests.getStore() ?? noDeadline
}

export function withinDeadline<T>(deadline: Deadline, work: () => T): T {
  return ofRequests.run(deadline, work)
}

/** For what a request only sets going: others wait for it as well, or it is done whether anybody waits or not. */
export function outsideDeadlines<T>(work: () => T): T {
  return ofRequests.run(noDeadline, work)
}

/**
 * The deadline of a request: as long as its client is there, and `limit` milliseconds of work in the database. Time that
 * it waits for a body, a place or the index does not count. It costs nothing until something runs within it.
 */
export class RequestDeadline implements Deadline {
  readonly #response: ServerResponse
  readonly #who: () => string
  #limit: number
  #spent = 0
  #actions: Set<() => void> | null = null
  #over: AppError | null = null

  constructor(response: ServerResponse, limit: number, who: () => string) {
    this.#response = response
    this.#who = who
    this.#limit = limit
  }

  get who(): string {
    return this.#who()
  }

  get over(): AppError | null {
    // Whoever asks first has not listened yet.
    if (!this.#over && this.#response.closed && !this.#response.writableFinished) this.#over = clientGone()
    if (!this.#over && this.left <= 0) this.#over = timeOver(this.#limit)
    return this.#over
  }

  get left(): number {
    return this.#limit - this.#spent
  }

  check(): void {
    if (this.over) throw this.over
  }

  spend(milliseconds: number): void {
    this.#spent += milliseconds
  }

  stored(): void {
    this.#limit = Number.POSITIVE_INFINITY
  }

  onOver(action: () => void): () => void {
    const actions = this.#listen()
    actions.add(action)
    return () => actions.delete(action)
  }

  #listen(): Set<() => void> {
    if (this.#actions) return this.#actions
    const actions = new Set<() => void>()
    this.#actions = actions
    whenClosed(this.#response, () => {
      if (this.over) for (const each of actions) each()
    })
    return actions
  }
}

/** A shorter deadline within another one. */
export function shorter(whole: Deadline, milliseconds: number): Deadline {
  let spent = 0
  const own = (): number => milliseconds - spent
  return {
    who: whole.who,
    get over() {
      return whole.over ?? (own() <= 0 ? timeOver(milliseconds) : null)
    },
    get left() {
      return Math.min(whole.left, own())
    },
    check() {
      if (this.over) throw this.over
    },
    spend(time) {
      spent += time
      whole.spend(time)
    },
    onOver: (action) => whole.onOver(action),
    stored() {
      milliseconds = Number.POSITIVE_INFINITY
      whole.stored()
    },
  }
}

function clientGone(): AppError {
  return new AppError('ClientClosedRequest')
}

function timeOver(limit: number): AppError {
  return new AppError('TimeLimitExceeded', { most_seconds: limit / 1000 })
}
