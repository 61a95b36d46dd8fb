import type { NeededRight } from '../platform/http/system-right.ts'
import type { Schedule } from '../platform/values/schedule.ts'

export const taskStatuses = ['new', 'running', 'done', 'canceled', 'error'] as const
export type TaskStatus = (typeof taskStatuses)[number]

export const logLevels = ['debug', 'info', 'warning', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Recipient {
  readonly email: string
  readonly problems_only: boolean
}

/** The progress of a run. */
export interface TaskState {
  /** Number of objects to look at, as far as it is known. */
  readonly total?: number
  /** Number of objects that were looked at. */
  readonly done?: number
  /** Number of objects that were changed; in a dry run, that would be changed. */
  readonly changed?: number
  /** Number of objects that could not be changed. */
  readonly failed?: number
  /** Objects up to this system object id have been looked at. */
  readonly after?: number
  /** Objects with a higher system object id were created after the run had begun. */
  readonly upTo?: number
  /** The current part of the work, where there are several. */
  readonly step?: string
  /** For incremental tasks: changes until this time were processed, in microseconds since 1970. */
  readonly since?: number | null
  /** The window of changes of this run, and its current position in it. */
  readonly until?: number
  readonly at?: number
}

/** A task as its user defines it. */
export interface TaskDraft {
  readonly module: string
  readonly params: Readonly<Record<string, unknown>>
  readonly timeoutSec: number
  readonly description: string
  readonly nextRunAt: Date | null
  readonly frontendPrefs: Readonly<Record<string, unknown>>
  readonly recipients: readonly Recipient[]
  readonly schedules: readonly Schedule[]
}

export interface StoredTask extends TaskDraft {
  readonly id: number
  readonly version: number
  readonly userId: number
  /** The version of the creator's record. */
  readonly userVersion: number
  readonly state: TaskState
  readonly status: TaskStatus
  readonly statusPercent: number | null
  readonly statusMsg: string
  readonly runStartedAt: Date | null
  readonly runCanceledAt: Date | null
  readonly runFinishedAt: Date | null
  readonly run: number
  readonly worker: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface LogLine {
  readonly level: LogLevel
  readonly msg: string
}

export const manageTasks: NeededRight = { name: 'system.task' }
