import { bool, file, form, int, localized, select, table, text } from '../fields.ts'
import { section } from './section.ts'

/** What may be had by an address alone. */
export const addresses = {
  deep_link_access: section('access', 'user', {
    /** Deep links lead to objects, and callers without a token are the system user `deep_link`. */
    enabled: bool(false),
    /** Links may name objects by numbers, which anybody can count. */
    allow_access_by_id: bool(false),
    /** Links may name objects by the value of a field. */
    allow_access_by_column: bool(false),
    /** What documents say of what an object links to, and of what it stands below. */
    include_parents: bool(false),
    merge_linked_objects: select(
      ['none', 'all', 'in_main_search', 'not_in_main_search', 'not_in_main_search_unless_reverse'],
      'none',
    ),
    merge_max_depth: int(1, { min: 1, max: 9 }),
    /** Which viewers front ends offer for IIIF: theirs, and these, with `%iiif_presentation_manifest.url%`. */
    iiif_default_links: bool(true),
    iiif_links: table({ label: localized(), html_code: text('', { required: true }) }, { maxRows: 50 }),
    /** What viewers must show beside an object; the value is Markdown. */
    iiif_required_statement: form({ label: localized(), value: localized() }),
  }),

  sitemaps: section('access', 'user', {
    /** Search engines get the addresses of the objects that deep links open without a token. */
    enabled: bool(false),
  }),

  detail_deep_link: section('access', 'user', {
    /** Links to pages of objects name them by number, where deep links may, in place of the uuid. */
    use_system_object_id: bool(false),
  }),

  publish: section('access', 'user', {
    /** Targets at which objects are published, by which publish records name them; the rest is for front ends. */
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
    /** Collections can be mounted as drives by their upload addresses, for reading and writing. */
    read_write_access: bool(false),
    /** Files that are dropped into the hotfolder are imported into collections. */
    hotfolder: bool(false),
    /** Seconds for which nothing about a dropped file has changed before it is imported. */
    hotfolder_wait_sec: int(15, { min: 1, max: 3600 }),
  }),

  file_url_expire: section(
    'files',
    'user',
    {
      /** Days that signed file URLs stay valid when a request does not say. */
      default_days: int(7, { min: 1, max: 3650 }),
      /** Most days that a request may ask for. */
      max_days: int(30, { min: 1, max: 3650 }),
      /** The same for those in documents behind deep links. */
      deep_link_days: int(1, { min: 1, max: 3650 }),
      /** The same for those in records that are harvested. */
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
