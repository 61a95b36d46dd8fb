import { table } from '../fields/forms.ts'
import { bool, file, int, localized, text } from '../fields/values.ts'
import { section } from './section.ts'

/** A media type such as `application/json; charset=utf-8`. */
function mediaTypeRule(type: string): string | null {
  return /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:; ?charset=[\w-]{1,40})?$/.test(type)
    ? null
    : 'a media type such as application/json'
}

function sheetNameRule(name: string): string | null {
  return /^[\w.-]+$/.test(name) ? null : 'letters, digits, dots, hyphens and underscores'
}

/** Settings for exports, and for XSL transformations in exports, addresses of objects and harvests. */
export const exporting = {
  export: section('export', 'user', {
    /** Days after which exports of type `download` are deleted; 0: never. */
    expire_days: int(7, { max: 3650 }),
    xslts: table(
      {
        xslt: file(),
        /** Its name in addresses, and the name of its metadata format for harvesters. */
        oai_pmh_prefix: text('', { required: true, maxLength: 100, rule: sheetNameRule }),
        displayname: localized(),
        description: localized(),
        /** Empty: the media type of XML. */
        content_type: text('', { maxLength: 250, rule: mediaTypeRule }),
        namespace: text('', { maxLength: 2000 }),
        schema: text('', { maxLength: 2000 }),
        use_for_api_objects: bool(false),
        use_for_oai_pmh: bool(false),
        /** The position of the records in a result. */
        xpath_query: text('', { maxLength: 2000 }),
      },
      { key: 'oai_pmh_prefix', maxRows: 100 },
    ),
  }),
} as const
