import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { type Form, readForm, readParameters } from '../../platform/http/form.ts'
import type { HttpApp } from '../../platform/http/http.ts'
import { onSurface } from '../../platform/http/surface.ts'
import type { Pages, Visit } from './service.ts'
import { pageSurface } from './surface.ts'

/** A page with its own address, `/api/page/<name>`. Errors of its functions become the error page. */
export interface PageDefinition {
  readonly name: string
  /** Its form changes accounts, so it is refused in read-only mode; forms of a sign-in in progress still work. */
  readonly writes?: boolean
  /** Parameters of its address. */
  readonly query?: readonly string[]
  show(visit: Visit, query: Form): Promise<FastifyReply>
  /** Handles its form, which is already verified as ours. Answers a page, or 303 to the next address. */
  submit?(visit: Visit, form: Form): Promise<FastifyReply>
}

/** Serves pages. */
export async function registerPages(app: HttpApp, pages: Pages, definitions: readonly PageDefinition[]): Promise<void> {
  if (definitions.length === 0) return
  await onSurface(app, pageSurface(pages, app.surface), (scope) => {
    for (const { name, writes = false, query = [], show, submit } of definitions) {
      const url = `/api/page/${name}`
      const parameters = Object.fromEntries(query.map((one) => [one, Type.Optional(Type.Unknown())]))
      // A wrong answer counts, even if the client disconnects.
      const config = { access: 'public', writes: false, body: 'none', outlivesClient: true } as const
      const schema = { querystring: Type.Object(parameters) }
      scope.get(url, { schema, config }, (request, reply) =>
        show(pages.visit(request, reply), readParameters(request.query)),
      )
      if (!submit) continue
      scope.post(url, { schema, config: { ...config, writes } }, (request, reply) => {
        const form = readForm(request.headers['content-type'], request.body)
        const visit = pages.visit(request, reply)
        visit.assertOwnForm(form.get('csrf'))
        return submit(visit, form)
      })
    }
  })
}
