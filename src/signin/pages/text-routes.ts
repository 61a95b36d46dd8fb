import { Type } from 'typebox'
import type { HttpApp } from '../../platform/http/http.ts'
import { type OwnTexts, textsOf } from './language.ts'

const Texts = Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
  title: 'StaticTexts',
  description: 'Texts by key, under the tag of the language that they are in.',
})

/** Texts of the service, for front ends that show its words. They are on the pages of the sign-in, so anybody may read them. */
export function registerTextRoutes(app: HttpApp, { ownTexts }: { ownTexts: OwnTexts }): void {
  app.get(
    '/api/v1/l10n/static/:lang.json',
    {
      schema: {
        tags: ['datamodel'],
        operationId: 'getStaticTexts',
        summary: 'The texts of the service in a language',
        description:
          'Those of the pages of the sign-in and of mails, as the instance has changed them. A language that is not there is answered with en-US.',
        params: Type.Object({
          lang: Type.String({ pattern: '^[A-Za-z0-9-]{1,35}$', description: 'Tag of the language, such as `de-DE`.' }),
        }),
        response: { 200: Texts },
      },
      config: { access: 'public', writes: false },
    },
    async (request) => textsOf(request.params.lang, ownTexts),
  )
}
