/**
 * The acknowledged writes, kept outside the service. Each object has one writer, so its state is known at any time,
 * except for the one request of that writer that was not answered: its objects are all as before, or all as it wanted.
 */
export interface State {
  readonly operation: 'i' | 'u' | 'd' | 'r'
  /** A word that no other version has. */
  readonly mark: string
  /** System object id of the author; null for authors. */
  readonly author: number | null
  /** Ids, ascending. */
  readonly tags: readonly number[]
}

export interface Thing {
  readonly objecttype: 'author' | 'book'
  /** Value of its unique key: it identifies the object until its id is known. */
  readonly code: string
  /** By version, starting with 1. */
  readonly versions: State[]
  id: number
  systemObjectId: number
  purged: boolean
}

export const current = (thing: Thing): State => thing.versions.at(-1) as State
export const isLive = (thing: Thing): boolean =>
  !thing.purged && thing.versions.length > 0 && current(thing).operation !== 'd'

/** A request without an answer: `next` is the state that it wanted for each of its objects; null: to purge it. */
export interface Open {
  readonly things: readonly Thing[]
  readonly next: readonly (State | null)[]
}

export interface Book {
  readonly things: Thing[]
  open: Open[]
  /** Invalid answers: status 500 and similar. */
  readonly faults: string[]
  /** Objects touched by a round, for checks that are too expensive for all objects each time. */
  touched: Set<Thing>
  acknowledged: number
}

export const createBook = (): Book => ({ things: [], open: [], faults: [], touched: new Set(), acknowledged: 0 })

/** Writes the result of a request into the record. */
export function apply({ things, next }: Open): void {
  for (const [index, thing] of things.entries()) {
    const state = next[index]
    if (state) thing.versions.push(state)
    else thing.purged = true
  }
}
