import { Type } from 'typebox'
import { deliver } from '../files/service.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { Acknowledged } from '../platform/values/tasks.ts'
import { Backup, BackupOpts, BackupParams } from './schema.ts'
import { type BackupService, manageBackups } from './service.ts'

const tags = ['system']
const binary = {
  'application/octet-stream': { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) },
}
const common = { access: 'user', systemRight: manageBackups } as const

export function registerBackupRoutes(http: HttpApp, { backups }: { readonly backups: BackupService }): void {
  http.put(
    '/api/v1/system/backup/new',
    {
      schema: {
        tags,
        operationId: 'createBackup',
        summary: 'Begin a backup',
        description:
          'In the background, into the location `location_defaults.backups`. One at a time. A caller who may make backups may read all ' +
          'that is stored, as root does.',
        body: BackupOpts,
        response: { 200: Backup },
      },
      config: { ...common, writes: true, errors: ['FormatNotSupported'] },
    },
    (request) => backups.begin(actorOf(request), request.body),
  )

  http.get(
    '/api/v1/system/backup/list',
    {
      schema: {
        tags,
        operationId: 'listBackups',
        summary: 'Backups',
        description: 'The latest thousand, newest first, with how far they are.',
        response: { 200: Type.Array(Backup) },
      },
      config: { ...common, writes: false },
    },
    (request) => backups.list(actorOf(request)),
  )

  http.get(
    '/api/v1/system/backup/:id',
    {
      schema: {
        tags,
        operationId: 'getBackup',
        summary: 'One backup',
        description: 'With its log.',
        params: BackupParams,
        response: { 200: Backup },
      },
      config: { ...common, writes: false, errors: ['BackupNotFound'] },
    },
    (request) => backups.read(actorOf(request), request.params.id),
  )

  http.delete(
    '/api/v1/system/backup/:id',
    {
      schema: {
        tags,
        operationId: 'deleteBackup',
        summary: 'Delete a backup',
        description: 'With its archive; not while it is being made.',
        params: BackupParams,
        response: { 200: Acknowledged },
      },
      config: { ...common, writes: true, errors: ['BackupNotFound', 'DeleteNotSupported'] },
    },
    async (request) => {
      await backups.remove(actorOf(request), request.params.id)
      return { status: { acknowledged: 'ok' as const } }
    },
  )

  http.get(
    '/api/v1/system/backup/:id/download',
    {
      schema: {
        tags,
        operationId: 'downloadBackup',
        summary: 'Download the archive of a backup',
        description: 'Whole or a range of it.',
        params: BackupParams,
        response: {
          200: { description: 'The archive.', content: binary },
          206: { description: 'A part of it, for a `Range`.', content: binary },
          304: Type.Unsafe<undefined>({ description: 'It is as the caller knows it.' }),
        },
      },
      config: {
        ...common,
        writes: false,
        neverKept: 'all that is stored is in it',
        errors: ['BackupNotFound', 'PreconditionFailed', 'RangeNotSatisfiable', 'ServiceUnavailable'],
      },
    },
    async (request, reply) => {
      const { sha256, size, store, createdAt, fileName } = await backups.archive(actorOf(request), request.params.id)
      return deliver(request, reply, {
        version: { sha256, mimeType: 'application/octet-stream', createdAt },
        ready: async () => ({ size, store }),
        fileName,
        keep: 'never',
        delivered() {},
      })
    },
  )
}
