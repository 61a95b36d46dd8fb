import { AppError } from './errors.ts'

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

interface Waiting {
  readonly share: object
  readonly enter: () => void
}

/**
 * Keeps the bodies of all requests together within the memory of the process: while it is full, large ones are not
 * read on. One of those that wait, the first, always is, so that they cannot wait for each other.
 */
export class BodyGate {
  readonly #capacity: number
  readonly #patience: number
  #taken = 0
  /** May take more than there is. */
  #favoured: object | null = null
  readonly #waiting: Waiting[] = []

  constructor({ capacity, patience = 60_000 }: BodyGateOptions) {
    this.#capacity = capacity
    this.#patience = patience
  }

  open(): BodyShare {
    const share = {}
    let taken = 0
    let closed = false
    return {
      take: (bytes) => {
        if (closed) return null
        taken += bytes
        this.#taken += bytes
        return taken <= small || this.#hasRoom(share) ? null : this.#wait(share)
      },
      close: () => {
        if (closed) return
        closed = true
        this.#taken -= taken
        const place = this.#waiting.findIndex((one) => one.share === share)
        if (place !== -1) this.#waiting.splice(place, 1)[0]?.enter()
        if (this.#favoured === share) this.#favoured = null
        this.#letIn()
      },
    }
  }

  #hasRoom(share: object): boolean {
    if (this.#taken <= this.#capacity || this.#favoured === share) return true
    if (this.#favoured !== null || this.#waiting.length > 0) return false
    this.#favoured = share
    return true
  }

  #wait(share: object): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = { share, enter: resolve }
    this.#waiting.push(entry)
    const timer = setTimeout(() => {
      const place = this.#waiting.indexOf(entry)
      if (place !== -1) this.#waiting.splice(place, 1)
      reject(new AppError('ServiceUnavailable', { reason: 'too many large requests' }))
    }, this.#patience).unref()
    return promise.finally(() => clearTimeout(timer))
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next && this.#mayEnter(next.share); next = this.#waiting[0]) {
      this.#waiting.shift()
      next.enter()
    }
  }

  #mayEnter(share: object): boolean {
    if (this.#taken <= this.#capacity) return true
    if (this.#favoured !== null) return false
    this.#favoured = share
    return true
  }
}
