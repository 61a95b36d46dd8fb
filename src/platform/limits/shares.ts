/**
 * Divides places for work among several people, so that no person waits for all the work of another. A person uses at most all
 * regular places. One spare place is for a person without running work: so one person's long work never delays the first work of
 * another. The next place goes to the person with the fewest running works; among these, to the one whose last turn was longest
 * ago.
 */
export interface Shares {
  /** Runs work of a person when it is their turn. @throws the reason of the signal when it is aborted while waiting. */
  run<T>(who: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Number of works of a person that are running or waiting. */
  of(who: string): number
  /** Total number of running works, and of waiting ones. */
  readonly running: number
  readonly waiting: number
}

/** The limits for waiting work; absent: no limit. */
export interface Queue {
  /** In total: at the limit, the person with most waiting work loses one to a person with less. */
  readonly most: number
  readonly mostOfOne: number
  /** The errors: no room at all, the share of the person used up, or displaced by another person (default: the first one). */
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
  /** The number of the person's last turn. */
  turn: number
  readonly queue: Set<Waiting>
}

/** `spare`: additional places for people without running work; 0 where each work takes too much for an additional one. */
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

  /** @throws the error of the queue when there is no room for one more waiting work. */
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
