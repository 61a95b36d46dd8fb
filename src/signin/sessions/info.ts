import { Type } from 'typebox'
import type { BaseConfigService } from '../../config/service.ts'
import { pollHorizon } from '../../events/service.ts'
import { GroupOutput, UserOutput } from '../../people/schema.ts'
import { findGroupSummaries, localeOf, renderGroupSummary, type UserService } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { Session } from './cache.ts'

const open = { additionalProperties: true } as const
const Method = Type.Object(
  { method: Type.String(), timestamp: Type.String(), client_id: Type.String() },
  { ...open, description: 'How and when the user signed in.', title: 'SignIn' },
)

export const SessionInfo = Type.Object(
  {
    access_token: Type.String(),
    user: UserOutput,
    groups: Type.Array(GroupOutput, { description: 'all groups that count now, those of the user type too' }),
    config: Type.Object({}, open),
    frontend_language: Type.String(),
    frontend_locale: Type.Object({}, open),
    database_locales: Type.Array(Type.Object({}, open)),
    system_rights: Type.Record(Type.String(), Type.Unknown(), { description: 'of the user and its groups, merged' }),
    authentication_methods: Type.Array(Method),
    authenticated: Method,
    current_max_event_id: Type.Integer({ description: 'a poll from here on misses nothing' }),
    instance: Type.Object({}, open),
  },
  { ...open, title: 'Session' },
)

export interface SessionInfoDependencies {
  db: Db
  baseConfig: BaseConfigService
  users: Pick<UserService, 'own'>
  /** Information about the instance for clients: names, address, version. */
  instance: () => object
}

/** The start data of a front end: the user who is signed in, their rights, and the setup of the instance. */
export function createSessionInfo({ db, baseConfig, users, instance }: SessionInfoDependencies) {
  return async (actor: Actor, session: Session, token: string) => {
    const [user, summaries, eventId] = await Promise.all([
      users.own(actor),
      findGroupSummaries(db, actor.groupIds),
      pollHorizon(db),
    ])
    if (!user) throw new Error(`user ${actor.userId} of a valid session does not exist`)
    const { frontend, database } = baseConfig.get().languages
    const wanted = 'frontend_language' in user.user ? user.user.frontend_language : undefined
    const language = frontend.find((tag) => tag === wanted) ?? frontend[0] ?? 'en-US'
    const authenticated = {
      method: session.method,
      timestamp: session.authenticatedAt.toISOString(),
      client_id: session.clientId,
    }
    return {
      access_token: token,
      user,
      groups: summaries
        .filter((group) => actor.groupIds.includes(group.id))
        .map((group) => renderGroupSummary(group, actor.languages)),
      config: baseConfig.document(actor),
      frontend_language: language,
      frontend_locale: localeOf(language),
      database_locales: database.map(({ value }) => localeOf(value)),
      system_rights: Object.fromEntries(actor.systemRights),
      authentication_methods: [authenticated],
      authenticated,
      current_max_event_id: eventId,
      instance: instance(),
    }
  }
}
