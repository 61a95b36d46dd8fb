import { AppError } from '../../errors.ts'

/** Bytes that a body may always use at once: most bodies are smaller, and thousands of them fit into memory. */
const small = 64 * 1024

export interface BodyGateOptions {
  /** Total bytes of memory for bodies, and for the values made of them. */
  readonly capacity: number
  /** Milliseconds that a body waits for room before it is refused. */
  readonly patience?: number
}

/** The share of the memory of one body: the bytes that have arrived, not the announced size. */
export interface BodyShare {
  /**
   * Counts the bytes that have arrived. Returns a promise when reading must pause until it resolves. It rejects with
   * `ServiceUnavailable` when there was no room in time.
   */
  take(bytes: number): Promise<void> | null
  /** Releases all bytes: the request is answered or its client has disconnected. */
  close(): void
}

/** The bytes used by bodies of one caller. */
interface Caller {
  taken: number
  bodies: number
  /** The body that may exceed the caller's share. */
  favoured: object | null
}

interface Waiting {
  readonly share: object
  readonly caller: Caller
  readonly enter: () => void
}

/**
 * Keeps the bodies of all requests together within the memory of the process: while it is full, large bodies are not read further.
 * The first of those that wait always is, so that they cannot block each other. One caller has at most two thirds: a caller that
 * sends much, or slowly, only delays itself.
 */
export class BodyGate {
  readonly #capacity: number
  readonly #mostOfCaller: number
  readonly #patience: number
  readonly #callers = new Map<string, Caller>()
  #taken = 0
  /** The body that may exceed the capacity. */
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

  /**
   * Bytes of a caller beyond its share (the first bytes of waiting bodies) do not count for the total, so they do not reduce the
   * room for others.
   */
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

  /** Whether the body fits, or is the one that may continue without room. */
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
