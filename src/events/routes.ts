import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Actor } from '../platform/actor.ts'
import { badRequest } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { type Flag, isOn } from '../platform/http/query.ts'
import { outsideDeadlines } from '../platform/limits/deadline.ts'
import { Acknowledged } from '../platform/values/tasks.ts'
import { deleteEvents, readEvents } from './access.ts'
import { csvStream } from './csv.ts'
import { parseFilter, parseSort } from './filter.ts'
import {
  Background,
  DeleteQuery,
  EventIdParams,
  EventList,
  EventRecord,
  ListQuery,
  PollParams,
  PollQuery,
  PostedEvent,
  WriteQuery,
} from './schema.ts'
import type { EventPage, EventService } from './service.ts'

const tags = ['event']
const read = { access: 'user', writes: false } as const
const change = { access: 'user', writes: true } as const
const acknowledged = { status: { acknowledged: 'ok' } } as const

/** The endpoints of the event log under `/api/v1/event`. */
export function registerEventRoutes(app: HttpApp, events: EventService): void {
  app.get(
    '/api/v1/event/poll/:fromEventId',
    {
      schema: {
        operationId: 'pollEvents',
        summary: 'Pollable events after an id, ascending',
        description:
          'Answers at once, with an empty array when there is nothing new. Begin with the id that the session names.',
        tags,
        params: PollParams,
        querystring: PollQuery,
        response: { 200: Type.Array(EventRecord) },
      },
      config: read,
    },
    (request) => events.poll(actorOf(request), request.params.fromEventId, request.query.limit ?? 25),
  )

  app.get(
    '/api/v1/event/list',
    {
      schema: {
        operationId: 'listEvents',
        summary: 'List events by filter, as JSON or CSV',
        description: 'Newest first where `sort` says nothing else; filters are lists separated by commas.',
        tags,
        querystring: ListQuery,
        response: {
          200: { content: { 'application/json': { schema: EventList }, 'text/csv': { schema: Type.String() } } },
        },
      },
      config: { ...read, systemRight: readEvents },
    },
    async (request, reply) => {
      const { query } = request
      const page = { offset: query.offset ?? 0, limit: query.limit ?? 0 }
      const found = await events.list(actorOf(request), parseFilter(query), parseSort(query.sort), page)
      return query.format === 'csv'
        ? sendCsv(reply, found, query)
        : sendJson(reply, found, query.pretty === undefined || isOn(query.pretty))
    },
  )

  app.delete(
    '/api/v1/event/list',
    {
      schema: {
        operationId: 'deleteEvents',
        summary: 'Delete the events that match the filter',
        description: '**Without a filter the whole log is deleted.** A body that says something is refused.',
        tags,
        querystring: DeleteQuery,
        response: { 200: Acknowledged },
      },
      config: { ...change, systemRight: deleteEvents },
    },
    async (request) => {
      refuseBody(request.body)
      await events.removeMatching(actorOf(request), parseFilter(request.query), request.query.limit ?? 0)
      return acknowledged
    },
  )

  app.get(
    '/api/v1/event/:eventId',
    {
      schema: {
        operationId: 'getEvent',
        summary: 'One event',
        description: 'As the list shows it.',
        tags,
        params: EventIdParams,
        response: { 200: EventRecord },
      },
      config: { ...read, systemRight: readEvents, errors: ['EventNotFound'] },
    },
    (request) => events.get(actorOf(request), request.params.eventId),
  )

  app.delete(
    '/api/v1/event/:eventId',
    {
      schema: {
        operationId: 'deleteEvent',
        summary: 'Delete one event',
        description: 'No reader finds it any more.',
        tags,
        params: EventIdParams,
        response: { 200: Acknowledged },
      },
      config: { ...change, systemRight: deleteEvents, errors: ['EventNotFound'] },
    },
    async (request) => {
      await events.remove(actorOf(request), request.params.eventId)
      return acknowledged
    },
  )

  registerWrites(app, events)
}

/**
 * A filter that is sent as a body would not count, and the whole log would be deleted in its place.
 * @throws {AppError} `ServerGeneric`
 */
function refuseBody(body: unknown): void {
  const isEmpty = body === undefined || body === null || (typeof body === 'object' && Object.keys(body).length === 0)
  if (!isEmpty) throw badRequest('This endpoint takes no body: the filter stands in the query.', { name: 'body' })
}

function registerWrites(app: HttpApp, events: EventService): void {
  /** Starts the write. With `background` the answer does not wait for it, and errors are not reported (EVAPI-002). */
  async function write(
    actor: Actor,
    inputs: readonly unknown[],
    query: { background?: Flag; skip_constraints?: Flag },
    place: (index: number) => string,
  ): Promise<EventRecord[] | { background: 'ok' }> {
    const skipConstraints = isOn(query.skip_constraints)
    if (skipConstraints) events.requireSkipConstraints(actor)
    await events.admit(actor, inputs)
    const written = (): Promise<EventRecord[]> => events.write(actor, inputs, { skipConstraints, place })
    if (!isOn(query.background)) return written()
    outsideDeadlines(written).catch((error: Error) =>
      app.log.info({ err: error, user: actor.login }, 'background event not written'),
    )
    return { background: 'ok' }
  }

  app.post(
    '/api/v1/event',
    {
      schema: {
        operationId: 'createEvent',
        summary: 'Write one event',
        description:
          'Any user may write types of the groups FRONTEND and PLUGIN. Allowed in read-only mode. Of users other than root an ' +
          'event has at most `svc.quotas.eventBytes` bytes, and so many are written within an hour (`svc.quotas.events`, ' +
          '`svc.quotas.eventStorage`).',
        tags,
        querystring: WriteQuery,
        body: PostedEvent,
        response: { 200: Type.Union([EventRecord, Background]) },
      },
      // Allowed in read-only mode (EVAPI-008), so not declared as a write.
      config: {
        ...read,
        unknownQuery: 'refuse',
        errors: ['SystemRightRequired', 'EventTypeNotAllowed', 'UserNotFound'],
      },
    },
    async (request) => {
      const result = await write(actorOf(request), [request.body], request.query, () => 'body')
      return Array.isArray(result) ? (result[0] as EventRecord) : result
    },
  )

  app.post(
    '/api/v1/event/list',
    {
      schema: {
        operationId: 'createEvents',
        summary: 'Write several events, all or none',
        description: 'The rules are those of writing one event.',
        tags,
        querystring: WriteQuery,
        body: Type.Array(PostedEvent),
        response: { 200: Type.Union([Type.Array(EventRecord), Background]) },
      },
      config: { ...change, body: 'many', errors: ['SystemRightRequired', 'EventTypeNotAllowed', 'UserNotFound'] },
    },
    (request) => write(actorOf(request), request.body, request.query, (index) => `body[${index}]`),
  )
}

function sendCsv(reply: FastifyReply, page: EventPage, query: ListQuery): Promise<FastifyReply> {
  return csvStream(page.records, {
    delimiter: query.csv_delimiter ?? ',',
    quote: query.csv_quote ?? '"',
    escape: query.csv_escape ?? query.csv_quote ?? '"',
    explode: isOn(query.csv_explode),
    arrayConcat: query.csv_explode_array_concat ?? null,
    maxLength: query.csv_max_length ?? 0,
    bom: isOn(query.cvs_use_bom),
  }).then((stream) =>
    reply
      .header('Content-Type', 'text/csv; charset=utf-8')
      .header('Content-Disposition', 'attachment; filename="events.csv"')
      .send(stream),
  )
}

function sendJson(reply: FastifyReply, page: EventPage, pretty: boolean): FastifyReply {
  const stream = Readable.from(jsonText(page, pretty), { objectMode: false })
  return reply.header('Content-Type', 'application/json; charset=utf-8').send(stream)
}

/** Written piece by piece, because an unlimited list may be larger than the memory. */
async function* jsonText({ count, limit, offset, records }: EventPage, pretty: boolean): AsyncIterable<string> {
  const [line, space] = pretty ? ['\n', ' '] : ['', '']
  const indent = (level: number): string => (pretty ? `\n${'  '.repeat(level)}` : '')
  const head = { count, limit, offset }
  yield `{${Object.entries(head)
    .map(([key, value]) => `${indent(1)}"${key}":${space}${value},`)
    .join('')}${indent(1)}"objects":${space}[`
  let first = true
  let buffer = ''
  for await (const record of records()) {
    const text = pretty ? JSON.stringify(record, null, 2).replaceAll('\n', indent(2)) : JSON.stringify(record)
    buffer += `${first ? '' : ','}${indent(2)}${text}`
    first = false
    if (buffer.length > 65_536) {
      yield buffer
      buffer = ''
    }
  }
  yield `${buffer}${first ? '' : indent(1)}]${line}}`
}
