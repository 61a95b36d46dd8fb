/**
 * A *record* is what harvesters are told of an object. A *set* is a group of records; its *spec* is its name in the protocol
 * (`pool:1:2`), and the part of a spec before a colon names the set above it. A *prefix* names a format of metadata (`oai_dc`).
 */

/** A record as it was told last. */
export interface HarvestRecord {
  /** System object id. */
  readonly id: number
  readonly uuid: string
  /** Datestamp with microseconds, as PostgreSQL writes it; by it and by the id records are in order. */
  readonly moment: string
  /** Of the seconds of the datestamp: `2026-05-17T10:00:00Z`. */
  readonly datestamp: string
  /** It is told as deleted: gone, out of sight, or not in the set any more that was asked for. */
  readonly deleted: boolean
  /** Specs of its sets, without those above them. */
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
