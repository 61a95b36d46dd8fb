import { eventGroups } from '../../events/service.ts'
import { bcryptRule } from '../../platform/values/client-secrets.ts'
import { redirectUriRule } from '../../platform/values/redirect-uris.ts'
import { ldapMembers, ldapRule, ldapServers, openidMembers, openidRule, samlMembers, samlRule } from '../directories.ts'
import { form, table } from '../fields/forms.ts'
import { hashed } from '../fields/secrets.ts'
import { bool, duration, list, select, text } from '../fields/values.ts'
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

/** Fields of the signed-in user that client programs may read. */
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

/** Settings for users: second factors, clients, directories, and disclosed fields. */
export const people = {
  /** The code that uses it is in signin/factors. */
  two_factor: section('user-management', 'system.config', {
    /** Off: no second factor is required, whatever groups require. */
    enabled: bool(true),
    methods: list(['passkey', 'totp'], { choices: ['email', 'passkey', 'totp'], sorted: true, required: true }),
    /** Whether the password grant is allowed for users who must prove a second factor. */
    allow_password_grant: bool(false),
  }),

  oauth2: section('user-management', 'system.config', {
    clients: table(
      {
        name: text('', { required: true, maxLength: 200 }),
        /** bcrypt hash, at most 14 rounds (LIM-003); without one the client is public. */
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

  /** Sign-in at other services (this service is the client); `openid` concerns the data that this service discloses itself. */
  openid_connect: section('user-management', 'system.config', openidMembers, openidRule),

  openid: section('user-management', 'system.config', {
    /** The fields in `/oauth2/userinfo` besides `sub`. */
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
