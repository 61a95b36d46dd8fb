/** Pages for people who open an address of the service in a browser. Not part of the interface. */

import type { HttpApp } from '../../platform/http/http.ts'
import { onSurface, type Surface } from '../../platform/http/surface.ts'
import { type Html, html } from '../../platform/values/html.ts'
import { once } from '../../platform/values/once.ts'
import { type Pages, pageSurface, wantsPage } from '../../signin/service.ts'
import type { SystemService } from '../service.ts'
import { documentationFiles, documentationPage } from './documentation.ts'
import { healthPage, homePage } from './home.ts'
import { iconFile, iconSvg } from './icon.ts'

const config = { access: 'optional', writes: false } as const
const week = 'max-age=604800, public'

interface PageRoutes {
  readonly system: SystemService
  readonly pages: Pages
}

export async function registerPageRoutes(app: HttpApp, { system, pages }: PageRoutes): Promise<void> {
  const page = pageSurface(pages, app.surface)
  await onSurface(app, page, (scope) => {
    homeRoutes(scope, { system, pages })
    documentationRoutes(scope, pages)
  })
  await onSurface(app, staticSurface(page), iconRoutes)
}

/** Files that are the same for everybody: no authentication, and no parameters. */
function staticSurface(page: Surface): Surface {
  return { ...page, name: 'static', authenticators: [], parameters: null }
}

function homeRoutes(app: HttpApp, { system, pages }: PageRoutes): void {
  app.get('/', { config }, async (request, reply) => {
    const state = await system.home(request.actor)
    if (wantsPage(request)) {
      const visit = pages.visit(request, reply)
      return visit.send(homePage(visit, state))
    }
    const { name, version } = state.settings
    reply.header('Vary', 'Accept')
    return {
      name,
      version,
      ready: state.ready,
      settings: '/api/v1/settings',
      openapi: '/api/v1/system/openapi/spec.json',
    }
  })

  app.get('/health', { config }, async (request, reply) => {
    const { ready } = await system.home(request.actor)
    if (wantsPage(request)) {
      const visit = pages.visit(request, reply)
      return visit.send(healthPage(visit, ready))
    }
    reply.header('Vary', 'Accept')
    return reply.status(ready ? 200 : 503).send({ status: ready ? 'ok' : 'unavailable', database: ready })
  })
}

function iconRoutes(app: HttpApp): void {
  const icon = once(iconFile)
  const open = { access: 'public', writes: false } as const
  app.get('/favicon.ico', { config: open }, async (_request, reply) =>
    reply
      .header('Cache-Control', week)
      .type('image/x-icon')
      .send(await icon()),
  )
  app.get('/favicon.svg', { config: open }, async (_request, reply) =>
    reply.header('Cache-Control', week).type('image/svg+xml').send(iconSvg),
  )
}

function documentationRoutes(app: HttpApp, pages: Pages): void {
  const files = once(documentationFiles)
  const show = async (request: Parameters<Pages['visit']>[0], reply: Parameters<Pages['visit']>[1], name: string) => {
    const known = await files()
    const file = known.get(name)
    if (file === undefined) return reply.callNotFound()
    const visit = pages.visit(request, reply)
    const { title, content } = await documentationPage(file, known)
    return visit.send({ title, content: html`${overview(visit, [...known.keys()], name)}${content}`, wide: true })
  }
  app.get('/docs/', { config }, async (request, reply) => show(request, reply, 'index'))
  app.get('/docs', { config }, async (request, reply) => {
    const { link } = pages.visit(request, reply)
    return reply.redirect(link('/docs/'), 308)
  })
  app.get<{ Params: { name: string } }>('/docs/:name', { config }, async (request, reply) =>
    show(request, reply, request.params.name.replace(/\.md$/, '')),
  )
}

/** All pages of the documentation, behind a fold. */
function overview({ text, link }: ReturnType<Pages['visit']>, names: readonly string[], shown: string): Html {
  const entries = names.map((name) =>
    name === shown ? html`<li><b>${name}</b></li>` : html`<li><a href="${link(`/docs/${name}`)}">${name}</a></li>`,
  )
  return html`<nav aria-label="${text('docs.pages')}"><details><summary>${text('docs.pages')}</summary><ul class="columns">${entries}</ul></details></nav>`
}
