import type { Actor } from '../../platform/actor.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import type { LogLevel, StoredTask, TaskState } from '../model.ts'
import type { Params } from '../params.ts'

/** A parameter as `GET /task/modules` describes it, in the form of parameters of the base configuration. */
export interface DescribedParam {
  readonly name: string
  readonly type: 'bool' | 'int' | 'int-list' | 'json' | 'select' | 'tag-select'
  readonly default?: unknown
  readonly options?: readonly string[]
}

/** What a task would do, before it is saved. */
export interface Preview {
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A run, for a module that works in it. */
export interface Run {
  readonly task: StoredTask
  /** How far it is: as it was stored last, with what was noted since. */
  state: TaskState
  readonly signal: AbortSignal
  /** The creator with the rights of this moment. @throws when the creator may run no tasks any more. */
  actor(): Promise<Actor>
  log(level: LogLevel, msg: string): void
  /** Stores how far the run is, and its log. @throws when the run has ended, be it that it was canceled. */
  note(progress?: TaskState): Promise<void>
  /** The same in the transaction of a change of so many objects. */
  changed(tx: Tx, count: number): Promise<void>
  /** Counts objects of a change that is stored, or of a dry run. */
  count(changed: number): void
  /** @throws when the run has ended or its time is over */
  check(): Promise<void>
  /** How many objects the next batch is to have: it waits for saves of people, and has few while they save. */
  nextBatch(): Promise<number>
  /** Whether the job goes on in another one, so that others have their turn. */
  isLong(): boolean
}

export interface TaskModule {
  readonly name: string
  readonly displayname: { readonly 'de-DE': string; readonly 'en-US': string }
  readonly description: { readonly 'de-DE': string; readonly 'en-US': string }
  readonly params: readonly DescribedParam[]
  /** Checks parameters as they are sent; `confirmed`: they are about to be stored. @throws {AppError} */
  check(actor: Actor, params: Params, options: { readonly confirmed: boolean }): Promise<void>
  /** What a run would change now; null: it changes nothing. Nothing is stored by it. */
  preview(actor: Actor, params: Params, deadline: Deadline): Promise<Preview | null>
  /** Works on from where the state is: `done` with what the task tells in the end, or `later`. */
  work(run: Run): Promise<{ readonly done: string } | 'later'>
}
