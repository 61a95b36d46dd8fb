import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { ConventionOf } from '../../platform/config/versions.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { AccountMails, FactorHooks, FreshSignIn, PinHooks, SessionHooks } from '../hooks.ts'
import type { Principals } from '../principals.ts'
import type { RemovalHooks, RightsHooks } from '../record-input.ts'
import type { AccountUuids } from './account-uuids.ts'
import type { PictureFiles } from './pictures.ts'

export interface UserDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  hashPassword: (password: string) => Promise<string>
  mails: AccountMails
  factors: FactorHooks
  accountUuids: AccountUuids
  sessions: SessionHooks
  principals: Principals
  rights: RightsHooks
  freshSignIn: FreshSignIn
  removal: RemovalHooks
  pictures: PictureFiles
  pins: PinHooks
  conventionOf: ConventionOf
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  clock: () => Date
}
