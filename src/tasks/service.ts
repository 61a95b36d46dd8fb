/**
 * Tasks: work of the service on many objects, defined by users, run at once, at a given time or repeatedly. A *module* is a kind of
 * task; a *run* is one execution of a task, in batches: each is stored together with the progress of the run, so that any process
 * can continue where another one has stopped. See docs/tasks.md.
 */
import { openKeys } from '../jobs/service.ts'
import type { Actor } from '../platform/actor.ts'
import { assertVersion, type ConventionOf } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { requireRight } from '../platform/http/system-right.ts'
import { quotaExceeded } from '../platform/limits/callers.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { confirmTask, type TaskList } from '../platform/values/tasks.ts'
import { draftTask } from './draft.ts'
import { manageTasks, type StoredTask } from './model.ts'
import type { TaskModule } from './modules/model.ts'
import { renderLog, renderModules, renderTask } from './render.ts'
import { createRuns, enqueueRuns, keyOf, type RunDeps } from './run.ts'
import type { TaskInput, TaskLog, TaskRecord, TaskRecords } from './schema.ts'
import * as store from './store.ts'

export { manageTasks } from './model.ts'
export { createTaskModules, type TaskModuleDeps } from './modules.ts'

export interface TaskDeps extends RunDeps {
  readonly conventionOf: ConventionOf
  /** Names of users. */
  readonly names: (
    from: Queryable,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, { readonly displayname: string }>>
  /** Maximum number of tasks of one user. */
  readonly most: number
}

export type TaskService = ReturnType<typeof createTaskService>

/** The tasks, of those given, that a caller may read, for any number of callers. */
export async function readableTasks(
  db: Queryable,
  ids: readonly number[],
): Promise<(actor: Actor) => ReadonlySet<number>> {
  const owners = await store.ownersOf(db, ids)
  return (actor) => new Set(owners.filter(({ userId }) => actor.isRoot || userId === actor.userId).map(({ id }) => id))
}

export function createTaskService(deps: TaskDeps) {
  const { db, jobs, events, modules, conventionOf, names, clock, most } = deps
  const runs = createRuns(deps)

  const moduleOf = (name: string): TaskModule => {
    const found = modules.get(name)
    if (found) return found
    throw new AppError('ModuleUnknown', { name })
  }

  async function render(tasks: readonly StoredTask[]): Promise<TaskRecord[]> {
    const known = await names(db, [...new Set(tasks.map(({ userId }) => userId))])
    return tasks.map((task) => renderTask(task, known.get(task.userId)?.displayname ?? ''))
  }

  /** @throws {AppError} `ObjectNotFound`, or `InsufficientRights` for the task of another user. */
  function assertOwn(actor: Actor, id: number, task: StoredTask | null): asserts task is StoredTask {
    if (!task) throw new AppError('ObjectNotFound', { object: `task ${id}` })
    if (!actor.isRoot && task.userId !== actor.userId) throw new AppError('InsufficientRights', { task: id })
  }

  function assertIdle({ id, status }: StoredTask): void {
    if (status === 'running') throw badRequest(`Task ${id} is running: cancel it first.`, { task: id, status })
  }

  async function asked(module: TaskModule, actor: Actor, params: StoredTask['params'], deadline: Deadline) {
    await module.check(actor, params, { confirmed: false })
    const preview = await module.preview(actor, params, deadline)
    if (!preview) return null
    const task = confirmTask({
      title: module.displayname['en-US'],
      message: preview.message,
      name: 'confirm',
      value: 'yes',
    })
    return { tasks: [{ ...task, data: preview.data }] } satisfies TaskList
  }

  async function tell(tx: Tx, type: 'TASK_INSERT' | 'TASK_UPDATE' | 'TASK_DELETE', actor: Actor, task: StoredTask) {
    const info = type === 'TASK_DELETE' ? undefined : { module: task.module, description: task.description }
    const about = { basetype: 'task', objectId: task.id, objectVersion: task.version }
    await events.append(tx, [{ type, actor, ...about, ...(info && { info }) }])
  }

  return {
    modules: () => renderModules([...modules.values()]),

    /** A page of the caller's tasks; root gets all. */
    async list(actor: Actor, page: { readonly limit: number; readonly offset: number }): Promise<TaskRecords> {
      requireRight(actor, manageTasks)
      const { tasks, count } = await store.listTasks(db, actor.isRoot ? null : actor.userId, page)
      return { ...page, count, objects: await render(tasks) }
    },

    /** @throws {AppError} `ResourceNotFound` when there is none for the caller */
    async read(actor: Actor, id: number): Promise<TaskRecord> {
      requireRight(actor, manageTasks)
      const task = await store.findTask(db, id)
      if (!task || !(actor.isRoot || task.userId === actor.userId)) throw new AppError('ResourceNotFound', { task: id })
      return (await render([task]))[0] as TaskRecord
    },

    /**
     * Creates a task. A task that would change objects is answered with a preview until it is confirmed: it is not stored then.
     * @throws {AppError} `ModuleUnknown`, and the errors of the module about its parameters
     */
    async create(
      actor: Actor,
      input: TaskInput,
      { confirmed, deadline }: { readonly confirmed: boolean; readonly deadline: Deadline },
    ): Promise<{ kind: 'confirm'; preview: TaskList } | { kind: 'done'; task: TaskRecord }> {
      requireRight(actor, manageTasks)
      const { _id, _version: version } = input.task
      if (_id) throw badRequest('task._id: a task is changed by PATCH /task/{taskId}.', { name: 'task._id' })
      if ((version ?? 1) > 1) throw badRequest('task._version of a new task is 1.', { name: 'task._version' })
      const draft = draftTask(input, null, clock())
      const module = moduleOf(draft.module)
      const preview = confirmed ? null : await asked(module, actor, draft.params, deadline)
      if (preview) return { kind: 'confirm', preview }
      await module.check(actor, draft.params, { confirmed: true })
      const task = await db.transaction(async (tx) => {
        if ((await store.countForAdding(tx, actor.userId)) >= most) throw quotaExceeded('svc.quotas.tasks', most, 3600)
        const task = await store.insertTask(tx, actor.userId, draft)
        if (task.nextRunAt) await enqueueRuns(jobs, tx, [{ id: task.id, at: task.nextRunAt }])
        await tell(tx, 'TASK_INSERT', actor, task)
        return task
      })
      return { kind: 'done', task: (await render([task]))[0] as TaskRecord }
    },

    /**
     * Changes the sent members of a task that is not running.
     * @throws {AppError} `ObjectNotFound`, `InsufficientRights`, `VersionMismatch`
     */
    async update(actor: Actor, id: number, input: TaskInput): Promise<TaskRecord> {
      requireRight(actor, manageTasks)
      const before = await store.findTask(db, id)
      assertOwn(actor, id, before)
      if (input.task._id && input.task._id !== id)
        throw badRequest('task._id names another task.', { name: 'task._id' })
      const draft = draftTask(input, before, clock())
      await moduleOf(draft.module).check(actor, draft.params, { confirmed: true })
      const task = await db.transaction(async (tx) => {
        const stored = await store.lockTask(tx, id)
        assertOwn(actor, id, stored)
        assertIdle(stored)
        assertVersion(input.task._version, stored.version, conventionOf(actor), { name: 'task._version' })
        const task = await store.updateTask(tx, id, draftTask(input, stored, clock()))
        if (task.nextRunAt) await enqueueRuns(jobs, tx, [{ id, at: task.nextRunAt }])
        await tell(tx, 'TASK_UPDATE', actor, task)
        return task
      })
      return (await render([task]))[0] as TaskRecord
    },

    /** Deletes a task that is not running, with its log. @throws {AppError} `ObjectNotFound`, `InsufficientRights` */
    remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageTasks)
      return db.transaction(async (tx) => {
        const task = await store.lockTask(tx, id)
        assertOwn(actor, id, task)
        assertIdle(task)
        await store.deleteTask(tx, id)
        await tell(tx, 'TASK_DELETE', actor, task)
      })
    },

    /**
     * Ends a run. The current batch is rolled back; earlier changes stay.
     * @throws {AppError} `ObjectNotFound`, `InsufficientRights`
     */
    async cancel(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageTasks)
      const requireRunning = (task: StoredTask | null, run = task?.run): StoredTask => {
        assertOwn(actor, id, task)
        if (task.status === 'running' && task.run === run) return task
        throw badRequest(`Task ${id} is not running.`, { task: id, status: task.status })
      }
      const found = requireRunning(await store.findTask(db, id))
      const ended = { status: 'canceled', msg: `Canceled by ${actor.displayname}.`, actor } as const
      await runs.endRun(found, ended, async (tx) => requireRunning(await store.lockTask(tx, id), found.run))
    },

    /** @throws {AppError} `ObjectNotFound`, `InsufficientRights` */
    async log(actor: Actor, id: number, page: { readonly limit: number; readonly offset: number }): Promise<TaskLog> {
      requireRight(actor, manageTasks)
      assertOwn(actor, id, await store.findTask(db, id))
      return renderLog(await store.readLog(db, id, page))
    },

    /**
     * Enqueues interrupted and planned runs whose jobs were lost or have ended. Must be called when the jobs are ready. A run with a job
     * goes on when the job of the killed process is given back, and the attempts count on.
     */
    wake: (): Promise<void> =>
      db.transaction(async (tx) => {
        const planned = await store.findPlanned(tx)
        const open = await openKeys(tx, planned.map(keyOf))
        const lost = planned.filter((task) => !open.has(keyOf(task)))
        await enqueueRuns(jobs, tx, lost)
      }),
  }
}
