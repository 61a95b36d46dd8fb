/** Wire shapes of principals and grants. acl.ts checks their content, and reports the place of an error. */
import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const LookupByReference = Type.Object({ reference: Type.String({ maxLength: 1000 }) }, open)

const PersonRef = Type.Object(
  {
    _id: Type.Optional(Id),
    'lookup:_id': Type.Optional(LookupByReference),
    _generated_displayname: Type.Optional(
      Type.String({ readOnly: true, description: 'How the record is called. Ignored on input.' }),
    ),
  },
  { ...open, title: 'PrincipalRef' },
)

export const WhoApi = Type.Object(
  {
    _basetype: Type.Optional(Type.String()),
    _owner: Type.Optional(Type.Boolean()),
    _pool_contact: Type.Optional(Type.Boolean()),
    user: Type.Optional(PersonRef),
    group: Type.Optional(PersonRef),
  },
  { ...open, description: 'A user, a group, the owner or the contact of the pool.', title: 'Principal' },
)
export type WhoApi = Static<typeof WhoApi>

export const TagfilterApi = Type.Object(
  {
    all: Type.Optional(Type.Array(Id)),
    any: Type.Optional(Type.Array(Id)),
    not: Type.Optional(Type.Array(Id)),
  },
  { ...open, description: 'Conditions that are not empty hold together.', title: 'TagFilter' },
)

/** Parameters of a right, by the catalogue. */
const RightItemApi = Type.Object({}, { ...open, description: 'Parameters of the right; absent is no limit.' })

export const GeneratedRightsApi = Type.Record(Type.String(), RightItemApi)

export const RightApi = Type.Object(
  {
    _id: Type.Optional(Id),
    who: WhoApi,
    sticky: Type.Optional(Type.Boolean()),
    active: Type.Optional(Type.Boolean()),
    _right_preset: Type.Optional(Type.Integer()),
    _share_url: Type.Optional(
      Type.String({ description: 'Of grants on collections: where it is opened, with the secret of a link.' }),
    ),
    when: Type.Optional(Type.Object({ from: Type.Optional(Type.String()), to: Type.Optional(Type.String()) }, open)),
    rights: GeneratedRightsApi,
    tagfilter: Type.Optional(TagfilterApi),
  },
  { ...open, description: 'A grant: rights of one principal, in a time window, on what has the tags.', title: 'Grant' },
)
export type RightApi = Static<typeof RightApi>

/** Options of the schema of a grant that is checked entry by entry (rights/acl.ts), with errors that name right and parameter. */
export const grantShown = {
  'x-names': () => RightApi,
  'x-shown-as': { $ref: '#/components/schemas/Grant' },
} as const
