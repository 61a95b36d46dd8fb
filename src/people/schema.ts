/** Wire shapes of users, groups and sessions. In requests an absent member keeps its value, `null` clears it. */
import { type Static, Type } from 'typebox'
import { refusedChange } from '../platform/http/query.ts'
import { GeneratedRightsApi } from '../rights/schema.ts'

const open = { additionalProperties: true } as const
const nullable = <const T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const text = (maxLength = 1000) => nullable(Type.String({ maxLength }))
const flag = nullable(Type.Boolean())
const dictionary = nullable(Type.Record(Type.String(), Type.Unknown()))
/** PostgreSQL's integer. */
const version = nullable(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }))

export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const IdParams = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the record.' }),
})

const Lookup = Type.Object({ reference: Type.String({ minLength: 1, maxLength: 1000 }) }, open)

/** The identity of a record: by id or by reference. */
const identity = { _id: nullable(Id), 'lookup:_id': nullable(Lookup) }

const Ref = Type.Object(identity, open)

export const WhoInput = Type.Object(
  { _basetype: Type.Optional(Type.Enum(['user', 'group'])), user: nullable(Ref), group: nullable(Ref) },
  { ...open, title: 'PrincipalInput', description: 'A user or a group.' },
)
export type WhoInput = Static<typeof WhoInput>

const SystemRightsInput = nullable(
  Type.Record(Type.String(), Type.Unknown(), { description: 'System right to its parameters, see GET /right.' }),
)
const anything = Type.Optional(Type.Unknown())

/**
 * The members of a grant, for the report on ignored members. The shape of grants belongs to a later capability (rights/schema.ts),
 * which also checks it; a test keeps the two consistent.
 */
export const GrantNames = Type.Object({
  _id: anything,
  who: Type.Optional(
    Type.Object({ _basetype: anything, _owner: anything, _pool_contact: anything, user: anything, group: anything }),
  ),
  sticky: anything,
  active: anything,
  _right_preset: anything,
  _share_url: anything,
  when: Type.Optional(Type.Object({ from: anything, to: anything })),
  rights: anything,
  tagfilter: Type.Optional(Type.Object({ all: anything, any: anything, not: anything })),
})

const AclInput = nullable(
  Type.Array(Type.Unknown({ 'x-names': () => GrantNames, 'x-shown-as': { $ref: '#/components/schemas/Grant' } }), {
    maxItems: 10_000,
    description: 'Grants on this record.',
  }),
)

const Localized = Type.Record(
  Type.String({ maxLength: 35 }),
  Type.Union([Type.String({ maxLength: 1000 }), Type.Null()]),
)

const Schedule = Type.Object(
  {
    days_of_month: Type.Optional(Type.Array(Type.Integer({ minimum: 1, maximum: 31 }), { maxItems: 31 })),
    weekdays: Type.Optional(Type.Array(Type.Enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']), { maxItems: 7 })),
    hours: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 23 }), { maxItems: 24 })),
    minutes: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 59 }), { maxItems: 60 })),
    timezone: Type.Optional(Type.String({ maxLength: 100 })),
  },
  { ...open, title: 'Schedule' },
)

/** Fields of a user that no rule uses. */
export const userProfileFields = {
  first_name: text(),
  last_name: text(),
  displayname: text(),
  company: text(),
  department: text(),
  phone: text(),
  remarks: text(10_000),
  address_supplement: text(),
  street: text(),
  house_number: text(),
  postal_code: text(),
  town: text(),
  state: text(),
  country: text(),
  frontend_language: text(35),
  frontend_prefs: dictionary,
  custom_data: dictionary,
  mail_schedule: nullable(Schedule),
}

/** PINs that a user enters to see more of collections that have one. */
const CollectionPinCodes = Type.Array(
  Type.Object(
    {
      collection_id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      pin_code: nullable(
        Type.String({ maxLength: 1000, description: 'Absent: what is remembered stays; null: it is forgotten.' }),
      ),
    },
    open,
  ),
  {
    maxItems: 1000,
    description: 'Of oneself only, 20 at a time. The collection says whether it was right (`pin_ok`).',
  },
)

export const UserInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('user')),
    user: Type.Object(
      {
        ...identity,
        ...userProfileFields,
        _version: version,
        login: text(500),
        email: text(320),
        reference: text(),
        type: text(50),
        database_languages: nullable(Type.Array(Type.String({ maxLength: 35 }), { maxItems: 100 })),
        login_disabled: flag,
        login_valid_from: text(10),
        login_valid_to: text(10),
        require_password_change: flag,
        confirm_email: flag,
        welcome_email: flag,
        picture: nullable(
          Type.Array(Type.Object({ _id: Id }, open), {
            maxItems: 1,
            description: 'An image that the caller has uploaded; `[]` or null: none.',
          }),
        ),
      },
      open,
    ),
    _password: Type.Optional(Type.Union([Type.String({ maxLength: 100 }), Type.Null()])),
    _password_hash: Type.Optional(Type.Unknown()),
    _two_factor_reset_totp: nullable(
      Type.Boolean({ description: 'true takes the authenticator app and the recovery codes of the user away.' }),
    ),
    _two_factor_reset_passkey: nullable(
      Type.Boolean({
        description: 'true takes the passkeys of the user away, and recovery codes where no app is left.',
      }),
    ),
    _groups: nullable(
      Type.Array(Type.Object({ _basetype: Type.Optional(Type.Literal('group')), group: Ref }, open), {
        maxItems: 1000,
      }),
    ),
    _acl: AclInput,
    _system_rights: SystemRightsInput,
    _owner: nullable(WhoInput),
    _collection_pin_codes: Type.Optional(Type.Union([CollectionPinCodes, Type.Null()])),
  },
  { ...open, title: 'UserInput', description: 'A user to create or to change.' },
)
export type UserInput = Static<typeof UserInput>

/** Users or groups per request (LIM-014). */
export const batchLimit = 1000

export const UserBatch = Type.Array(UserInput, { maxItems: batchLimit })

/** Fields of a group that no rule uses. */
export const groupProfileFields = {
  comment: text(10_000),
  category_a: text(),
  category_b: text(),
  category_c: text(),
  frontend_prefs: dictionary,
}

const AuthRule = Type.Object({ method: Type.String(), value: Type.String({ maxLength: 1000 }) }, open)
const AuthRules = Type.Array(AuthRule, { maxItems: 1000 })

/** How rules of groups compare the names that directories have: the same text, or a pattern found in it. */
export const groupRuleMethods = ['eq', 'regexp'] as const

/** No kind of sign-in uses these rules yet. */
export const waitingGroupRules = 'there is no sign-in by a system'

const Strategy = nullable(Type.Enum(['keep', 'randomize', 'clear']))

const PseudonymizedUser = Type.Object(
  {
    login: Strategy,
    first_name: Strategy,
    last_name: Strategy,
    displayname: Strategy,
    additional_info: Strategy,
    _emails: nullable(Type.Enum(['keep', 'clear'])),
  },
  { ...open, title: 'Pseudonymization', description: 'Company, phone, address and notes are `additional_info`.' },
)
export type PseudonymizationField = keyof Static<typeof PseudonymizedUser>

export const GroupInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('group')),
    group: Type.Object(
      {
        ...identity,
        ...groupProfileFields,
        _version: version,
        name: text(),
        reference: text(),
        displayname: nullable(Localized),
        type: text(50),
      },
      open,
    ),
    _acl: AclInput,
    _system_rights: SystemRightsInput,
    _pseudonymization: nullable(
      Type.Object(
        { user: nullable(PseudonymizedUser) },
        { ...open, description: 'What becomes of a user of this group who is archived.' },
      ),
    ),
    _auth_method_group_maps: nullable(
      Type.Object(
        {
          sso: Type.Optional(AuthRules),
          ldap: Type.Optional(AuthRules),
          system: Type.Optional(Type.Array(AuthRule, { maxItems: 1000, ...refusedChange(waitingGroupRules) })),
        },
        {
          ...open,
          description:
            'Who is put into this group when signing in by a directory: `ldap`, or `sso` (SAML, OpenID Connect). A rule is met by a name that the directory gives: `eq` the same, `regexp` a pattern found in it.',
        },
      ),
    ),
    _ip_subnet_filter: nullable(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 1000 })),
    _ip_subnet_filter_exclude: flag,
    _two_fa_required: flag,
    _owner: nullable(WhoInput),
  },
  { ...open, title: 'GroupInput', description: 'A group to create or to change.' },
)
export type GroupInput = Static<typeof GroupInput>

export const GroupBatch = Type.Array(GroupInput, { maxItems: batchLimit })

export const Who = Type.Object(
  { _basetype: Type.String(), user: Type.Optional(Type.Object({}, open)), group: Type.Optional(Type.Object({}, open)) },
  open,
)
export type Who = Static<typeof Who>

const times = { _created_at: Type.Optional(Type.String()), _updated_at: Type.Optional(Type.String()) }
const displayname = { _generated_displayname: Type.Optional(Type.String()) }

/** A user or group as another record shows it. */
const ShownRef = Type.Optional(Type.Object(displayname, open))
const ShownOwner = Type.Optional(
  Type.Object({ _basetype: Type.String(), user: ShownRef, group: ShownRef }, { ...open, title: 'ShownOwner' }),
)

const recordHead = { _id: Id, _version: Type.Integer(), type: Type.String(), ...displayname }
const RecordHead = Type.Object(recordHead, { ...open, title: 'RecordHead' })

/** A group as the users in it show it. */
const ShownGroup = Type.Object(
  { _version: anything, type: anything, name: anything, reference: anything, displayname: anything, ...displayname },
  open,
)

/** A file, as columns of objects show it. */
const Picture = Type.Object(
  {
    ...{ _id: Id, preferred: Type.Boolean(), versions: anything, class: anything, extension: anything },
    ...{ class_extension: anything, class_version_status: anything, status: anything, is_original: anything },
    ...{ filesize: anything, original_filename: anything, original_filename_basename: anything },
  },
  { ...open, title: 'UserPicture' },
)

export const UserOutput = Type.Object(
  {
    _basetype: Type.Literal('user'),
    user: Type.Object(
      {
        ...recordHead,
        picture: Type.Optional(
          Type.Array(Picture, { description: 'One file, with addresses for readers of the user.' }),
        ),
      },
      { ...open, title: 'UserHead' },
    ),
    _generated_rights: Type.Optional(GeneratedRightsApi),
    _groups: Type.Optional(Type.Array(Type.Object({ _basetype: Type.String(), group: ShownGroup }, open))),
    _owner: ShownOwner,
    _two_factor_totp_enrolled: Type.Optional(Type.Boolean()),
    _two_factor_passkey_enrolled: Type.Optional(Type.Boolean()),
    _two_factor_last_method: Type.Optional(Type.String()),
    _collection_pin_codes: Type.Optional(
      Type.Array(Type.Object({ collection_id: Type.Integer() }), {
        description: 'Collections whose PIN one has entered; of oneself only.',
      }),
    ),
    _terms_accepted: Type.Optional(
      Type.Object(
        { version: Type.String(), accepted_at: Type.String() },
        { description: 'The terms that the user has agreed to when making the account.' },
      ),
    ),
    ...times,
    _archived_at: Type.Optional(Type.String()),
    _last_seen_at: Type.Optional(Type.String()),
  },
  { ...open, title: 'User', description: 'A user; who may not manage users gets fewer members.' },
)
export type UserOutput = Static<typeof UserOutput>

export const GroupOutput = Type.Object(
  {
    _basetype: Type.Literal('group'),
    group: RecordHead,
    _generated_rights: Type.Optional(GeneratedRightsApi),
    _owner: ShownOwner,
    ...times,
  },
  { ...open, title: 'Group' },
)
export type GroupOutput = Static<typeof GroupOutput>

/** Largest page of users or groups (LIM-014). */
const pageLimit = 1000

export const UserQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: pageLimit, default: 100, description: 'Most users.' }),
  offset: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' }),
  type: Type.Optional(Type.String({ description: 'user types, separated by commas' })),
  group_ids: Type.Optional(Type.String({ description: 'ids of groups, separated by commas: members of any of them' })),
  changed_since: Type.Optional(Type.String({ description: 'a datetime: changed at or after it' })),
  archived_since: Type.Optional(
    Type.String({ description: 'a datetime: archived at or after it; `null`: those that are not archived' }),
  ),
  include_password: Type.Optional(Type.Boolean({ description: 'refused: password hashes never leave the service' })),
})
export type UserQuery = Static<typeof UserQuery>

export const GroupQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: pageLimit, default: 1000, description: 'Most groups.' }),
  offset: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' }),
  type: Type.Optional(Type.String({ description: 'native, system, or both, separated by a comma' })),
})
export type GroupQuery = Static<typeof GroupQuery>
