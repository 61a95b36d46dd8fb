import type { HttpApp } from '../../platform/http/http.ts'
import { FixityReport } from '../locations/schema.ts'
import { seeLocations } from '../locations/service.ts'
import type { FixityService } from './service.ts'

export function registerFixityRoutes(http: HttpApp, { fixity }: { fixity: Pick<FixityService, 'report'> }): void {
  http.get(
    '/api/v1/system/location/fixity',
    {
      schema: {
        operationId: 'getFixity',
        summary: 'Whether the contents of files are what they were',
        description: 'What was found when each content was last read and compared with its hash.',
        tags: ['files'],
        response: { 200: FixityReport },
      },
      config: { access: 'user', systemRight: seeLocations, writes: false },
    },
    () => fixity.report(),
  )
}
