import { AppError } from '../../errors.ts'

/** Bytes that a body may take at once, whatever else is there: most have less, and thousands of these fit into memory. */
const small = 64 * 1024

export interface BodyGateOptions {
  /** Bytes that bodies, and the values made of them, may take in memory together. */
  readonly capacity: number
  /** Milliseconds that a body waits for room before it is refused. */
  readonly patience?: number
}

/** The part of the memory that one body takes: what has arrived, not what was announced. */
export interface BodyShare {
  /**
   * Counts what has arrived; a promise when nothing more must be read until it resolves.
   * It rejects with `ServiceUnavailable` when there was no room in time.
   */
  take(bytes: number): Promise<void> | null
  /** Gives everything back: the request is answered or gone. */
  close(): void
}

/** What bodies of one caller have taken. */
interface Caller {
  taken: number
  bodies: number
  /** May take more than the share. */
  favoured: object | null
}

interface Waiting {
  readonly share: object
  readonly caller: Caller
  readonly enter: () => void
}

/**
 * Keeps the bodies of all requests together within the memory of the process: while it is full, large ones are not
 * read on. One of those that wait, the first, always is, so that they cannot wait for each other. One caller has at most
 * two thirds: whoever sends much, or slowly, waits for themselves.
 */
export class BodyGate {
  readonly #capacity: number
  readonly #mostOfCaller: number
  readonly #patience: number
  readonly #callers = new Map<string, Caller>()
  #taken = 0
  /** May take more than there is. */
  #favoured: object | null = null
  readonly #waiting: Waiting[] = []

  constructor({ capacity, patience = 60_000 }: BodyGateOptions) {
    this.#capacity = capacity
    this.#mostOfCaller = Math.floor((2 * capacity) / 3)
    this.#patience = patience
  }

  /** For a body of this caller. */
  open(who: string): BodyShare {
    const share = {}
    const caller = this.#callers.get(who) ?? { taken: 0, bodies: 0, favoured: null }
    this.#callers.set(who, caller)
    caller.bodies++
    let taken = 0
    let closed = false
    return {
      take: (bytes) => {
        if (closed) return null
        taken += bytes
        this.#count(caller, bytes)
        if (taken <= small) return null
        return this.#mayEnter(share, caller) ? null : this.#wait(share, caller)
      },
      close: () => {
        if (closed) return
        closed = true
        this.#count(caller, -taken)
        if (--caller.bodies === 0) this.#callers.delete(who)
        const place = this.#waiting.findIndex((one) => one.share === share)
        if (place !== -1) this.#waiting.splice(place, 1)[0]?.enter()
        if (this.#favoured === share) this.#favoured = null
        if (caller.favoured === share) caller.favoured = null
        this.#letIn()
      },
    }
  }

  /** What a caller has beyond the share, by the first bytes of bodies that wait, is not taken from the others. */
  #count(caller: Caller, bytes: number): void {
    const before = Math.min(caller.taken, this.#mostOfCaller)
    caller.taken += bytes
    this.#taken += Math.min(caller.taken, this.#mostOfCaller) - before
  }

  #wait(share: object, caller: Caller): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = { share, caller, enter: resolve }
    this.#waiting.push(entry)
    const timer = setTimeout(() => {
      const place = this.#waiting.indexOf(entry)
      if (place !== -1) this.#waiting.splice(place, 1)
      reject(new AppError('ServiceUnavailable', { reason: 'too many large requests' }))
    }, this.#patience).unref()
    return promise.finally(() => clearTimeout(timer))
  }

  #letIn(): void {
    for (const entry of [...this.#waiting]) {
      if (!this.#mayEnter(entry.share, entry.caller)) continue
      this.#waiting.splice(this.#waiting.indexOf(entry), 1)
      entry.enter()
    }
  }

  /** Whether it fits, or is the one that may go on without. */
  #mayEnter(share: object, caller: Caller): boolean {
    if (this.#favoured === share) return true
    const fitsOwn = caller.taken <= this.#mostOfCaller || caller.favoured === share
    const fitsAll = this.#taken <= this.#capacity
    if ((!fitsOwn && caller.favoured !== null) || (!fitsAll && this.#favoured !== null)) return false
    if (!fitsOwn) caller.favoured = share
    if (!fitsAll) this.#favoured = share
    return true
  }
}
