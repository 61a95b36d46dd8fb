import { bool, file, int, localized, select, table, text, waiting } from '../fields.ts'
import { section } from './section.ts'

/** What may be had by an address alone. */
export const addresses = {
  deep_link_access: section('access', 'system.config', {
    /** Callers without a token are the system user `deep_link`. */
    enabled: bool(false),
    allow_access_by_id: waiting(bool(false), 'there are no deep links to objects yet'),
    allow_access_by_column: waiting(bool(false), 'there are no deep links to objects yet'),
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
    hotfolder: waiting(bool(false), 'there is no hotfolder yet'),
    hotfolder_wait_sec: waiting(int(15, { min: 1, max: 3600 }), 'there is no hotfolder yet'),
  }),

  file_url_expire: section(
    'files',
    'user',
    {
      /** Days that signed file URLs stay valid when a request does not say. */
      default_days: int(7, { min: 1, max: 3650 }),
      /** Most days that a request may ask for. */
      max_days: int(30, { min: 1, max: 3650 }),
      deep_link_days: waiting(int(1, { min: 1, max: 3650 }), 'there are no deep links yet'),
      oai_pmh_days: waiting(int(7, { min: 1, max: 3650 }), 'there is no OAI-PMH yet'),
    },
    ({ default_days, max_days }) =>
      default_days > max_days ? { path: '/default_days', expected: `at most max_days (${max_days})` } : null,
  ),
} as const
