import type { Actor } from '../platform/actor.ts'
import type { Queryable, Tx } from '../platform/db.ts'
import type { Table } from './model.ts'
import type { ObjecttypeTag, ObjecttypeTransition } from './objecttype-model.ts'

/** Any record in wire form. */
export type Wire = Readonly<Record<string, unknown>>

/** A list of tags of an object type, for the tags engine. */
export interface ObjecttypeTagLayer {
  readonly private: boolean
  readonly tags: readonly ObjecttypeTag[]
}

/** What the settings need of capabilities that come later. */
export interface ObjecttypeParts {
  /** Which of the tags exist. */
  existingTags(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>>
  /** The layer's own tags, and those that it leaves, in wire form. */
  renderTags(layer: ObjecttypeTagLayer, table: Table): { own: readonly Wire[]; compiled: readonly Wire[] }
  /** Checks lists of transitions, gives their stored form and logs what changed, for all object types at once. */
  changeTransitions(
    tx: Tx,
    actor: Actor,
    changes: readonly { wire: unknown; previous: readonly ObjecttypeTransition[]; path: string }[],
  ): Promise<readonly (readonly ObjecttypeTransition[])[]>
  renderTransitions(
    from: Queryable,
    lists: readonly (readonly ObjecttypeTransition[])[],
    languages: readonly string[],
  ): Promise<readonly (readonly Wire[])[]>
}
