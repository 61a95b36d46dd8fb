import { form, table } from '../fields/forms.ts'
import { bool, file, int, localized, select, text } from '../fields/values.ts'
import { dataAround, section } from './section.ts'

/** Settings for access by an address alone. */
export const addresses = {
  deep_link_access: section('access', 'user', {
    /** Whether deep links lead to objects. Callers without a token are the system user `deep_link`. */
    enabled: bool(false),
    /** Whether links may contain ids of objects, which anybody can count. */
    allow_access_by_id: bool(false),
    /** Whether links may contain the value of a field. */
    allow_access_by_column: bool(false),
    /** The data of linked objects and of parents in documents. */
    ...dataAround,
    /** The viewers that front ends offer for IIIF: their own, and these, with `%iiif_presentation_manifest.url%`. */
    iiif_default_links: bool(true),
    iiif_links: table({ label: localized(), html_code: text('', { required: true }) }, { maxRows: 50 }),
    /** The text that viewers must show beside an object; the value is Markdown. */
    iiif_required_statement: form({ label: localized(), value: localized() }),
  }),

  sitemaps: section('access', 'user', {
    /** Search engines get the addresses of the objects that deep links open without a token. */
    enabled: bool(false),
  }),

  detail_deep_link: section('access', 'user', {
    /** Whether links to pages of objects contain the system object id instead of the uuid, if deep links allow it. */
    use_system_object_id: bool(false),
  }),

  publish: section('access', 'user', {
    /**
     * The platforms on which objects are published. Publish records refer to them by `internalname`; the other members are for
     * front ends.
     */
    collectors: table(
      {
        internalname: text('', { required: true, maxLength: 200 }),
        displayname: localized(),
        url: text('', { maxLength: 2000 }),
        type: text('', { maxLength: 200 }),
        prefix: text('', { maxLength: 200 }),
        logo: { ...file(), required: false },
        display_format: select(['name', 'name_type', 'name_type_doi', 'type'], 'name'),
      },
      { key: 'internalname', maxRows: 100 },
    ),
  }),

  webdav: section('access', 'user', {
    /** Whether collections can be mounted as drives by their upload addresses, for reading and writing. */
    read_write_access: bool(false),
    /** Whether files that are dropped into the hotfolder are imported into collections. */
    hotfolder: bool(false),
    /** Seconds without a change after which a dropped file is imported. */
    hotfolder_wait_sec: int(15, { min: 1, max: 3600 }),
  }),

  file_url_expire: section(
    'files',
    'user',
    {
      /** Days that signed file URLs stay valid when a request does not say. */
      default_days: int(7, { min: 1, max: 3650 }),
      /** The highest number of days that a request may ask for. */
      max_days: int(30, { min: 1, max: 3650 }),
      /** The same for file URLs in documents behind deep links. */
      deep_link_days: int(1, { min: 1, max: 3650 }),
      /** The same for file URLs in harvested records. */
      oai_pmh_days: int(7, { min: 1, max: 3650 }),
    },
    (days) => {
      const longer = (['default_days', 'deep_link_days', 'oai_pmh_days'] as const).find(
        (name) => days[name] > days.max_days,
      )
      return longer ? { path: `/${longer}`, expected: `at most max_days (${days.max_days})` } : null
    },
  ),
} as const
