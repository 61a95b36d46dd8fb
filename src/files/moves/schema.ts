import { type Static, Type } from 'typebox'
import { movable } from './store.ts'

export const MoveInput = Type.Object(
  {
    to: Type.String({ maxLength: 100, description: 'The name of the other location. It can be written to.' }),
    contents: Type.Optional(
      Type.Enum([...movable], {
        description:
          'What was uploaded (`originals`), what was made of that (`versions`), or both; both when not said.',
      }),
    ),
  },
  { additionalProperties: true, title: 'MoveInput' },
)
export type MoveInput = Static<typeof MoveInput>

const Name = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const LocationMove = Type.Object(
  {
    id: Type.Integer(),
    from: Name('Its name; null when it is gone.'),
    to: Name('Its name; null when it is gone.'),
    contents: Type.Enum([...movable]),
    status: Type.Enum(['running', 'done', 'stopped', 'failed']),
    error: Type.String({ description: 'Why it failed, or what keeps it from going on at the moment; else empty.' }),
    percent_done: Type.Integer({ description: 'Of the bytes.' }),
    total: Type.Integer({ description: 'Contents that there were when it began.' }),
    total_size: Type.Integer({ description: 'Their bytes.' }),
    moved: Type.Integer(),
    moved_size: Type.Integer(),
    failed: Type.Integer({ description: 'Contents that are missing or damaged where they lie, and stay there.' }),
    started_at: Type.String({ format: 'date-time' }),
    finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { title: 'LocationMove' },
)
export type LocationMove = Static<typeof LocationMove>
