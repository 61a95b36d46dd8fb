import type { Localized } from '../../platform/values/localized.ts'
import { wrong } from '../fields/field.ts'
import { form, table, waiting } from '../fields/forms.ts'
import { bool, list, localized, localizedOrText, select, text } from '../fields/values.ts'
import { picture, pictureOrAddress } from '../pictures.ts'
import { synonyms, synonymsFile } from '../synonyms.ts'
import { colourRule, languageRule, urlRule } from './rules.ts'
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

/** An address for each language. */
function localizedUrls() {
  const texts = localized()
  return {
    ...texts,
    check(wire: unknown, path: string, stored: unknown): unknown {
      const checked = texts.check(wire, path, stored) as Localized
      for (const [language, url] of Object.entries(checked)) {
        if (url.length > 2000 || urlRule(url) !== null)
          throw wrong(`${path}/${language}`, 'an absolute http or https URL')
      }
      return checked
    },
  }
}

function iconRule(name: string): string | null {
  return /^[a-z0-9-]+$/.test(name) ? null : 'the name of an icon such as fa-cloud-download'
}

const foldsWords = waiting(bool(true), 'words are always compared without case and accents')

/** Name, appearance and languages of the instance. */
export const general = {
  name: section('general', 'public', {
    internal_name: text('', { maxLength: 200 }),
    title: localizedOrText({ maxLength: 200 }),
    description: localized(),
  }),

  appearance: section('general', 'public', {
    /** Colours of the pages of the service; none: the built-in ones. */
    brand_color: text('', { type: 'color', maxLength: 7, rule: colourRule }),
    background_color: text('', { type: 'color', maxLength: 7, rule: colourRule }),
    /** Picture above the pages in place of the name, a file or a `data:` address. It is embedded in each page. */
    logo: pictureOrAddress({ mostBytes: 45_000 }),
    /** The link of the picture, by language; none: no link. */
    logo_external_url: localizedUrls(),
    /** Icon of the pages in the browser; none: the built-in one. */
    favicon: picture({ mostBytes: 20_000 }),
    /** Background picture of the pages. */
    login_background: picture({ mostBytes: 300_000 }),
    /** The start page of front ends, before a search. */
    welcome_splash: select(['svc', 'custom_logo', 'off'], 'svc'),
    /** Colours and icons that front ends offer for tags. */
    tag_colors: table(
      { tag_color: text('', { type: 'color', required: true, maxLength: 7, rule: colourRule }) },
      { maxRows: 200 },
    ),
    tag_icons: table({ 'fa-icon': text('', { required: true, maxLength: 100, rule: iconRule }) }, { maxRows: 1000 }),
  }),

  openapi_spec_endpoint: section('general', 'system.config', {
    /** Whether the description of the interface is readable without a user. */
    active: bool(true),
  }),

  object_index_event: section('general', 'system.config', {
    /** Whether the event log has an event for each saved object once searches find its new state. */
    active: bool(false),
  }),

  purge: section('general', 'system.config', {
    /** Whether root may reset the instance to its initial state, if the configuration of the process also allows it. */
    allow_purge: bool(false),
    /** Whether the reset also deletes the contents of files, in locations that allow it. */
    purge_storage: bool(false),
  }),

  logging: section('general', 'system.config', {
    /** The least severe lines of the log, in all processes at once; empty: as each process is configured (`svc.logLevel`). */
    level: select(['', 'trace', 'debug', 'info', 'warn', 'error'], ''),
    /** Whether each request has its line with the time that it took, whatever the level is. */
    timings: bool(false),
  }),

  readonly: section('general', 'system.config', {
    /** Whether everything that changes stored data is refused, as by `svc.readOnly`; only this can be switched off again. */
    enabled: bool(false),
  }),

  indexer: section('general', 'system.config', {
    /** The comparison of words that have no language. */
    default_analyzer: form({ icu_folding: foldsWords }),
  }),

  languages: section('languages', 'public', {
    /** Languages of multi-language fields, best first; the first is the fallback for sorting and titles. */
    database: table(
      {
        value: text('', { required: true, maxLength: 35, rule: languageRule }),
        displayname: localized(),
        date_format: select(['cldr', 'ca', 'da', 'de', 'us'], 'cldr'),
        time_format: select(['cldr', 'da', 'de', 'us'], 'cldr'),
        number_format: select(['cldr', 'ca', 'de', 'fi', 'it', 'us'], 'cldr'),
        /** The comparison of words of this language in searches. */
        analyzer: form({
          icu_folding: foldsWords,
          synonyms: synonyms(),
          /** The same as a text file, in addition to those. */
          synonyms_file: synonymsFile(),
        }),
      },
      { default: [{ value: 'en-US' }, { value: 'de-DE' }], key: 'value', required: true, maxRows: 100 },
    ),
    frontend: list(['en-US', 'de-DE'], { choices: frontendLanguages, sorted: true, required: true }),
  }),
} as const
