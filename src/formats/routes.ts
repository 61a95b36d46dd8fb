import { Type } from 'typebox'
import type { HttpApp } from '../platform/http/http.ts'
import type { FormatService } from './service.ts'

const Schema = Type.String({ description: 'XML Schema 1.0.' })

/** Schemas of the formats. */
export function registerFormatRoutes(app: HttpApp, { formats }: { formats: Pick<FormatService, 'schema'> }): void {
  app.get(
    '/api/v1/formats/xml_native.xsd',
    {
      schema: {
        operationId: 'getXmlSchema',
        summary: 'The schema (XSD) of objects as XML, for the object types of the datamodel',
        description:
          'XML Schema 1.0 of the format `xml_native`: what all documents share, and an element for each object type.',
        tags: ['formats'],
        response: { 200: { content: { 'application/xml': { schema: Schema } } } },
      },
      config: { access: 'user', writes: false },
    },
    async (_request, reply) => reply.type('application/xml; charset=utf-8').send(formats.schema()),
  )
}
