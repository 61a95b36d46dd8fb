import type { Actor } from '../../platform/actor.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { LogLevel, StoredTask, TaskState } from '../model.ts'
import type { Params } from '../params.ts'

/** A parameter in `GET /task/modules`, in the form of parameters of the base configuration. */
export interface DescribedParam {
  readonly name: string
  readonly type: 'bool' | 'int' | 'int-list' | 'json' | 'select' | 'tag-select'
  readonly default?: unknown
  readonly options?: readonly string[]
}

/** The effect of a task, before it is saved. */
export interface Preview {
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A run, for a module that works in it. */
export interface Run {
  readonly task: StoredTask
  /** The progress: as last stored, with later notes. */
  state: TaskState
  readonly signal: AbortSignal
  /** The creator with their current rights. @throws when the creator may no longer run tasks. */
  actor(): Promise<Actor>
  log(level: LogLevel, msg: string): void
  /** Stores the progress of the run, and its log. @throws when the run has ended, for example because it was canceled. */
  note(progress?: TaskState): Promise<void>
  /** The same in the transaction of a change of `count` objects. */
  changed(tx: Tx, count: number): Promise<void>
  /** Counts objects of a stored change, or of a dry run. */
  count(changed: number): void
  /** @throws when the run has ended or its time is over */
  check(): Promise<void>
  /** The size of the next batch: it waits for open saves of users, and is small while users save. */
  nextBatch(): Promise<number>
  /** Whether the job goes on in another one, so that others have their turn. */
  isLong(): boolean
}

export interface TaskModule {
  readonly name: string
  readonly displayname: { readonly 'de-DE': string; readonly 'en-US': string }
  readonly description: { readonly 'de-DE': string; readonly 'en-US': string }
  readonly params: readonly DescribedParam[]
  /** Checks the sent parameters; `confirmed`: they are about to be stored. @throws {AppError} */
  check(actor: Actor, params: Params, options: { readonly confirmed: boolean }): Promise<void>
  /** The changes that a run would make now; null: none. It stores nothing. */
  preview(actor: Actor, params: Params, deadline: Deadline): Promise<Preview | null>
  /** Continues from the current state: `done` with the final message of the task, or `later`. */
  work(run: Run): Promise<{ readonly done: string } | 'later'>
}
