import { bool, file, form, list, localized, localizedOrText, select, table, text, waiting } from '../fields.ts'
import { synonyms } from '../synonyms.ts'
import { colourRule, languageRule, logoRule } from './rules.ts'
import { section } from './section.ts'

const frontendLanguages = [
  'da-DK',
  'de-DE',
  'en-US',
  'fi-FI',
  'fr-FR',
  'it-IT',
  'ru-RU',
  'sv-SE',
  'tvl-TV',
  'uz-UZ',
] as const

/** What the instance is called, how it looks and which languages it speaks. */
export const general = {
  name: section('general', 'public', {
    internal_name: text('', { maxLength: 200 }),
    title: localizedOrText({ maxLength: 200 }),
    description: localized(),
  }),

  appearance: section('general', 'public', {
    /** Colours of the pages of the service; none: its own. */
    brand_color: text('', { type: 'color', maxLength: 7, rule: colourRule }),
    background_color: text('', { type: 'color', maxLength: 7, rule: colourRule }),
    /** Picture above the pages in place of the name, as a `data:` address: it stands in each page. */
    logo: text('', { maxLength: 60_000, rule: logoRule }),
  }),

  openapi_spec_endpoint: section('general', 'system.config', {
    /** Whether the description of the interface is readable without a user. */
    active: bool(true),
  }),

  object_index_event: section('general', 'system.config', {
    /** Whether each saved object is told of in the event log once searches find it as it is. */
    active: bool(false),
  }),

  purge: section('general', 'system.config', {
    /** Whether root may bring the instance to its first state, where the configuration of the process allows it too. */
    allow_purge: bool(false),
    /** Whether the contents of files go then, in locations that allow it. */
    purge_storage: bool(false),
  }),

  languages: section('languages', 'public', {
    /** Languages of multi-language fields, best first; the first is the one that sorts and titles fall back to. */
    database: table(
      {
        value: text('', { required: true, maxLength: 35, rule: languageRule }),
        displayname: localized(),
        date_format: select(['cldr', 'ca', 'da', 'de', 'us'], 'cldr'),
        time_format: select(['cldr', 'da', 'de', 'us'], 'cldr'),
        number_format: select(['cldr', 'ca', 'de', 'fi', 'it', 'us'], 'cldr'),
        /** How words of this language are compared in searches. */
        analyzer: form({
          icu_folding: waiting(bool(true), 'words are always compared without case and accents'),
          synonyms: synonyms(),
          synonyms_file: waiting({ ...file(), required: false }, 'synonyms are given in `synonyms`'),
        }),
      },
      { default: [{ value: 'en-US' }, { value: 'de-DE' }], key: 'value', required: true, maxRows: 100 },
    ),
    frontend: list(['en-US', 'de-DE'], { choices: frontendLanguages, sorted: true, required: true }),
  }),
} as const
