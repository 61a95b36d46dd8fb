import type { Surface } from '../../platform/http/surface.ts'
import { type Pages, wantsPage } from './service.ts'

/** A surface for people, too: they get its errors as a page. */
export function forPeople(pages: Pick<Pages, 'sendError'>, programs: Surface): Surface {
  return {
    ...programs,
    sendError: (error, request, reply) =>
      wantsPage(request) ? pages.sendError(request, reply, error) : programs.sendError(error, request, reply),
  }
}

/** Pages are not part of the interface and its description. */
export function pageSurface(pages: Pick<Pages, 'sendError'>, api: Surface): Surface {
  return { ...forPeople(pages, api), name: 'page', description: null }
}
