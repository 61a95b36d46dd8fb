import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { Acknowledged } from '../platform/values/tasks.ts'
import { registerDownloadRoutes } from './deliver/routes.ts'
import type { Deliveries } from './deliver/service.ts'
import { ExportInput, ExportList, ExportOutput, ExportParams, ListQuery, ReadQuery } from './schema.ts'
import type { ExportService } from './service.ts'

const tags = ['export']
const place = '/api/v1/export'
const refused = ['InsufficientRights'] as const
const saveErrors = [
  'ExportDuplicateName',
  'InsufficientRights',
  'LookupNotFound',
  'QuotaExceeded',
  'ReindexInProgress',
  'SearchFieldUnknown',
  'SearchTooCostly',
  'UnknownField',
  'UnknownObjecttype',
  'UnknownTimezone',
  'UnsupportedFieldType',
  'UrlParameterNotSupported',
  'VersionMismatch',
] as const

export interface ExportRouteDeps {
  readonly exports: ExportService
  readonly deliveries: Deliveries
  /** Archives that one caller may download at the same time. */
  readonly mostArchives: number
}

export function registerExportRoutes(app: HttpApp, { exports, deliveries, mostArchives }: ExportRouteDeps): void {
  app.get(
    place,
    {
      schema: {
        operationId: 'listExports',
        summary: 'Exports of the caller',
        description: 'Newest first, without their logs and with some of their files.',
        tags,
        querystring: ListQuery,
        response: { 200: ExportList },
      },
      config: { access: 'user', writes: false },
    },
    (request) => exports.list(actorOf(request), request.query),
  )

  for (const method of ['POST', 'PUT'] as const) {
    app.route({
      method,
      url: place,
      schema: {
        operationId: method === 'POST' ? 'createExport' : 'putExport',
        summary: 'Create an export',
        description:
          'It belongs to the caller, and has not run yet. With the `_id` of an export in its block that one is changed, as ' +
          'by its own address. One user has as many as `svc.quotas.exports` allows; a further one is answered 429 `QuotaExceeded`.',
        tags,
        body: ExportInput,
        response: { 200: ExportOutput },
      },
      config: { access: 'user', writes: true, body: 'one', errors: [...saveErrors] },
      handler: (request) => exports.save(actorOf(request), request.body as ExportInput, null),
    })
  }

  app.get(
    `${place}/:exportId`,
    {
      schema: {
        operationId: 'readExport',
        summary: 'One export',
        description: 'With the first of its files, and what the log has of it.',
        tags,
        params: ExportParams,
        querystring: ReadQuery,
        response: { 200: ExportOutput },
      },
      config: { access: 'user', writes: false, errors: [...refused] },
    },
    (request) => exports.read(actorOf(request), request.params.exportId, request.query.format ?? 'long'),
  )

  app.post(
    `${place}/:exportId`,
    {
      schema: {
        operationId: 'updateExport',
        summary: 'Change an export',
        description:
          'All of it is replaced by what is sent, and `_version` must be the stored one. It belongs to the caller then, and ' +
          'its state is `new`; a run that goes on is stopped.',
        tags,
        params: ExportParams,
        body: ExportInput,
        response: { 200: ExportOutput },
      },
      config: { access: 'user', writes: true, body: 'one', errors: [...saveErrors] },
    },
    (request) => exports.save(actorOf(request), request.body as ExportInput, request.params.exportId),
  )

  app.delete(
    `${place}/:exportId`,
    {
      schema: {
        operationId: 'deleteExport',
        summary: 'Delete an export',
        description: 'With all that it has made; a run that goes on is stopped.',
        tags,
        params: ExportParams,
        response: { 200: Acknowledged },
      },
      config: { access: 'user', writes: true, errors: [...refused] },
    },
    async (request) => {
      await exports.remove(actorOf(request), request.params.exportId)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  const controls = {
    start: {
      summary: 'Run an export',
      description:
        'In the background, with the rights of the user of the export. One that waits or runs already is answered as it ' +
        'is. Also in read-only mode.',
    },
    stop: {
      summary: 'Stop the run of an export',
      description: 'Its state is `failed` then. Refused where nothing runs or waits. Also in read-only mode.',
    },
  }
  for (const name of ['start', 'stop'] as const) {
    app.post(
      `${place}/:exportId/${name}`,
      {
        schema: {
          operationId: `${name}Export`,
          ...controls[name],
          tags,
          params: ExportParams,
          response: { 200: ExportOutput },
        },
        config: {
          access: 'user',
          writes: false,
          neverKept: `it ${name}s something`,
          unknownQuery: 'refuse',
          errors: [...refused],
        },
      },
      (request) => exports[name](actorOf(request), request.params.exportId),
    )
  }

  registerDownloadRoutes(app, { exports, deliveries, mostArchives })
}
