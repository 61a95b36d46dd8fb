import type { Actor } from '../../platform/actor.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import type { StoredExport } from '../model.ts'

/** What is fetched, by whom it may be, and as what it is logged. */
export interface Fetched {
  readonly stored: StoredExport
  readonly runId: number
  /** Whose rights count. */
  readonly owner: Actor
  /** Who asks, for the log; null: whoever has the uuid of a transport. */
  readonly caller: Actor | null
  /** The request, for plugins that make files. */
  readonly request?: RequestFacts
}
