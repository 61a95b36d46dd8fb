import { type Static, Type } from 'typebox'
import { logLevels, taskStatuses } from './model.ts'

const open = { additionalProperties: true } as const
const nullable = <const T extends Type.TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Moment = Type.Union([Type.String(), Type.Null()])

/** Both spellings are accepted; the long one is answered. */
export const longWeekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const
export const shortWeekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const numbers = (minimum: number, maximum: number) =>
  nullable(Type.Array(Type.Integer({ minimum, maximum }), { maxItems: 100 }))

const ScheduleInput = Type.Object(
  {
    days_of_month: numbers(1, 31),
    weekdays: nullable(Type.Array(Type.Enum([...longWeekdays, ...shortWeekdays]), { maxItems: 100 })),
    hours: numbers(0, 23),
    minutes: numbers(0, 59),
    timezone: nullable(Type.String({ maxLength: 100, description: 'IANA name; UTC when absent.' })),
  },
  { ...open, title: 'TaskSchedule', description: 'Moments that fit every list that is not empty.' },
)

const RecipientInput = Type.Object(
  {
    email: Type.String({ maxLength: 320 }),
    problems_only: Type.Optional(Type.Boolean({ description: 'Only of runs that did not end as `done`.' })),
  },
  { ...open, title: 'TaskRecipient' },
)

const AnyObject = Type.Object({}, open)

export const TaskInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('task')),
    task: Type.Object(
      {
        _id: nullable(Id),
        _version: nullable(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
        task_module: Type.Optional(
          Type.String({ minLength: 1, maxLength: 100, description: 'See `GET /task/modules`.' }),
        ),
        task_params: Type.Optional(Type.Object({}, { ...open, description: 'Parameters of the module.' })),
        task_timeout_sec: nullable(Type.Integer({ minimum: 0, maximum: 31_536_000, description: '0: none.' })),
        description: nullable(Type.String({ maxLength: 10_000 })),
        next_run_at: Type.Optional(
          Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
            description: 'When it runs next; at once where that is over. Null: by its schedules, or not by itself.',
          }),
        ),
        frontend_prefs: nullable(AnyObject),
        email: nullable(
          Type.Object(
            { recipients: nullable(Type.Array(RecipientInput, { maxItems: 20 })) },
            { ...open, title: 'TaskEmail' },
          ),
        ),
        schedules: nullable(Type.Array(ScheduleInput, { maxItems: 50 })),
      },
      open,
    ),
  },
  { ...open, title: 'TaskInput', description: 'A task to create or to change.' },
)
export type TaskInput = Static<typeof TaskInput>

export const TaskParams = Type.Object({ taskId: Type.Integer({ ...Id, description: 'Id of the task.' }) })

export const SaveTaskQuery = Type.Object({
  confirm: Type.Optional(
    Type.Literal('yes', { description: 'The preview of the task was seen; without it the answer may be one (202).' }),
  ),
})

const offset = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, default: 0, description: 'How many to leave out.' })

export const TaskPage = Type.Object({
  offset,
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Most tasks.' }),
})
export const LogPage = Type.Object({
  offset,
  limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 100, description: 'Most lines.' }),
})

export const TaskRecord = Type.Object(
  {
    _basetype: Type.Literal('task'),
    created_at: Type.String(),
    updated_at: Type.String(),
    task: Type.Object({
      _id: Id,
      _version: Type.Integer(),
      task_module: Type.String(),
      task_params: AnyObject,
      task_timeout_sec: Type.Integer(),
      description: Type.String(),
      next_run_at: Moment,
      frontend_prefs: AnyObject,
      email: Type.Object({
        recipients: Type.Array(Type.Object({ email: Type.String(), problems_only: Type.Boolean() })),
      }),
      schedules: Type.Array(
        Type.Object({
          days_of_month: Type.Array(Type.Integer()),
          weekdays: Type.Array(Type.Enum([...longWeekdays])),
          hours: Type.Array(Type.Integer()),
          minutes: Type.Array(Type.Integer()),
          timezone: Type.String(),
        }),
      ),
      state: Type.Object({}, { ...open, description: 'How far the latest run is, in numbers of objects.' }),
      status: Type.Enum([...taskStatuses]),
      status_percent: Type.Union([Type.Integer(), Type.Null()]),
      status_msg: Type.String(),
      run_started_at: Moment,
      run_canceled_at: Moment,
      run_finished_at: Moment,
    }),
    _user: Type.Object({ _id: Id, _version: Type.Integer(), _generated_displayname: Type.String() }),
  },
  { title: 'TaskRecord' },
)
export type TaskRecord = Static<typeof TaskRecord>

export const TaskRecords = Type.Object(
  { limit: Type.Integer(), offset: Type.Integer(), count: Type.Integer(), objects: Type.Array(TaskRecord) },
  { title: 'TaskRecords' },
)
export type TaskRecords = Static<typeof TaskRecords>

export const TaskLog = Type.Array(
  Type.Object(
    {
      idx: Type.Integer(),
      timestamp: Type.String(),
      level: Type.Enum([...logLevels]),
      msg: Type.String(),
      status_percent: Type.Union([Type.Integer(), Type.Null()]),
    },
    { title: 'TaskLogLine' },
  ),
)
export type TaskLog = Static<typeof TaskLog>

const Texts = Type.Object({ 'de-DE': Type.String(), 'en-US': Type.String() })

export const TaskModules = Type.Object(
  {
    modules: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          displayname: Texts,
          description: Texts,
          debug: Type.Boolean(),
          params: Type.Array(
            Type.Object({
              name: Type.String(),
              group: Type.String(),
              parameters: Type.Object(
                {},
                { ...open, description: 'Each parameter by its name, in the form of those of the base configuration.' },
              ),
              require_system_right: Type.String(),
              unauthenticated_visible: Type.Boolean(),
              unavailable: Type.Boolean(),
            }),
          ),
        },
        { title: 'TaskModule' },
      ),
    ),
  },
  { title: 'TaskModules' },
)
export type TaskModules = Static<typeof TaskModules>
