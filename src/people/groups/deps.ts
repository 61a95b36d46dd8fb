import type { EventLog } from '../../events/service.ts'
import type { ConventionOf } from '../../platform/config/versions.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { SessionHooks } from '../hooks.ts'
import type { Principals } from '../principals.ts'
import type { RemovalHooks, RightsHooks } from '../record-input.ts'

export interface GroupDependencies {
  db: Db
  events: EventLog
  sessions: Pick<SessionHooks, 'allChanged'>
  principals: Principals
  rights: RightsHooks
  removal: RemovalHooks
  conventionOf: ConventionOf
}
