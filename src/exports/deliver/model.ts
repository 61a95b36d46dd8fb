import type { Actor } from '../../platform/actor.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import type { StoredExport } from '../model.ts'

/** A download: the export, the users involved, and the data for the log. */
export interface Fetched {
  readonly stored: StoredExport
  readonly runId: number
  /** The user whose rights count. */
  readonly owner: Actor
  /** The caller, for the log. `null`: the caller has no token, but the uuid of a transport. */
  readonly caller: Actor | null
  /** The request, for plugins that make files. */
  readonly request?: RequestFacts
}
