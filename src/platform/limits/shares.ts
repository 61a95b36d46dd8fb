/**
 * Places for work that several people want done, so that nobody has to wait for all that another one asked for. One person has
 * at most as many as there are, and one more stands ready for whoever has none: so what somebody began, however long it takes,
 * never keeps the first work of another one waiting. Whoever has the fewest goes next, of these who waited longest for a turn.
 */
export interface Shares {
  /** Does the work of somebody at their turn. @throws the reason of the signal when it is aborted while they wait. */
  run<T>(who: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Works of somebody that run or wait. */
  of(who: string): number
  /** All that run, and all that wait. */
  readonly running: number
  readonly waiting: number
}

/** How many may wait; as many as like where nothing is said. */
export interface Queue {
  /** In all: whoever has most there is sent away for somebody who has fewer. */
  readonly most: number
  readonly mostOfOne: number
  /** What somebody is told for whom there is no room, whose share of it is taken, or who is sent away (else as the first). */
  readonly full: () => Error
  readonly taken: () => Error
  readonly displaced?: () => Error
}

interface Waiting {
  readonly enter: () => void
  readonly sendAway: (reason: unknown) => void
}

interface Person {
  running: number
  /** The number of their last turn. */
  turn: number
  readonly queue: Set<Waiting>
}

/** `spare`: places beyond, for whoever has none; 0 where each takes so much that there must not be more. */
export function createShares(places: number, line?: Queue, spare: 0 | 1 = 1): Shares {
  const people = new Map<string, Person>()
  let running = 0
  let waiting = 0
  let turn = 0

  function personOf(who: string): Person {
    const person = people.get(who) ?? { running: 0, turn: 0, queue: new Set() }
    people.set(who, person)
    return person
  }

  const mayBegin = (person: Person): boolean => running < places || (running < places + spare && person.running === 0)

  function begin(person: Person): void {
    running++
    person.running++
    person.turn = ++turn
  }

  function next(): void {
    for (;;) {
      let chosen: Person | null = null
      for (const person of people.values()) {
        if (person.queue.size === 0 || !mayBegin(person)) continue
        const fewer = chosen === null || person.running < chosen.running
        if (fewer || (person.running === chosen?.running && person.turn < chosen.turn)) chosen = person
      }
      const [first] = chosen?.queue ?? []
      if (!chosen || !first) return
      chosen.queue.delete(first)
      waiting--
      begin(chosen)
      first.enter()
    }
  }

  function forget(who: string, person: Person): void {
    if (person.running === 0 && person.queue.size === 0) people.delete(who)
  }

  /** @throws what is said when there is no room for one more who waits. */
  function makeRoom(person: Person, { most, mostOfOne, full, taken, displaced = full }: Queue): void {
    if (person.queue.size >= mostOfOne) throw taken()
    if (waiting < most) return
    let longest = person
    for (const each of people.values()) if (each.queue.size > longest.queue.size) longest = each
    const last = [...longest.queue].at(-1)
    if (!last || longest.queue.size <= person.queue.size + 1) throw full()
    last.sendAway(displaced())
  }

  async function wait(who: string, person: Person, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const entry = { enter: resolve, sendAway }
    function sendAway(reason: unknown): void {
      if (!person.queue.delete(entry)) return
      waiting--
      forget(who, person)
      reject(reason)
    }
    const onAbort = (): void => sendAway(signal?.reason)
    try {
      if (line) makeRoom(person, line)
    } catch (error) {
      forget(who, person)
      throw error
    }
    person.queue.add(entry)
    waiting++
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return {
    async run(who, work, signal) {
      signal?.throwIfAborted()
      const person = personOf(who)
      if (person.queue.size === 0 && mayBegin(person)) begin(person)
      else await wait(who, person, signal)
      try {
        return await work()
      } finally {
        running--
        person.running--
        forget(who, person)
        next()
      }
    },
    of: (who) => {
      const person = people.get(who)
      return person ? person.running + person.queue.size : 0
    },
    get running() {
      return running
    },
    get waiting() {
      return waiting
    },
  }
}
