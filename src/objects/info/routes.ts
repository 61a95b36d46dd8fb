import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { CreateInfo, CreateInfoBody, UpdateInfo, UpdateInfoBody } from './schema.ts'
import type { ObjectInfoService } from './service.ts'

const errors = ['ObjecttypeNotFound', 'PoolNotFound', 'TagNotFound', 'TagNotEnabled'] as const

export function registerObjectInfoRoutes(app: HttpApp, { info }: { info: ObjectInfoService }): void {
  app.post(
    '/api/v1/db_info/create',
    {
      schema: {
        tags: ['objects'],
        operationId: 'getCreateInfo',
        summary: 'What the caller may create',
        description:
          'Without `objecttype` all types with their pools; with it, and a pool where the type has pools, the masks and tags too.',
        body: CreateInfoBody,
        response: { 200: CreateInfo },
      },
      config: { access: 'user', writes: false, errors: [...errors, 'NoMasksForCreate'] },
    },
    (request) => info.create(actorOf(request), request.body),
  )

  app.post(
    '/api/v1/db_info/update',
    {
      schema: {
        tags: ['objects'],
        operationId: 'getUpdateInfo',
        summary: 'What the caller may do with objects',
        description: 'Rights, pools, tags and masks that hold for each of them.',
        body: UpdateInfoBody,
        response: { 200: UpdateInfo },
      },
      config: { access: 'user', writes: false, errors: [...errors, 'ObjectNotFound'] },
    },
    (request) => info.update(actorOf(request), request.body),
  )
}
