import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { Acknowledged, TaskList } from '../platform/values/tasks.ts'
import {
  LogPage,
  SaveTaskQuery,
  TaskInput,
  TaskLog,
  TaskModules,
  TaskPage,
  TaskParams,
  TaskRecord,
  TaskRecords,
} from './schema.ts'
import { manageTasks, type TaskService } from './service.ts'

const tags = ['task']
const common = { access: 'user', systemRight: manageTasks } as const
/** Errors of modules about their parameters. */
const ofParams = [
  'AnswerTooLarge',
  'ConsolidateTargetLinksSources',
  'ModuleUnknown',
  'ObjectNotFound',
  'ReindexInProgress',
  'TagNotFound',
  'UnknownObjecttype',
] as const

export function registerTaskRoutes(http: HttpApp, { tasks }: { readonly tasks: TaskService }): void {
  http.get(
    '/api/v1/task',
    {
      schema: {
        tags,
        operationId: 'listTasks',
        summary: 'Own tasks',
        description: 'By id; root gets those of everybody.',
        querystring: TaskPage,
        response: { 200: TaskRecords },
      },
      config: { ...common, writes: false },
    },
    (request) => tasks.list(actorOf(request), request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    http.route({
      method,
      url: '/api/v1/task',
      schema: {
        tags,
        operationId: method === 'POST' ? 'createTask' : 'putTask',
        summary: 'Create a task',
        description:
          'It runs with the rights that the caller has at that moment. One that would change objects is answered with a preview (202) ' +
          'first; the same request with `confirm=yes` stores it.',
        querystring: SaveTaskQuery,
        body: TaskInput,
        response: { 200: TaskRecord, 202: TaskList },
      },
      config: { ...common, writes: true, errors: [...ofParams] },
      handler: async (request, reply) => {
        const { query, body, deadline } = request
        const result = await tasks.create(actorOf(request), body, { confirmed: query.confirm === 'yes', deadline })
        if (result.kind === 'confirm') return reply.status(202).send(result.preview)
        return reply.send(result.task)
      },
    })
  }

  http.get(
    '/api/v1/task/modules',
    {
      schema: {
        tags,
        operationId: 'listTaskModules',
        summary: 'Kinds of tasks',
        description: 'With their parameters.',
        response: { 200: TaskModules },
      },
      config: { ...common, writes: false },
    },
    () => tasks.modules(),
  )

  http.get(
    '/api/v1/task/:taskId',
    {
      schema: {
        tags,
        operationId: 'getTask',
        summary: 'One task',
        description: 'An own one; root reads those of everybody.',
        params: TaskParams,
        response: { 200: TaskRecord },
      },
      config: { ...common, writes: false, errors: ['ResourceNotFound'] },
    },
    (request) => tasks.read(actorOf(request), request.params.taskId),
  )

  http.patch(
    '/api/v1/task/:taskId',
    {
      schema: {
        tags,
        operationId: 'changeTask',
        summary: 'Change a task',
        description: 'What is absent stays. Its module cannot change, and nothing of it while it is running.',
        params: TaskParams,
        body: TaskInput,
        response: { 200: TaskRecord },
      },
      config: { ...common, writes: true, errors: [...ofParams, 'InsufficientRights', 'VersionMismatch'] },
    },
    (request) => tasks.update(actorOf(request), request.params.taskId, request.body),
  )

  http.delete(
    '/api/v1/task/:taskId',
    {
      schema: {
        tags,
        operationId: 'deleteTask',
        summary: 'Delete a task',
        description: 'With its log. One that is running is canceled first.',
        params: TaskParams,
        response: { 200: Acknowledged },
      },
      config: { ...common, writes: true, errors: ['InsufficientRights', 'ObjectNotFound'] },
    },
    async (request) => {
      await tasks.remove(actorOf(request), request.params.taskId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  http.post(
    '/api/v1/task/:taskId/cancel',
    {
      schema: {
        tags,
        operationId: 'cancelTask',
        summary: 'Cancel a run',
        description: 'What it has changed stays; the batch that it is just changing is rolled back.',
        params: TaskParams,
        response: { 200: Acknowledged },
      },
      config: { ...common, writes: true, errors: ['InsufficientRights', 'ObjectNotFound'] },
    },
    async (request) => {
      await tasks.cancel(actorOf(request), request.params.taskId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  http.get(
    '/api/v1/task/:taskId/log',
    {
      schema: {
        tags,
        operationId: 'getTaskLog',
        summary: 'Log of the latest run',
        description: 'Its lines in order, from 0.',
        params: TaskParams,
        querystring: LogPage,
        response: { 200: TaskLog },
      },
      config: { ...common, writes: false, errors: ['InsufficientRights', 'ObjectNotFound'] },
    },
    (request) => tasks.log(actorOf(request), request.params.taskId, request.query),
  )
}
