import type { Mapping } from './mapping.ts'

export interface Proposal {
  readonly mapping: Mapping
  /** Why each column became what it is, by heading. */
  readonly reasons: ReadonlyMap<string, string>
}
