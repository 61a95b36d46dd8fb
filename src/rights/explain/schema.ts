import { type Static, Type } from 'typebox'
import { RightApi } from '../schema.ts'

const open = { additionalProperties: true } as const
const id = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const ExplainQuery = Type.Object(
  {
    user: id('Whose rights.'),
    system_object_id: Type.Optional(id('On this object.')),
    pool: Type.Optional(id('On this pool.')),
    objecttype: Type.Optional(id('To create objects of this type, in `pool` or without a pool.')),
    address: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 45,
        pattern: '^[0-9a-fA-F:.]+$',
        description: 'As from this address, for groups that count in some networks only; without it they count.',
      }),
    ),
  },
  open,
)
export type ExplainQuery = Static<typeof ExplainQuery>

const Person = Type.Object({}, { ...open, description: 'By id and name.' })
const Where = Type.Object({}, { ...open, description: 'The pool, the object type or the object of the grant.' })
const placed = { on: Where, grant: Type.Optional(RightApi), _right_preset: Type.Optional(Type.Integer()) }

export const Explanation = Type.Object(
  {
    user: Person,
    groups: Type.Array(Person, { description: 'Those of the user that count.' }),
    system_object_id: Type.Optional(Type.Integer()),
    pool: Type.Optional(Type.Integer()),
    objecttype: Type.Optional(Type.Integer()),
    owner: Type.Boolean({ description: 'The user owns it, or is in the group that does.' }),
    deleted: Type.Optional(Type.Boolean({ description: 'In the trash, which those see who may delete.' })),
    rights: Type.Array(
      Type.Object({
        name: Type.String(),
        holds: Type.Boolean(),
        by: Type.Array(
          Type.Object(
            {
              reason: Type.String({ description: '`root`, `owner` or `grant`.' }),
              ...placed,
              on: Type.Optional(Where),
            },
            { ...open, title: 'RightReason' },
          ),
        ),
        needed: Type.Array(
          Type.Object(
            {
              ...placed,
              because: Type.Array(Type.String(), {
                description:
                  'The obstacles of the grant: `principal`, `inactive`, `not_yet`, `ended`, `tags`, `objecttype`, `pool`, `private`; `no_grant`: where one could be given.',
              }),
            },
            { ...open, title: 'RightNeeded' },
          ),
        ),
      }),
    ),
  },
  { title: 'RightsExplanation' },
)
export type Explanation = Static<typeof Explanation>
