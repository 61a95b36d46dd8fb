import { type Static, Type } from 'typebox'
import { actorOf, type HttpApp } from '../../platform/http/http.ts'
import { requireRight } from '../../platform/http/system-right.ts'

const systemRight = { name: 'system.root' } as const

export const JanitorPreview = Type.Object(
  {
    janitors: Type.Array(
      Type.Object(
        {
          type: Type.String({ description: 'As in the events `JANITOR`.' }),
          days: Type.Integer({ description: 'Of the base configuration.' }),
          count: Type.Integer({ description: 'What is due now.' }),
          capped: Type.Boolean({ description: 'There are at least so many.' }),
        },
        { title: 'JanitorWork' },
      ),
    ),
  },
  { title: 'JanitorPreview' },
)

/** The work that janitors have to do. */
export type DueWork = () => Promise<Static<typeof JanitorPreview>['janitors']>

export function registerJanitorRoutes(http: HttpApp, { janitors }: { readonly janitors: readonly DueWork[] }): void {
  http.get(
    '/api/v1/system/janitor',
    {
      schema: {
        tags: ['system'],
        operationId: 'previewJanitors',
        summary: 'What janitors would take away now',
        description:
          'Users and events by the policies of the base configuration (`janitor.users`, `janitor.events`, ' +
          '`janitor.event_remote_addr_expire_days`). Nothing is changed by it.',
        response: { 200: JanitorPreview },
      },
      config: { access: 'user', systemRight, writes: false },
    },
    async (request) => {
      requireRight(actorOf(request), systemRight)
      return { janitors: (await Promise.all(janitors.map((due) => due()))).flat() }
    },
  )
}
