import websocket from '@fastify/websocket'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../../platform/errors.ts'
import type { HttpApp } from '../../platform/http/http.ts'
import { callerOf } from '../../platform/limits/callers.ts'
import { maxId } from '../schema.ts'
import { createListener, type HeldToken } from './listener.ts'
import type { EventStreams } from './service.ts'

/** The longest message in bytes that a client may send. It is dropped; a longer one ends the connection. */
const maxPayload = 65_536

const StreamQuery = Type.Object(
  {
    from: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxId,
        description: 'Begin with the events that have a greater id; without it with new events.',
      }),
    ),
  },
  { additionalProperties: true },
)

export interface StreamRoutesOptions {
  readonly streams: EventStreams
  /** The part of the request's token that is kept, to look up the caller later. */
  readonly held: (request: FastifyRequest) => HeldToken | null
}

/** The stream of events under `/api/v1/event/stream`. */
export async function registerEventStream(app: HttpApp, { streams, held }: StreamRoutesOptions): Promise<void> {
  /**
   * The start positions. They are read before the connection becomes a stream: between then and its first event listeners the code
   * must not wait.
   */
  const begins = new WeakMap<FastifyRequest, number>()

  // In a scope of its own, because the plugin wraps all routes of its scope.
  await app.register(async (root) => {
    const scope = root as unknown as HttpApp
    await scope.register(websocket, {
      options: { maxPayload },
      preClose: (done) => {
        streams.close().then(() => done(), done)
      },
      // Connections break; clients reconnect.
      errorHandler: (_error, socket) => socket.terminate(),
    })
    // A refusal is an answer on a connection that HTTP no longer reads from, so it must be closed.
    scope.addHook('onResponse', async ({ raw }) => {
      if (raw.headers.upgrade !== undefined) raw.socket.destroySoon()
    })
    scope.route({
      method: 'GET',
      url: '/api/v1/event/stream',
      schema: {
        operationId: 'streamEvents',
        summary: 'New events as they happen, over a WebSocket',
        description:
          'Each pollable event that the caller may know of is one text frame with the JSON that a poll answers, in the ' +
          'order of the ids. Messages of clients are dropped. It ends with the token (1008), when the client takes too ' +
          'little or others need its place (1013) and when the service stops (1001); go on `from` the last id.',
        tags: ['event'],
        querystring: StreamQuery,
        response: { 101: { description: 'From now on a WebSocket.' } },
      },
      config: {
        access: 'user',
        writes: false,
        errors: ['UpgradeRequired'],
        neverKept: 'a stream has no end',
      },
      preHandler: async (request) => {
        if (!request.ws) return
        streams.admit(callerOf(request.actor, request.ip))
        begins.set(request, (request.query as { from?: number }).from ?? (await streams.now()))
      },
      handler: (_request, reply) => {
        reply.header('Upgrade', 'websocket').header('Connection', 'Upgrade')
        throw new AppError('UpgradeRequired')
      },
      wsHandler: (socket, request) => {
        const [caller, from] = [held(request), begins.get(request)]
        if (caller === null || from === undefined) throw new AppError('UserRequired')
        const who = callerOf(request.actor, request.ip)
        const listener = createListener(socket, { caller, who, from }, () => streams.remove(listener))
        streams.add(listener)
      },
    })
  })
}
