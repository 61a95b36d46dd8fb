import type { EventLog } from '../../events/service.ts'
import type { ConventionOf } from '../../platform/config/versions.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Principals } from '../principals.ts'
import type { RemovalHooks, RightsHooks } from '../records.ts'
import type { Sessions } from '../sessions/service.ts'

export interface GroupDependencies {
  db: Db
  events: EventLog
  sessions: Sessions
  principals: Principals
  rights: RightsHooks
  removal: RemovalHooks
  conventionOf: ConventionOf
}
