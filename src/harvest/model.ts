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
  /** Datestamp with microseconds, as PostgreSQL writes it; by it and by the id records are in order. */
  readonly moment: string
  /** Of the seconds of the datestamp: `2026-05-17T10:00:00Z`. */
  readonly datestamp: string
  /** It is reported as deleted: the object is deleted, not visible, or no longer in the requested set. */
  readonly deleted: boolean
  /** Specs of its sets, without the sets above them. */
  readonly sets: readonly string[]
}

/** Where a list goes on: behind this record. */
export interface Position {
  readonly moment: string
  readonly id: number
}

/** Which records a list has. */
export interface Selection {
  /** Spec of the set; null: all. */
  readonly set: string | null
  /** Inclusive, as PostgreSQL reads it. */
  readonly from: string | null
  /** Exclusive. */
  readonly before: string | null
}
