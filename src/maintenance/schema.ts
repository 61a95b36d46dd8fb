import { type Static, Type } from 'typebox'
import { WhoApi } from '../rights/schema.ts'

const open = { additionalProperties: true } as const

export const BackupOpts = Type.Object(
  {
    format: Type.String({
      maxLength: 100,
      description:
        '`native`: the archive of `strongroom backup`. `postgres`: all rows as SQL for `psql`, gzipped, without contents of files. `pg_dump`: what that program makes for `pg_restore`, where it is found.',
    }),
    include_events: Type.Optional(Type.Boolean({ description: 'The event log, too; true when not said.' })),
  },
  { ...open, title: 'BackupOpts' },
)
export type BackupOpts = Static<typeof BackupOpts>

export const BackupParams = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the backup.' }),
})

export const Backup = Type.Object(
  {
    id: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    finished_at: Type.Optional(Type.String({ format: 'date-time' })),
    create_user: Type.Optional(WhoApi),
    status: Type.Enum(['running', 'done', 'error']),
    stats: Type.Optional(
      Type.Object(
        { filesize: Type.Integer(), mimetype: Type.String(), filename: Type.String() },
        { title: 'BackupStats' },
      ),
    ),
    opts: Type.Object({ format: Type.String(), include_events: Type.Boolean() }),
    log: Type.Array(Type.Object({ created_at: Type.String({ format: 'date-time' }), msg: Type.String() })),
  },
  { title: 'Backup' },
)
export type Backup = Static<typeof Backup>
