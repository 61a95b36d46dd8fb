import type { Actor } from '../../platform/actor.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { Column, Model, Table, UniqueKey } from '../model.ts'

/** Rules of a column that a commit can add or tighten. */
export type ColumnRule = 'not_null' | 'check' | 'check_regexp' | 'check_range' | 'check_range_not_empty' | 'length'

/**
 * A rule that stored objects may violate, although they were valid when they were saved. Everything in it belongs to the new model.
 */
export type ConstraintChange =
  | { readonly kind: 'column'; readonly column: Column; readonly rules: readonly ColumnRule[] }
  | { readonly kind: 'unique'; readonly key: UniqueKey }
  /** Objects of the type now need a pool. */
  | { readonly kind: 'pool'; readonly table: Table }
  /** A polyhierarchy became a hierarchy: no more than one parent. */
  | { readonly kind: 'single_parent'; readonly table: Table }

/** A change of a column's type. `convert` is pure and returns `undefined` for a value without an equivalent in the new type. */
export interface Conversion {
  /** The column in the new model. */
  readonly column: Column
  readonly from: string
  readonly to: string
  readonly convert: (value: unknown) => unknown
}

export interface ReindexOrder {
  readonly actor: Actor
  /** All objects of these types. */
  readonly objecttypes: readonly number[]
  /** Whether front ends wait for the end of the reindex. */
  readonly block: boolean
  /** Version of the new model. */
  readonly datamodel: number
}

/**
 * The functions for objects that a commit needs. They run in the transaction of the commit, which holds the exclusive datamodel
 * lock: no object is saved meanwhile (see `DatamodelService.assertCurrent`).
 */
export interface CommitHooks {
  /** Number of objects by object type, the trash included; types without objects may be absent. */
  countObjects(tx: Tx, tableIds: readonly number[]): Promise<ReadonlyMap<number, number>>
  /**
   * Number of objects (latest versions, without the trash) that violate each of the rules, in the same order. Contents still have
   * the old types: `convertValues` runs later.
   */
  countViolations(tx: Tx, changes: readonly ConstraintChange[]): Promise<readonly number[]>
  /**
   * Converts the values of these columns in all versions of all objects.
   * @returns for each conversion the number of objects with a value without an equivalent in the new type. If any is not 0, the
   * commit fails and everything is rolled back.
   */
  convertValues(tx: Tx, conversions: readonly Conversion[]): Promise<readonly number[]>
  /**
   * Deletes the stored values of `removedKeys` (`UniqueKey.key`) and computes those of `keys` anew. If several objects have the
   * same value, the lowest `_system_object_id` keeps it: the user has confirmed that.
   */
  rebuildUniqueKeys(tx: Tx, keys: readonly UniqueKey[], removedKeys: readonly string[]): Promise<void>
  /**
   * Restores the links of restored columns from their stored values, and clears values whose target was deleted meanwhile.
   */
  revive(tx: Tx, columns: readonly Column[]): Promise<void>
  /** Queues objects for the index, under the new model. */
  reindex(tx: Tx, order: ReindexOrder): Promise<void>
  /** Recomputes stored `_standard` for the new model, for types whose masks or columns changed. Called last. */
  afterModelChange?(tx: Tx, model: Model, tableIds: readonly number[]): Promise<void>
}

/** For a service without objects: there is nothing to count, convert or index. */
export const hooksWithoutObjects: CommitHooks = {
  countObjects: async () => new Map(),
  countViolations: async (_tx, changes) => changes.map(() => 0),
  convertValues: async (_tx, conversions) => conversions.map(() => 0),
  rebuildUniqueKeys: async () => {},
  revive: async () => {},
  reindex: async () => {},
}
