import { badRequest } from '../platform/errors.ts'
import { mailboxOf } from '../platform/values/mailbox.ts'
import { parseMoment } from '../platform/values/moments.ts'
import { isTimeZone, nextOfAll, type Schedule, type Weekday } from '../platform/values/schedule.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { Recipient, StoredTask, TaskDraft } from './model.ts'
import { longWeekdays, shortWeekdays, type TaskInput } from './schema.ts'

type Said = TaskInput['task']

/** Maximum number of characters of the JSON. */
const longestParams = 200_000
const longestPrefs = 100_000

/** Applies the input to the stored task; null: a new one. @throws {AppError} naming the mistake */
export function draftTask({ task }: TaskInput, stored: StoredTask | null, now: Date): TaskDraft {
  assertStorable(task, 'task')
  assertShort(task.task_params, 'task_params', longestParams)
  assertShort(task.frontend_prefs, 'frontend_prefs', longestPrefs)
  const schedules = task.schedules === undefined ? (stored?.schedules ?? []) : (task.schedules ?? []).map(scheduleOf)
  return {
    module: moduleOf(task, stored),
    params: (task.task_params as TaskDraft['params']) ?? stored?.params ?? {},
    timeoutSec: task.task_timeout_sec === undefined ? (stored?.timeoutSec ?? 0) : (task.task_timeout_sec ?? 0),
    description: task.description === undefined ? (stored?.description ?? '') : (task.description ?? ''),
    nextRunAt: nextRun(task, stored, schedules, now),
    frontendPrefs:
      task.frontend_prefs === undefined
        ? (stored?.frontendPrefs ?? {})
        : ((task.frontend_prefs ?? {}) as TaskDraft['params']),
    recipients: task.email === undefined ? (stored?.recipients ?? []) : recipientsOf(task.email),
    schedules,
  }
}

function assertShort(value: unknown, name: string, most: number): void {
  if (value === undefined || value === null || JSON.stringify(value).length <= most) return
  throw badRequest(`task.${name} has more than ${most} characters.`, { name: `task.${name}`, most })
}

function moduleOf({ task_module: said }: Said, stored: StoredTask | null): string {
  if (stored === null) {
    if (said === undefined) throw badRequest('task.task_module is missing.', { name: 'task.task_module' })
    return said
  }
  if (said === undefined || said === stored.module) return stored.module
  throw badRequest('task.task_module cannot change: make another task.', { name: 'task.task_module' })
}

/** Without `next_run_at` a task with schedules runs at their times; stored values are kept where the input has none. */
function nextRun(
  { next_run_at: said, schedules: sent }: Said,
  stored: StoredTask | null,
  schedules: readonly Schedule[],
  now: Date,
) {
  if (typeof said === 'string' && said !== '') return momentOf(said)
  if (said === undefined && sent === undefined && stored) return stored.nextRunAt
  return nextOfAll(schedules, now)
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/

function momentOf(text: string): Date {
  const at = moment.test(text) ? parseMoment(text) : null
  if (at && at.getTime() >= 0) return at
  const name = 'task.next_run_at'
  throw badRequest(`${name} must be a moment with its time zone, such as 2030-01-31T08:00:00Z.`, { name })
}

function recipientsOf(email: Said['email']): Recipient[] {
  return (email?.recipients ?? []).map(({ email: text, problems_only: problemsOnly = false }, index) => {
    const name = `task.email.recipients[${index}].email`
    const mailbox = mailboxOf(text)
    if (mailbox === null) throw badRequest(`${name} is no mail address.`, { name })
    return { email: mailbox, problems_only: problemsOnly }
  })
}

function scheduleOf(said: NonNullable<Said['schedules']>[number], index: number): Schedule {
  const { days_of_month: days, weekdays, hours, minutes, timezone } = said
  const name = `task.schedules[${index}]`
  if (timezone && !isTimeZone(timezone)) {
    throw badRequest(`${name}.timezone is no time zone.`, { name: `${name}.timezone` })
  }
  const schedule: Schedule = {
    days_of_month: unique(days),
    weekdays: [...new Set((weekdays ?? []).map(shortName))],
    hours: unique(hours),
    minutes: unique(minutes),
    timezone: timezone ?? '',
  }
  const saysNothing = [days, weekdays, hours, minutes].every((list) => (list ?? []).length === 0)
  if (saysNothing) throw badRequest(`${name} names no moment.`, { name })
  return schedule
}

const unique = (list: readonly number[] | null | undefined): number[] => [...new Set(list)].sort((a, b) => a - b)

function shortName(day: string): Weekday {
  const index = (longWeekdays as readonly string[]).indexOf(day)
  return index === -1 ? (day as Weekday) : (shortWeekdays[index] as Weekday)
}
