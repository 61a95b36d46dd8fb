import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import { AppError } from '../errors.ts'
import { whenClosed } from './when-closed.ts'

/**
 * The time for some work: how long the caller waits for the result, and how long the work may keep the database busy. Statements
 * that run within a deadline (`Db.within`) end with it.
 */
export interface Deadline {
  /** The caller for whom the work is done (`callerOf`); empty: for no single caller. */
  readonly who: string
  /** Nothing ends it: neither a client that disconnects nor the time. */
  readonly neverEnds?: true
  /** The reason why it is over; null while it is not. */
  readonly over: AppError | null
  /** Remaining milliseconds of work in the database. */
  readonly left: number
  /** @throws {AppError} when it is over. */
  check(): void
  /** Subtracts time in which the database has worked. */
  spend(milliseconds: number): void
  /** Calls `action` when it is over, until the returned function is called. */
  onOver(action: () => void): () => void
  /** The requested change is stored. There is no time limit from now on: an error would claim that it is not stored. */
  stored(): void
}

/** For work that many callers need, or none: no time limit. */
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

/** The same for one caller, for the limits that count per caller. */
export function noDeadlineFor(who: string): Deadline {
  return { ...noDeadline, who }
}

const ofRequests = new AsyncLocalStorage<Deadline>()

/** The deadline of the current request: all statements of `Db` end with it. Outside of requests: `noDeadline`. */
export function currentDeadline(): Deadline {
  return ofRequests.getStore() ?? noDeadline
}

export function withinDeadline<T>(deadline: Deadline, work: () => T): T {
  return ofRequests.run(deadline, work)
}

/** For work that a request only starts: others wait for it as well, or it is done in any case. */
export function outsideDeadlines<T>(work: () => T): T {
  return ofRequests.run(noDeadline, work)
}

/**
 * The deadline of a request: as long as its client is connected, and `limit` milliseconds of work in the database. Time in which it
 * waits for a body, a free place or the index does not count. It costs nothing until something runs within it.
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
    // Without a listener so far, a closed connection is only noticed here.
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
    // Its client has gone before: no event follows.
    if (this.#response.closed && this.over) action()
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
