import { Type } from 'typebox'
import { actorOf, type HttpApp } from '../platform/http/http.ts'
import { withoutSharesQuery } from '../platform/http/query.ts'
import { TaskList } from '../platform/values/tasks.ts'
import { TagDocument, TagGroupOutput } from './schema.ts'
import { manageTags, type TagService } from './service.ts'

const Document = Type.Array(TagGroupOutput)

export function registerTagRoutes(http: HttpApp, { tags }: { tags: TagService }): void {
  http.get(
    '/api/v1/tags',
    {
      schema: {
        operationId: 'listTags',
        summary: 'All tag groups with their tags',
        description:
          'In the order in which they are shown. With their grants for who may change them; others do not get tags that are no choice for them.',
        tags: ['tags'],
        response: { 200: Document },
      },
      config: { access: 'user', writes: false },
    },
    (request) => tags.document(actorOf(request)),
  )

  http.post(
    '/api/v1/tags',
    {
      schema: {
        operationId: 'saveTags',
        summary: 'Replace all tag groups and tags',
        description:
          'What has no `_id` is created, what is missing is deleted. An existing tag carries the `_version` last read. ' +
          'A deleted tag that is in use elsewhere is refused (`TagsInUse`) or has to be confirmed (202).',
        tags: ['tags'],
        querystring: Type.Object(
          {
            delete_policy: Type.Optional(
              Type.Literal('remove_tags', { description: 'Take deleted tags off where they are in use.' }),
            ),
            // A deleted tag in a grant leads to a confirmation or a refusal of its own (`TagsInUse`).
            allow_invalid_acl: withoutSharesQuery.allow_invalid_acl,
            background_invalid_acl: withoutSharesQuery.background_invalid_acl,
            background_invalid_acl_timelimit: withoutSharesQuery.background_invalid_acl_timelimit,
          },
          { additionalProperties: true },
        ),
        body: TagDocument,
        response: { 200: Document, 202: TaskList },
      },
      config: {
        access: 'user',
        writes: true,
        body: 'many',
        systemRight: manageTags,
        errors: [
          'VersionMismatch',
          'RightRequired',
          'TagNotFound',
          'TagNotEnabled',
          'TagsInUse',
          'DatabaseUniqueKeyViolation',
          'UnknownRight',
          'UnknownRightParam',
          'UnknownRightValue',
          'LookupNotFound',
        ],
      },
    },
    async (request, reply) => {
      const result = await tags.save(actorOf(request), request.body, {
        removeTags: request.query.delete_policy === 'remove_tags',
      })
      if (result.kind === 'confirm') return reply.status(202).send({ tasks: result.tasks })
      return reply.send(await tags.document(actorOf(request)))
    },
  )
}
