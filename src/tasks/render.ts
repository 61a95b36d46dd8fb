import type { StoredTask } from './model.ts'
import type { TaskModule } from './modules/model.ts'
import { longWeekdays, shortWeekdays, type TaskLog, type TaskModules, type TaskRecord } from './schema.ts'
import type { LogEntry } from './store.ts'

const moment = (at: Date | null): string | null => at?.toISOString() ?? null

export function renderTask(task: StoredTask, creator: string): TaskRecord {
  return {
    _basetype: 'task',
    created_at: task.createdAt.toISOString(),
    updated_at: task.updatedAt.toISOString(),
    task: {
      _id: task.id,
      _version: task.version,
      task_module: task.module,
      task_params: task.params,
      task_timeout_sec: task.timeoutSec,
      description: task.description,
      next_run_at: moment(task.nextRunAt),
      frontend_prefs: task.frontendPrefs,
      email: { recipients: task.recipients.map((recipient) => ({ ...recipient })) },
      schedules: task.schedules.map((schedule) => ({
        days_of_month: [...(schedule.days_of_month ?? [])],
        weekdays: (schedule.weekdays ?? []).flatMap((day) => longWeekdays[shortWeekdays.indexOf(day)] ?? []),
        hours: [...(schedule.hours ?? [])],
        minutes: [...(schedule.minutes ?? [])],
        timezone: schedule.timezone ?? '',
      })),
      state: task.state,
      status: task.status,
      status_percent: task.statusPercent,
      status_msg: task.statusMsg,
      run_started_at: moment(task.runStartedAt),
      run_canceled_at: moment(task.runCanceledAt),
      run_finished_at: moment(task.runFinishedAt),
    },
    _user: {
      _id: task.userId,
      _version: task.userVersion,
      _generated_displayname: creator,
    },
  }
}

export function renderLog(entries: readonly LogEntry[]): TaskLog {
  return entries.map(({ idx, at, level, msg, percent }) => ({
    idx,
    timestamp: at.toISOString(),
    level,
    msg,
    status_percent: percent,
  }))
}

export function renderModules(modules: readonly TaskModule[]): TaskModules {
  return {
    modules: modules.map(({ name, displayname, description, params }) => ({
      name,
      displayname,
      description,
      debug: false,
      params: [
        {
          name: 'task_params',
          group: name,
          parameters: Object.fromEntries(
            params.map(({ name: param, ...described }, position) => [param, { position, ...described }]),
          ),
          require_system_right: '',
          unauthenticated_visible: false,
          unavailable: false,
        },
      ],
    })),
  }
}
