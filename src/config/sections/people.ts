import { eventGroups } from '../../events/service.ts'
import { redirectUriRule } from '../../platform/values/redirect-uris.ts'
import { ldapMembers, ldapRule, ldapServers, openidMembers, openidRule, samlMembers, samlRule } from '../directories.ts'
import { bool, duration, form, hashed, list, select, table, text } from '../fields.ts'
import { bcryptRule } from './rules.ts'
import { section } from './section.ts'

/** User fields that events may copy (EVENT-004). */
const copyableUserFields = [
  'address_supplement',
  'company',
  'country',
  'department',
  'first_name',
  'house_number',
  'last_name',
  'login',
  'phone',
  'postal_code',
  'reference',
  'state',
  'street',
  'town',
] as const

/** What programs may learn of the user who has signed in with them. */
const userinfoFields = [
  'address_supplement',
  'company',
  'country',
  'department',
  'displayname',
  'email',
  'email_verified',
  'first_name',
  'house_number',
  'last_name',
  'phone',
  'postal_code',
  'state',
  'street',
  'town',
] as const

/** Who people are: second factors, clients, directories, and what is told of them. */
export const people = {
  /** Decided in signin/factors. */
  two_factor: section('user-management', 'system.config', {
    /** Off: nobody is asked for a second factor, whatever groups say. */
    enabled: bool(true),
    methods: list(['passkey', 'totp'], { choices: ['email', 'passkey', 'totp'], sorted: true, required: true }),
    /** Whether the password grant does for users who must prove a second factor. */
    allow_password_grant: bool(false),
  }),

  oauth2: section('user-management', 'system.config', {
    clients: table(
      {
        name: text('', { required: true, maxLength: 200 }),
        /** bcrypt hash, at most 14 rounds (LIM-003); none makes the client public. */
        secret: hashed(bcryptRule),
        redirect_uris: table(
          { url: text('', { required: true, maxLength: 2000, rule: redirectUriRule }) },
          { maxRows: 100 },
        ),
      },
      { key: 'name' },
    ),
    /** Seconds in code, durations on the wire (LIM-001). */
    expirations: form({
      access_token: duration('24h', { min: 60 }),
      refresh_token: duration('720h', { min: 60 }),
    }),
  }),

  ldap: section('user-management', 'system.config', ldapMembers, ldapRule, ldapServers),

  saml: section('user-management', 'system.config', samlMembers, samlRule),

  /** Where this service asks others who somebody is; `openid` is what it tells others itself. */
  openid_connect: section('user-management', 'system.config', openidMembers, openidRule),

  openid: section('user-management', 'system.config', {
    /** What `/oauth2/userinfo` tells besides `sub`. */
    userinfo: list([], { choices: userinfoFields }),
  }),

  user: section('user-management', 'user', {
    default_delete_policy: select(['ask', 'archive', 'delete'], 'ask'),
    /** Groups whose user-logged events carry the acting user (EVENT-002). */
    user_in_event_group: list([], { choices: eventGroups }),
    /** User fields copied into `info` of events (EVENT-004). */
    copy_to_event: list([], { choices: copyableUserFields }),
  }),
} as const
