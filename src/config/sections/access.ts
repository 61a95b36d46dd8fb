import { form, table } from '../fields/forms.ts'
import { bool, int, localized, select, text } from '../fields/values.ts'
import { regexpRule } from './rules.ts'
import { section } from './section.ts'

/** User fields that the page for registration may ask for. */
const registrationFields = [
  'first_name',
  'last_name',
  'displayname',
  'company',
  'department',
  'phone',
  'address_supplement',
  'street',
  'house_number',
  'postal_code',
  'town',
  'state',
  'country',
] as const

/** Settings for sign-in, passwords and registration. */
export const access = {
  login: section('access', 'public', {
    /** How long a browser stays signed in if the user chooses it. */
    keep_login: select(['off', '7d', '30d'], 'off'),
    /** Whether guests may use the service without an account. */
    guest: bool(false),
    label: localized(),
    placeholder: localized(),
    info: localized(),
  }),

  password: section('access', 'user', {
    /** Every pattern must be found in a new password. */
    check: table({ regexp: text('', { required: true, maxLength: 1000, rule: regexpRule }) }, { maxRows: 20 }),
    hint: localized(),
    /** Whether the sign-in page offers to reset a password, if the service can send mail. */
    showforgot: bool(true),
    /** After `attempts` wrong passwords within `minutes`, further ones are blocked until the minutes are over; 0 never blocks. */
    blockclient: form({ attempts: int(10, { max: 1000 }), minutes: int(5, { min: 1, max: 1440 }) }),
  }),

  registration: section('access', 'public', {
    /** Whether people may register. */
    active: bool(false),
    info: localized(),
    /** The terms that they must accept; none: no terms. */
    terms: localized(),
    /** The version of the terms, stored with each acceptance; none: a hash of their text. */
    terms_version: text('', { maxLength: 100 }),
    /** The fields of the form beside address and password, in this order. */
    fields: table(
      { name: select(registrationFields, 'first_name'), required: bool(false) },
      {
        default: [
          { name: 'first_name', required: true },
          { name: 'last_name', required: true },
        ],
        key: 'name',
        maxRows: registrationFields.length,
      },
    ),
    /** Groups that new users are put into, beside the group of all registered users. */
    groups: table({ group_id: int(1, { min: 1 }) }, { key: 'group_id', maxRows: 100 }),
  }),
} as const
