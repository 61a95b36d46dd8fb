import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const
// An invalid form has a specific error, so the schema does not check it.
const Path = Type.String({ description: 'An address of this service, from its first slash on.' })
const Alias = Type.String({
  description: 'Another name beside the id: 3 to 100 letters, digits, `-`, `_`, `~` and `.`.',
})
const Moment = Type.String({ format: 'date-time' })

/** Errors of path, alias and end have specific codes: they are checked by the service. */
export const ShareLinkInput = Type.Object(
  {
    path: Path,
    expires_at: Type.Optional(
      Type.Union([Moment, Type.Null()], {
        description: 'In 90 days where nothing is said; in ten years at the latest.',
      }),
    ),
    alias: Type.Optional(Type.Union([Alias, Type.Null()])),
  },
  { ...open, title: 'ShareLinkInput' },
)
export type ShareLinkInput = Static<typeof ShareLinkInput>

export const ShareLinkOutput = Type.Object(
  {
    share_id: Type.String({ pattern: '^[a-zA-Z0-9]+$' }),
    path: Path,
    alias: Type.Optional(Alias),
    created_at: Moment,
    expires_at: Moment,
  },
  { title: 'ShareLink' },
)
export type ShareLinkOutput = Static<typeof ShareLinkOutput>

export const ShareLinkParams = Type.Object({
  id: Type.String({ maxLength: 100, description: 'The id of the link, or its alias.' }),
})

export const ShareLinkPage = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: '1000 where nothing is said.' })),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000_000, description: 'How many to leave out at the beginning.' }),
    ),
  },
  open,
)
