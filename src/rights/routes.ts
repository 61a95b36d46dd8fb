import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { withoutSharesQuery } from '../platform/http/query.ts'
import { Acknowledged, TaskList } from '../platform/values/tasks.ts'
import type { RightDefinition } from './catalogue.ts'
import { RightsDocument, rightsDocument } from './document.ts'
import { ExplainQuery, Explanation } from './explain/schema.ts'
import type { ExplainService } from './explain/service.ts'
import { InvalidGrants, InvalidQuery } from './invalid/schema.ts'
import { type InvalidGrantService, seeAllGrants } from './invalid/service.ts'
import { ContextParams, PresetBatch, PresetDeleteQuery, PresetOutput, PresetParams } from './presets/schema.ts'
import { managePresets, type PresetService } from './presets/service.ts'

const tags = ['right']
const read = { access: 'user', writes: false } as const
const change = { access: 'user', writes: true, systemRight: managePresets } as const
const Presets = Type.Array(PresetOutput)
const { allow_invalid_acl, background_invalid_acl, background_invalid_acl_timelimit } = withoutSharesQuery
const SaveQuery = Type.Object({ allow_invalid_acl, background_invalid_acl, background_invalid_acl_timelimit })

/** The catalogue of rights, and presets. */
export function registerRightRoutes(
  http: HttpApp,
  {
    presets,
    explain,
    invalid,
    addedSystemRights,
  }: {
    presets: PresetService
    explain: ExplainService
    invalid: InvalidGrantService
    /** The added system rights that exist now. */
    addedSystemRights: () => readonly RightDefinition[]
  },
): void {
  http.get(
    '/api/v1/right',
    {
      schema: {
        tags,
        operationId: 'getRights',
        summary: 'All rights there are',
        description:
          'By context: what a list of grants can give, with which parameters, and the presets. The same for every caller.',
        response: { 200: RightsDocument },
      },
      config: read,
    },
    async () => rightsDocument(await presets.byContext(), addedSystemRights()),
  )

  http.get(
    '/api/v1/right/explain',
    {
      schema: {
        tags,
        operationId: 'explainRights',
        summary: 'What a user may do, and why',
        description:
          'On an object, on a pool, or to create objects: for each right the grants that give it, or the obstacles of grants that would. Objects that the caller may not see are not found.',
        querystring: ExplainQuery,
        response: { 200: Explanation },
      },
      config: {
        ...read,
        systemRight: { name: 'system.user' },
        errors: ['UserNotFound', 'ObjectNotFound', 'PoolNotFound', 'ObjecttypeNotFound'],
      },
    },
    (request) => explain.explain(actorOf(request), request.query),
  )

  http.get(
    '/api/v1/right/invalid',
    {
      schema: {
        tags,
        operationId: 'listInvalidGrants',
        summary: 'Grants that name what is gone',
        description:
          'On pools, object types, objects, tags, users and groups: with the users, groups, presets, pools, tags, object types, masks, columns and rights that are not there any more.',
        querystring: InvalidQuery,
        response: { 200: InvalidGrants },
      },
      config: { ...read, systemRight: seeAllGrants },
    },
    (request) => invalid.list(actorOf(request), request.query),
  )

  http.get(
    '/api/v1/right/:context/presets',
    {
      schema: {
        tags,
        operationId: 'listRightPresets',
        summary: 'Presets of a context',
        description: 'By `_position`.',
        params: ContextParams,
        response: { 200: Presets },
      },
      config: read,
    },
    (request) => presets.list(request.params.context),
  )

  http.post(
    '/api/v1/right/:context/presets',
    {
      schema: {
        tags,
        operationId: 'saveRightPresets',
        summary: 'Create and update presets',
        description:
          'Without `_id` a preset is created; absent members stay as they are. All are saved or none. A change of a preset changes all grants that are made from it.',
        params: ContextParams,
        querystring: SaveQuery,
        body: PresetBatch,
        response: { 200: Presets },
      },
      config: {
        ...change,
        body: 'many',
        errors: [
          'VersionMismatch',
          'RightRequired',
          'LookupNotFound',
          'TagNotFound',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'ChoiceNotUnique',
        ],
      },
    },
    (request) => presets.save(actorOf(request), request.params.context, request.body),
  )

  http.get(
    '/api/v1/right/:context/presets/:presetId',
    {
      schema: {
        tags,
        operationId: 'getRightPreset',
        summary: 'One preset',
        description: 'As an array of one; empty when there is no such preset in the context.',
        params: PresetParams,
        response: { 200: Presets },
      },
      config: read,
    },
    (request) => presets.read(request.params.context, request.params.presetId),
  )

  http.delete(
    '/api/v1/right/:context/presets/:presetId',
    {
      schema: {
        tags,
        operationId: 'deleteRightPreset',
        summary: 'Delete a preset',
        description:
          'And the grants that are made from it; asks first where there are any. An unknown preset is answered like a deleted one.',
        params: PresetParams,
        querystring: PresetDeleteQuery,
        response: { 200: Acknowledged, 202: TaskList },
      },
      config: change,
    },
    async (request, reply) => {
      const { context, presetId } = request.params
      const result = await presets.remove(actorOf(request), context, presetId, request.query.confirm === 'delete')
      if (result.kind === 'confirm') return reply.code(202).send({ tasks: result.tasks })
      return { status: { acknowledged: 'ok' as const } }
    },
  )
}
