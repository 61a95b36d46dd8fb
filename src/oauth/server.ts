import type { BaseConfigService } from '../config/service.ts'
import type { Config } from '../platform/config/config.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { SignInService } from '../signin/service.ts'
import { createAuthorize } from './authorize/service.ts'
import { createOAuthClients } from './clients.ts'
import { createCodes } from './codes.ts'
import { createLogout } from './logout.ts'
import { createRedirects } from './redirects.ts'
import { createRefreshes } from './refreshes.ts'
import { createOAuth } from './service.ts'
import { createTokenInfo } from './token-info.ts'

export interface OAuthServerDependencies {
  config: Pick<Config, 'externalUrl' | 'loginAllowRedirects' | 'oauthClients'>
  db: Db
  baseConfig: BaseConfigService
  signIn: SignInService
  clock: () => Date
}

export type OAuthServer = ReturnType<typeof createOAuthServer>

/** The OAuth2 server: clients, their grants, and their tokens. */
export function createOAuthServer({ config, db, baseConfig, signIn: service, clock }: OAuthServerDependencies) {
  const { aliases, basePath, sessions, signIn, singleSignOn, flows, steps, keepLogins, words, strangers, throttle } =
    service
  const { externalUrl } = config
  const clients = createOAuthClients({ db, throttle, configured: config.oauthClients, baseConfig, aliases })
  const codes = createCodes({ db, sessions })
  const refreshes = createRefreshes({ sessions, words })
  return {
    aliases,
    codes,
    issuer: externalUrl,
    refreshes,
    sessions,
    pages: service.pages,
    oauth: createOAuth({ db, baseConfig, clients, codes, sessions, refreshes, signIn, strangers }),
    tokenInfo: createTokenInfo({ db, baseConfig, clients, sessions }),
    logout: createLogout({ sessions, keepLogins, aliases, signOutAddress: singleSignOn.signOutAddress }),
    authorize: createAuthorize({
      db,
      baseConfig,
      clients,
      redirects: createRedirects({ externalUrl, allowed: config.loginAllowRedirects }),
      signIn,
      asksDirectory: service.asksDirectory,
      singleSignOn,
      codes,
      flows,
      steps,
      passkeys: service.passkeys.available,
      offers: service.accounts.offers,
      issuer: externalUrl,
      basePath,
      aliases,
      keepLogins,
      words,
      strangers,
      clock,
    }),
  }
}
