import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { manageLocations } from '../locations/service.ts'
import { LocationMove, MoveInput } from './schema.ts'
import type { Moves } from './service.ts'

const Id = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })
const Params = Type.Object({ id: Id('Id of the location.') })
const MoveParams = Type.Object({ moveId: Id('Id of the run.') })
const Done = Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) })

export function registerMoveRoutes(http: HttpApp, { moves }: { moves: Moves }): void {
  const common = { access: 'user', systemRight: manageLocations } as const

  http.post(
    '/api/v1/system/location/:id/move',
    {
      schema: {
        operationId: 'moveContents',
        summary: 'Move contents to another location',
        description:
          'In the background: each content is copied, read again where it came, and only then do the files have it from ' +
          'there; where it was it goes a day later, unless that location is read-only. One run at a time. The location ' +
          'must not be where new ones of these contents go.',
        tags: ['files'],
        params: Params,
        body: MoveInput,
        response: { 200: LocationMove },
      },
      config: { ...common, writes: true, errors: ['ResourceNotFound'] },
    },
    (request) => moves.start(actorOf(request), request.params.id, request.body),
  )

  http.get(
    '/api/v1/system/location/move',
    {
      schema: {
        operationId: 'listMoves',
        summary: 'Runs that moved contents between locations',
        description: 'The latest ones, newest first, with their progress.',
        tags: ['files'],
        response: { 200: Type.Array(LocationMove) },
      },
      config: { ...common, writes: false },
    },
    () => moves.list(),
  )

  http.delete(
    '/api/v1/system/location/move/:moveId',
    {
      schema: {
        operationId: 'stopMove',
        summary: 'Stop a run that moves contents',
        description: 'What was moved stays where it is now. A run that is over stays as it is.',
        tags: ['files'],
        params: MoveParams,
        response: { 200: Done },
      },
      config: { ...common, writes: true, errors: ['ResourceNotFound'] },
    },
    async (request) => {
      await moves.stop(actorOf(request), request.params.moveId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}
