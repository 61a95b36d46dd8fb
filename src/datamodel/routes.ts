import type { FastifyReply } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { AppError } from '../platform/errors.ts'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { type Flag, flag, isOn } from '../platform/http/query.ts'
import { Ok, TaskList } from '../platform/values/tasks.ts'
import { allFieldsName, withAllFields } from './all-fields-wire.ts'
import { reindexModes } from './commit/tasks.ts'
import { compileModel } from './compile/model.ts'
import { createGraphRenderer, type GraphRenderer } from './graph/renderer.ts'
import { withLocalizedNames } from './l10n.ts'
import { longMasks } from './long-masks.ts'
import { cleanBody } from './normalize/clean.ts'
import { LocaApi, MaskSchemaApi, SchemaApi } from './schema.ts'
import { commitDatamodel, type DatamodelService, editDatamodel, type VersionName } from './service.ts'

const tags = ['datamodel']
const read = { access: 'user', writes: false } as const
const change = { access: 'user', writes: true } as const

const Version = Type.String({
  pattern: '^(HEAD|CURRENT|[1-9][0-9]{0,15})$',
  description: '`HEAD`, `CURRENT` or a number.',
})
const VersionParams = Type.Object({ version: Version })
const Image = Type.Unsafe<Buffer>({ type: 'string', format: 'binary' })
const Format = (description: string) => Type.Object({ format: Type.Optional(Type.String({ description })) })

/** The endpoints of the datamodel: `/schema`, `/mask` and `/l10n` under `/api/v1`. */
export function registerDatamodelRoutes(app: HttpApp, datamodel: DatamodelService): void {
  schemaRoutes(app, datamodel, createGraphRenderer())
  maskRoutes(app, datamodel)
  l10nRoutes(app, datamodel)
}

function versionOf(name: string): VersionName {
  return name === 'HEAD' || name === 'CURRENT' ? name : Number(name)
}

/** Bodies are cleaned before they are validated: null members mean "absent" (see clean.ts). */
async function clean(request: { body: unknown }): Promise<void> {
  request.body = cleanBody(request.body)
}

const datamodelErrors = [
  'SchemaInconsistent',
  'InvalidIdentifier',
  'InvalidMaskMode',
  'LinkMaskNotFound',
  'SchemaDuplicateMaskName',
  'SchemaDuplicateObjecttypeName',
  'SchemaLoopingReverse',
  'UnknownColumnType',
  'InheritanceNotSupported',
  'ObjecttypeMustHaveExtactlyOnePreferredMask',
] as const

/** Routes that replace a part of the working copy, unless it changed since the client has read it (`If-Match`). */
const storing = <Part extends TSchema, Query extends TSchema>(
  operationId: string,
  summary: string,
  part: Part,
  query: Query,
) => ({
  schema: {
    operationId,
    summary,
    description: 'Nothing uses it before it is committed. Answers what is stored, with new ids.',
    tags,
    body: part,
    querystring: query,
    headers: Type.Object({
      'if-match': Type.Optional(
        Type.String({ description: 'The ETag last read: refused when the working copy has changed since.' }),
      ),
    }),
    response: { 200: part },
  },
  config: {
    ...change,
    body: 'datamodel' as const,
    systemRight: editDatamodel,
    errors: ['VersionMismatch', 'DatabaseLockError', ...datamodelErrors] as const,
  },
  preValidation: clean,
})

const Overwriting = Type.Object({
  overwrite: flag('Takes one from elsewhere, whatever versions it bears. `If-Match` counts all the same.'),
})

const said = (request: { query: { overwrite?: Flag }; headers: { 'if-match'?: string } }) => ({
  ifMatch: request.headers['if-match'],
  overwrite: isOn(request.query.overwrite),
})

function schemaRoutes(app: HttpApp, datamodel: DatamodelService, graphs: GraphRenderer): void {
  app.get(
    '/api/v1/schema/user/:version',
    {
      schema: {
        operationId: 'getSchema',
        summary: 'A version of the datamodel: the snapshot, or a graph of its object types',
        description:
          '`HEAD` is the working copy, `CURRENT` the latest committed version. `format=svg` and `format=png` answer an image.',
        tags,
        params: VersionParams,
        querystring: Format('`svg` or `png`: a graph of the object types; anything else: the snapshot.'),
        response: {
          200: {
            content: {
              'application/json': { schema: SchemaApi },
              'image/svg+xml': { schema: Image },
              'image/png': { schema: Image },
            },
          },
        },
      },
      config: { ...read, errors: ['DatamodelVersionNotFound'] },
    },
    async (request, reply) => {
      const snapshot = await datamodel.snapshot(versionOf(request.params.version))
      const { schema, l10n, committedAt, tags } = snapshot
      if (tags) reply.header('ETag', tags.schema)
      const { format } = request.query
      if (format === 'svg' || format === 'png') {
        const key = tags ? `HEAD ${tags.schema}` : String(snapshot.version)
        const image = await graphs.render(key, compileModel(snapshot), format)
        const name = tags ? 'head' : `v${snapshot.version}`
        return reply
          .type(format === 'svg' ? 'image/svg+xml' : 'image/png')
          .header('Content-Disposition', `inline; filename="datamodel-${name}.${format}"`)
          .send(image)
      }
      return withLocalizedNames({ ...schema, committed_at: committedAt?.toISOString() ?? null }, l10n)
    },
  )

  app.post(
    '/api/v1/schema/user/HEAD',
    storing('saveSchema', 'Store a snapshot as the working copy', SchemaApi, Overwriting),
    async (request, reply) => {
      const head = await datamodel.saveSchema(actorOf(request), request.body, said(request))
      reply.header('ETag', head.tags.schema)
      return withLocalizedNames(head.schema, head.l10n)
    },
  )

  app.post(
    '/api/v1/schema/commit',
    {
      schema: {
        operationId: 'commitSchema',
        summary: 'Commit the working copy as the next version',
        description: 'A 202 asks what has to be acknowledged: `reindex` for the index, `confirm=yes` for everything.',
        tags,
        querystring: Type.Object({
          reindex: Type.Optional(
            Type.Enum([...reindexModes], {
              description: 'What to do with the index: nothing, in the background, or while searches are refused.',
            }),
          ),
          confirm: Type.Optional(Type.Enum(['yes'], { description: 'Acknowledges everything that a 202 asks.' })),
        }),
        response: { 200: Ok, 202: TaskList },
      },
      config: {
        ...change,
        systemRight: commitDatamodel,
        errors: ['SchemaInconsistent', 'TypeChangeUnsupported', 'ObjecttypeNotEmpty', 'ConstraintViolation'],
      },
    },
    async (request, reply) => {
      const { reindex, confirm } = request.query
      const answers = { ...(reindex === undefined ? {} : { reindex }), confirm: confirm === 'yes' }
      const result = await datamodel.commit(actorOf(request), answers)
      if (result.kind === 'confirm') return reply.status(202).send({ tasks: result.tasks })
      return { status: 'ok' as const }
    },
  )
}

function maskRoutes(app: HttpApp, datamodel: DatamodelService): void {
  const masksOf = async (version: string, format: string | undefined, reply: FastifyReply, mask?: string) => {
    const stored = await datamodel.snapshot(versionOf(version))
    if (stored.tags) reply.header('ETag', stored.tags.masks)
    const snapshot = mask === allFieldsName ? withAllFields(stored) : stored
    return format === 'long' ? longMasks(snapshot) : snapshot.masks
  }

  app.get(
    '/api/v1/mask/:version',
    {
      schema: {
        operationId: 'getMasks',
        summary: 'The masks of a version',
        description: '`format=long` adds to each field what it refers to.',
        tags,
        params: VersionParams,
        querystring: Format('`long`: with what the fields refer to.'),
        response: { 200: MaskSchemaApi },
      },
      config: { ...read, errors: ['DatamodelVersionNotFound'] },
    },
    (request, reply) => masksOf(request.params.version, request.query.format, reply),
  )

  app.get(
    '/api/v1/mask/:version/:mask',
    {
      schema: {
        operationId: 'getMask',
        summary: 'One mask of a version, by its name or id',
        description:
          'The same shape as all masks of the version, with the one that is meant. `_all_fields` is the mask of each object type ' +
          'with all of its fields.',
        tags,
        params: Type.Object({ version: Version, mask: Type.String({ description: 'Name or id of the mask.' }) }),
        querystring: Format('`long`: with what the fields refer to.'),
        response: { 200: MaskSchemaApi },
      },
      config: { ...read, errors: ['DatamodelVersionNotFound', 'ResourceNotFound'] },
    },
    async (request, reply) => {
      const { version, mask } = request.params
      const masks = await masksOf(version, request.query.format, reply, mask)
      const found = masks.masks.filter((candidate) => candidate.name === mask || String(candidate.mask_id) === mask)
      if (found.length === 0) throw new AppError('ResourceNotFound', { mask, version })
      return { ...masks, masks: found }
    },
  )

  app.post(
    '/api/v1/mask/HEAD',
    storing('saveMasks', 'Store the masks of the working copy', MaskSchemaApi, Overwriting),
    async (request, reply) => {
      const head = await datamodel.saveMasks(actorOf(request), request.body, said(request))
      reply.header('ETag', head.tags.masks)
      return head.masks
    },
  )
}

function l10nRoutes(app: HttpApp, datamodel: DatamodelService): void {
  app.get(
    '/api/v1/l10n/user/:version',
    {
      schema: {
        operationId: 'getLocalization',
        summary: 'The localised names of a version',
        description: 'Texts by key and locale: names of object types, fields and masks.',
        tags,
        params: VersionParams,
        response: { 200: LocaApi },
      },
      config: { ...read, errors: ['DatamodelVersionNotFound'] },
    },
    async (request, reply) => {
      const { l10n, tags } = await datamodel.snapshot(versionOf(request.params.version))
      if (tags) reply.header('ETag', tags.l10n)
      return l10n
    },
  )

  app.post(
    '/api/v1/l10n/user/HEAD',
    storing(
      'saveLocalization',
      'Store localised names in the working copy',
      LocaApi,
      Type.Object({
        overwrite: flag('As for schema and masks. Localisation bears no version, so it is always taken.'),
      }),
    ),
    async (request, reply) => {
      const head = await datamodel.saveL10n(actorOf(request), request.body, { ifMatch: request.headers['if-match'] })
      reply.header('ETag', head.tags.l10n)
      return head.l10n
    },
  )
}
