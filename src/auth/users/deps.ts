import type { BaseConfigService } from '../../config/service.ts'
import type { EventLog } from '../../events/service.ts'
import type { Jobs } from '../../jobs/service.ts'
import type { ConventionOf } from '../../platform/config/versions.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { AccountPost } from '../account/post.ts'
import type { FreshSignIn } from '../fresh-sign-in.ts'
import type { Passwords } from '../passwords.ts'
import type { Principals } from '../principals.ts'
import type { RemovalHooks, RightsHooks } from '../records.ts'
import type { Sessions } from '../sessions/service.ts'
import type { Throttle } from '../throttle.ts'
import type { AccountUuids } from './account-uuids.ts'
import type { PictureFiles } from './pictures.ts'

export interface UserDependencies {
  db: Db
  events: EventLog
  baseConfig: BaseConfigService
  passwords: Passwords
  throttle: Throttle
  post: AccountPost
  accountUuids: AccountUuids
  sessions: Sessions
  principals: Principals
  rights: RightsHooks
  freshSignIn: FreshSignIn
  removal: RemovalHooks
  pictures: PictureFiles
  conventionOf: ConventionOf
  jobs: Pick<Jobs, 'enqueue' | 'register'>
  clock: () => Date
}
