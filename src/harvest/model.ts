/**
 * A *record* is the state of an object for harvesters. A *set* is a group of records; its *spec* is its name in the
 * protocol (`pool:1:2`), and the part of a spec before a colon names the set above it. A *prefix* names a format of
 * metadata (`oai_dc`).
 */

/** The latest state of a record. */
export interface HarvestRecord {
  /** System object id. */
  readonly id: number
  readonly uuid: string
  /** Datestamp with microseconds, as text of PostgreSQL; records are ordered by it and by the id. */
  readonly moment: string
  /** The datestamp in whole seconds: `2026-05-17T10:00:00Z`. */
  readonly datestamp: string
  /** It is reported as deleted: the object is deleted, not visible, or no longer in the requested set. */
  readonly deleted: boolean
  /** Specs of its sets, without the sets above them. */
  readonly sets: readonly string[]
}

/** The position at which a list continues: after this record. */
export interface Position {
  readonly moment: string
  readonly id: number
}

/** The records of a list. */
export interface Selection {
  /** Spec of the set; null: all. */
  readonly set: string | null
  /** Inclusive, as text for PostgreSQL. */
  readonly from: string | null
  /** Exclusive. */
  readonly before: string | null
}
