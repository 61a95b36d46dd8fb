import type { Table } from '../../../datamodel/model.ts'
import type { StoredPromise } from './store.ts'

/**
 * Promised objects: targets of links that do not exist yet (`_allow_defer`). A promise reserves the id of its object. Links have this
 * id as their target, so they are complete as soon as an object with the promised `_uuid` is created: it takes that id.
 */

/** A promise that a save makes. Its id is provisional until the save is written. */
export interface NewPromise {
  readonly id: number
  readonly table: Table
  readonly uuid: string
}

/** The promises that one save makes, uses and keeps. */
export interface Promises {
  /** Names that nobody else promises or creates until the transaction ends. */
  readonly locked: Set<string>
  readonly made: Map<string, NewPromise>
  /** Stored promises to which links of the save lead, by their ids. */
  readonly linked: Map<number, StoredPromise>
  /** Those of them that get new links. */
  readonly introduced: Set<number>
  /** Stored promises of objects that the save creates, by uuid. */
  readonly claimed: Map<string, StoredPromise>
}

export function noPromises(): Promises {
  return { locked: new Set(), made: new Map(), linked: new Map(), introduced: new Set(), claimed: new Map() }
}

/** The ids that new objects and promises have been given. */
export interface GivenIds {
  /** By their provisional ones. */
  readonly final: ReadonlyMap<number, number>
  /** Promises that are kept: their objects have the ids that were reserved. */
  readonly kept: readonly number[]
}
