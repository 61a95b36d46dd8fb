import { type Static, Type } from 'typebox'
import { grantSourceKinds, namedThings } from './find.ts'

export const InvalidQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Most grants.' }),
  offset: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' }),
})
export type InvalidQuery = Static<typeof InvalidQuery>

export const InvalidGrants = Type.Object(
  {
    count: Type.Integer({ description: 'How many there are in all; 0 on a page behind the last one.' }),
    limit: Type.Integer(),
    offset: Type.Integer(),
    objects: Type.Array(
      Type.Object(
        {
          on: Type.Object({ kind: Type.Enum([...grantSourceKinds]), _id: Type.Integer() }),
          grant: Type.Object(
            {},
            { additionalProperties: true, description: 'The grant as it is shown where it stands.' },
          ),
          missing: Type.Array(
            Type.Object({
              what: Type.Enum([...namedThings]),
              _id: Type.Optional(Type.Integer()),
              name: Type.Optional(Type.String({ description: 'Of a right.' })),
            }),
          ),
        },
        { title: 'InvalidGrant' },
      ),
    ),
  },
  { title: 'InvalidGrants' },
)
export type InvalidGrants = Static<typeof InvalidGrants>
