import { type Static, Type } from 'typebox'

const Address = Type.String({ maxLength: 254, description: 'One address, without a name.' })
const Addresses = Type.Optional(Type.Array(Address, { maxItems: 100 }))

export const MailInput = Type.Object(
  {
    from: Type.Optional(
      Type.String({ maxLength: 254, description: 'Another sender than the configured one needs `system.root`.' }),
    ),
    to: Addresses,
    cc: Addresses,
    bcc: Addresses,
    subject: Type.Optional(Type.String({ maxLength: 500 })),
    html: Type.Optional(Type.String({ maxLength: 1_000_000 })),
    text: Type.Optional(Type.String({ maxLength: 1_000_000 })),
    attachments: Type.Optional(
      Type.Array(
        Type.Object(
          {
            filename: Type.String({ minLength: 1, maxLength: 255 }),
            'content-type': Type.Optional(Type.String({ maxLength: 255 })),
            bytes: Type.String({ description: 'In base64.' }),
          },
          { additionalProperties: true },
        ),
        { maxItems: 20 },
      ),
    ),
  },
  { additionalProperties: true, title: 'MailInput', description: 'At most 100 recipients, and 10 MB attached.' },
)
export type MailInput = Static<typeof MailInput>

export const TestMailInput = Type.Object(
  { to: Type.Optional(Type.String({ maxLength: 254, description: 'Absent: the configured sender.' })) },
  { additionalProperties: true, title: 'TestMailInput' },
)
