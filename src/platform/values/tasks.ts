import { type Static, Type } from 'typebox'

/**
 * The body of every 202: the decisions that are needed before a request is carried out. `name` and `value` of a button or of a
 * chosen option are the query parameter to add when the same request is sent again (decision 8).
 */
export const Task = Type.Object(
  {
    title: Type.String(),
    message: Type.String(),
    form: Type.Optional(
      Type.Array(
        Type.Object({
          label: Type.String(),
          type: Type.String(),
          name: Type.String(),
          options: Type.Array(Type.Object({ text: Type.String(), value: Type.String(), disabled: Type.Boolean() })),
          horizontal: Type.Boolean(),
        }),
      ),
    ),
    buttons: Type.Array(
      Type.Object({
        text: Type.String(),
        hidden: Type.Optional(Type.Boolean()),
        name: Type.Optional(Type.String()),
        value: Type.Optional(Type.String()),
      }),
    ),
    data: Type.Optional(
      Type.Object(
        {},
        { additionalProperties: true, description: 'The same for programs, where there is such a form.' },
      ),
    ),
  },
  { title: 'Task' },
)
export type Task = Static<typeof Task>

export const TaskList = Type.Object({ tasks: Type.Array(Task) }, { title: 'TaskList' })
export type TaskList = Static<typeof TaskList>

export const Ok = Type.Object({ status: Type.Literal('ok') }, { title: 'Ok' })

/** The answer of a route without a result. */
export const Acknowledged = Type.Object(
  { status: Type.Object({ acknowledged: Type.Literal('ok') }) },
  { title: 'Acknowledged' },
)

/** The button that changes nothing: it names no parameter. */
export const cancelButton = { text: 'Cancel' } as const

/**
 * One task for each text, to be shown one after the other; the button of the last one carries the parameter, so that a user who
 * reaches it has seen all of them.
 */
export function confirmTasks(series: {
  title: string
  messages: readonly string[]
  name: string
  value: string
}): Task[] {
  const { title, messages, name, value } = series
  return messages.map((message, index) =>
    index === messages.length - 1
      ? confirmTask({ title, message, name, value })
      : { title, message, buttons: [{ text: 'Continue' }, cancelButton] },
  )
}

/** A task that is answered with yes: one button adds `name=value`, the other cancels. */
export function confirmTask(task: { title: string; message: string; name: string; value: string }): Task {
  const { title, message, name, value } = task
  return { title, message, buttons: [{ text: 'Continue', name, value }, cancelButton] }
}
