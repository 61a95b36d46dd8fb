import type { Mapping } from './mapping.ts'

export interface Proposal {
  readonly mapping: Mapping
  /** The reasons for the proposal of each column, by heading. */
  readonly reasons: ReadonlyMap<string, string>
}
