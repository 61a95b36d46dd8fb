import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { LocationInput, LocationOutput } from './schema.ts'
import { type Locations, manageLocations, seeLocations } from './service.ts'

const Params = Type.Object({
  id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the location.' }),
})
const Done = Type.Object({ status: Type.Object({ acknowledged: Type.Literal('ok') }) })

export function registerLocationRoutes(http: HttpApp, { locations }: { locations: Locations }): void {
  const common = { access: 'user', systemRight: manageLocations } as const
  const look = { access: 'user', systemRight: seeLocations, writes: false } as const

  http.get(
    '/api/v1/system/location/list',
    {
      schema: {
        operationId: 'listLocations',
        summary: 'All locations of files',
        description: 'Each is tried; `status` says with what result. Secrets are never answered.',
        tags: ['files'],
        response: { 200: Type.Array(LocationOutput) },
      },
      config: look,
    },
    () => locations.list(),
  )

  http.post(
    '/api/v1/system/location/new',
    {
      schema: {
        operationId: 'createLocation',
        summary: 'Add a location of files',
        description: 'One that cannot be reached is stored all the same, and marked.',
        tags: ['files'],
        body: LocationInput,
        response: { 200: LocationOutput },
      },
      config: { ...common, writes: true, errors: ['DatabaseUniqueKeyViolation'] },
    },
    (request) => locations.create(actorOf(request), request.body),
  )

  http.get(
    '/api/v1/system/location/:id',
    {
      schema: {
        operationId: 'readLocation',
        summary: 'One location of files',
        tags: ['files'],
        params: Params,
        response: { 200: LocationOutput },
      },
      config: { ...look, errors: ['ResourceNotFound'] },
    },
    (request) => locations.read(request.params.id),
  )

  http.put(
    '/api/v1/system/location/:id',
    {
      schema: {
        operationId: 'changeLocation',
        summary: 'Change a location of files',
        description:
          'A location that has contents can get another address only when they are there. The default one stays ' +
          'writable and keeps its name.',
        tags: ['files'],
        params: Params,
        body: LocationInput,
        response: { 200: LocationOutput },
      },
      config: { ...common, writes: true, errors: ['ResourceNotFound', 'DatabaseUniqueKeyViolation'] },
    },
    (request) => locations.change(actorOf(request), request.params.id, request.body),
  )

  http.delete(
    '/api/v1/system/location/:id',
    {
      schema: {
        operationId: 'deleteLocation',
        summary: 'Remove a location that has no contents',
        tags: ['files'],
        params: Params,
        response: { 200: Done },
      },
      config: { ...common, writes: true, errors: ['ResourceNotFound'] },
    },
    async (request) => {
      await locations.remove(actorOf(request), request.params.id)
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}
