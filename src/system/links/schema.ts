import { type Static, Type } from 'typebox'

const open = { additionalProperties: true } as const
// Its form has an error of its own, so the schema leaves it alone.
const Path = Type.String({ description: 'An address of this service, from its first slash on.' })
const Alias = Type.String({
  description: 'Another name beside the id: 3 to 100 letters, digits, `-`, `_`, `~` and `.`.',
})
const Moment = Type.String({ format: 'date-time' })

/** What is wrong with path, alias and end has codes of its own: they are checked by the service. */
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
