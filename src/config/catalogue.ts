import { RE2JS } from 're2js'
import { redirectUriRule } from '../platform/redirect-uris.ts'
import { ldapMembers, ldapRule, ldapServers, openidMembers, openidRule, samlMembers, samlRule } from './directories.ts'
import {
  bool,
  bound,
  byteSize,
  duration,
  type Field,
  file,
  form,
  int,
  list,
  localized,
  localizedOrText,
  type Members,
  secret,
  select,
  table,
  text,
  type ValuesOf,
  waiting,
} from './fields.ts'
import { builtInProfiles, renditions, renditionsRule } from './renditions.ts'
import { versionPresets, versionPresetsRule } from './version-presets.ts'

/**
 * The base configuration: every section with its members, kinds and defaults. To add one, add it here: reading,
 * writing, checking, `GET /config/list` and the static type of `baseConfig.get()` follow from this table. Names are
 * those of the interface. Members that nothing reads yet are `waiting` for what will read them.
 */

/** Who may read a section: `public` also before sign-in, `user` everybody with a token, else holders of the right. */
export type Visibility = 'public' | 'user' | 'system.config'

export interface Section<M extends Members = Members> {
  /** The page of the form. */
  readonly group: string
  readonly visible: Visibility
  readonly members: M
  readonly field: Field<ValuesOf<M>>
  /** Rules across members; returns the path below the section and what is expected there. */
  readonly rule?: (values: ValuesOf<M>) => { path: string; expected: string } | null
}

function section<const M extends Members>(
  group: string,
  visible: Visibility,
  members: M,
  rule?: (values: ValuesOf<M>) => { path: string; expected: string } | null,
  /** Where the secrets of the section are sent. */
  sentTo?: (values: ValuesOf<M>) => readonly string[],
): Section<M> {
  return { group, visible, members, field: form(members, sentTo ? { sentTo } : {}), ...(rule ? { rule } : {}) }
}

const eventGroups = [
  'ADMIN',
  'DOWNLOAD',
  'EXPORT',
  'FRONTEND',
  'INDEX',
  'LOGIN_LOGOUT',
  'PLUGIN',
  'SYSTEM',
  'TASK',
  'UPLOAD',
] as const

/** User fields that events may copy (EVENT-004). */
const copyableUserFields = [
  'address_supplement',
  'company',
  'country',
  'department',
  'first_name',
  'house_number',
  'last_name',
  'login',
  'phone',
  'postal_code',
  'reference',
  'state',
  'street',
  'town',
] as const

/** What programs may learn of the user who has signed in with them. */
const userinfoFields = [
  'address_supplement',
  'company',
  'country',
  'department',
  'displayname',
  'email',
  'email_verified',
  'first_name',
  'house_number',
  'last_name',
  'phone',
  'postal_code',
  'state',
  'street',
  'town',
] as const

/** User fields that the page for registration may ask for. */
const registrationFields = [
  'first_name',
  'last_name',
  'displayname',
  'company',
  'department',
  'phone',
  'address_supplement',
  'street',
  'house_number',
  'postal_code',
  'town',
  'state',
  'country',
] as const

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

const email = (fallback = '') => text(fallback, { type: 'email', maxLength: 320, rule: emailRule })
/** Extensions that clients of this interface know, by class. */
const extensions = {
  audio: 'aac aiff dts flac m4a mp2 mp3 oga ogg opus ra wav wma',
  image:
    'ai arw avif bmp cr2 cr3 crw dng eps gif heic ico jfif jp2 jpeg jpg nef pcd png ppm psd raf rw2 svg tif tiff webp wmf',
  office: 'csv doc docx epub indd odp ods odt otf pdf ppsx ppt pptx rtf ttf txt xls xlsx',
  video: '3gp asf avi flv hevc m2v m4v mjpeg mkv mov mp4 mpeg mpg mts mxf ogv rm swf ts vob webm wmv wtv',
} as const

/** Classes of files by their extensions; what belongs to none is `unknown`. */
export const fileClasses: Readonly<Record<keyof typeof extensions, readonly string[]>> = {
  audio: extensions.audio.split(' '),
  image: extensions.image.split(' '),
  office: extensions.office.split(' '),
  video: extensions.video.split(' '),
}

function classLimits(name: keyof typeof extensions) {
  const choices = fileClasses[name]
  return {
    uploadenabledextensions: list(choices, { choices }),
    uploadmaxfilesize: byteSize('0'),
    versions: renditions(name, choices),
  }
}

const httpUrl = (required: boolean) => text('', { required, maxLength: 2000, rule: urlRule })

export const sections = {
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

  languages: section('languages', 'public', {
    /** Languages of multi-language fields, best first; the first is the one that sorts and titles fall back to. */
    database: table(
      {
        value: text('', { required: true, maxLength: 35, rule: languageRule }),
        displayname: localized(),
        date_format: select(['cldr', 'ca', 'da', 'de', 'us'], 'cldr'),
        time_format: select(['cldr', 'da', 'de', 'us'], 'cldr'),
        number_format: select(['cldr', 'ca', 'de', 'fi', 'it', 'us'], 'cldr'),
      },
      { default: [{ value: 'en-US' }, { value: 'de-DE' }], key: 'value', required: true, maxRows: 100 },
    ),
    frontend: list(['en-US', 'de-DE'], { choices: frontendLanguages, sorted: true, required: true }),
  }),

  login: section('access', 'public', {
    /** How long a browser stays signed in when the user asks for it. */
    keep_login: select(['off', '7d', '30d'], 'off'),
    /** Whether people may come in without an account. */
    guest: bool(false),
    label: localized(),
    placeholder: localized(),
    info: localized(),
  }),

  password: section('access', 'user', {
    /** Every pattern must be found in a new password. */
    check: table({ regexp: text('', { required: true, maxLength: 1000, rule: regexpRule }) }, { maxRows: 20 }),
    hint: localized(),
    /** `attempts` wrong passwords within `minutes` block further ones until the minutes are over; 0 never blocks. */
    blockclient: form({ attempts: int(10, { max: 1000 }), minutes: int(5, { min: 1, max: 1440 }) }),
  }),

  registration: section('access', 'public', {
    /** Whether people may make accounts for themselves. */
    active: bool(false),
    info: localized(),
    /** What they have to agree to; none: nothing. */
    terms: localized(),
    /** What the terms are called where it is kept who has agreed to them; none: a hash of their text. */
    terms_version: text('', { maxLength: 100 }),
    /** What is asked for beside address and password, in this order. */
    fields: table(
      { name: select(registrationFields, 'first_name'), required: bool(false) },
      {
        default: [
          { name: 'first_name', required: true },
          { name: 'last_name', required: true },
        ],
        key: 'name',
        maxRows: registrationFields.length,
      },
    ),
    /** Groups that they are put into, beside that of all who have registered. */
    groups: table({ group_id: int(1, { min: 1 }) }, { key: 'group_id', maxRows: 100 }),
  }),

  /** Decided in auth/factors. */
  two_factor: section('user-management', 'system.config', {
    /** Off: nobody is asked for a second factor, whatever groups say. */
    enabled: bool(true),
    methods: list(['passkey', 'totp'], { choices: ['email', 'passkey', 'totp'], sorted: true, required: true }),
    /** Whether the password grant does for users who must prove a second factor. */
    allow_password_grant: bool(false),
  }),

  oauth2: section('user-management', 'system.config', {
    clients: table(
      {
        name: text('', { required: true, maxLength: 200 }),
        /** bcrypt hash, at most 14 rounds (LIM-003); none makes the client public. */
        secret: secret(bcryptRule),
        redirect_uris: table(
          { url: text('', { required: true, maxLength: 2000, rule: redirectUriRule }) },
          { maxRows: 100 },
        ),
      },
      { key: 'name' },
    ),
    /** Seconds in code, durations on the wire (LIM-001). */
    expirations: form({
      access_token: duration('24h', { min: 60 }),
      refresh_token: duration('720h', { min: 60 }),
    }),
  }),

  ldap: section('user-management', 'system.config', ldapMembers, ldapRule, ldapServers),

  saml: section('user-management', 'system.config', samlMembers, samlRule),

  /** Where this service asks others who somebody is; `openid` is what it tells others itself. */
  openid_connect: section('user-management', 'system.config', openidMembers, openidRule),

  openid: section('user-management', 'system.config', {
    /** What `/oauth2/userinfo` tells besides `sub`. */
    userinfo: list([], { choices: userinfoFields }),
  }),

  user: section('user-management', 'user', {
    default_delete_policy: select(['ask', 'archive', 'delete'], 'ask'),
    /** Groups whose user-logged events carry the acting user (EVENT-002). */
    user_in_event_group: list([], { choices: eventGroups }),
    /** User fields copied into `info` of events (EVENT-004). */
    copy_to_event: list([], { choices: copyableUserFields }),
  }),

  email: section('email', 'system.config', {
    from: email(),
    signature: localized(),
    admin_emails: waiting(
      table({ email: text('', { type: 'email', required: true, maxLength: 320, rule: emailRule }) }),
      'no mail is sent to administrators yet',
    ),
  }),

  email_server: section(
    'email',
    'system.config',
    {
      /** Host and port, such as `smtp.example.org:587`; empty: no mail is sent. */
      server_addr: text('', { maxLength: 300, rule: hostAndPortRule }),
      helo_domain: text('', { maxLength: 253 }),
      type: select(['off', 'starttls', 'tls'], 'starttls'),
      insecure_skip_verify: bool(false),
      plain_auth: form({ identity: text(), username: text(), password: secret() }),
      login_auth: form({ username: text(), password: secret() }),
      cram_md5_auth: form({ username: text(), password: secret() }),
    },
    ({ plain_auth, login_auth, cram_md5_auth }) => {
      const used = [plain_auth, login_auth, cram_md5_auth].filter((auth) => auth.username !== '')
      return used.length > 1 ? { path: '', expected: 'one way to sign in at the server' } : null
    },
    ({ server_addr, type, insecure_skip_verify }) =>
      server_addr === '' ? [] : [`${server_addr} ${type} ${insecure_skip_verify}`],
  ),

  transition_webhook: section('workflow', 'system.config', {
    webhooks: table(
      {
        name: text('', { required: true, maxLength: 200 }),
        url: httpUrl(true),
        method: select(['POST', 'PUT'], 'POST'),
        /** Key of the signatures in `X-Hub-Signature` and `X-Hub-Signature-256`. */
        secret: secret(),
        /** Seconds; 0 is the service's own limit. */
        timeout: int(0, { max: 600 }),
        send_authorization_header: bool(false),
        include_access_token: bool(false),
      },
      { key: 'name', sentTo: ({ url }) => [url] },
    ),
  }),

  location_defaults: section('files', 'system.config', {
    /** Name of the location where uploaded files are stored. */
    originals: text('file', { required: true, maxLength: 100 }),
    /** The same for renditions; empty: where originals are. */
    versions: text('', { maxLength: 100 }),
    backups: waiting(text('', { maxLength: 100 }), 'backups are files of whoever makes them'),
  }),

  produce_config: section(
    'files',
    'user',
    {
      /** Which files are taken, and what is made of them, by class. Sizes such as `500MB`; 0: that of the whole; there 0: any. */
      value: form({
        classes: form({
          audio: form(classLimits('audio')),
          image: form(classLimits('image')),
          office: form(classLimits('office')),
          video: form(classLimits('video')),
        }),
        uploadallowunknown: bool(true),
        uploadmaxfilesize: byteSize('0'),
      }),
    },
    ({ value }) => {
      for (const [name, { versions }] of Object.entries(value.classes)) {
        const broken = renditionsRule(versions)
        if (broken) return { ...broken, path: `/value/classes/${name}/versions${broken.path}` }
      }
      return null
    },
  ),

  custom_version_presets: section(
    'files',
    'user',
    {
      /** Pictures that downloads may ask for by a name. */
      value: form({ presets: versionPresets }),
    },
    ({ value }) => {
      const broken = versionPresetsRule(value.presets)
      return broken && { ...broken, path: `/value/presets${broken.path}` }
    },
  ),

  colorprofiles: section('files', 'user', {
    /** Profiles (ICC) that renditions may be converted to, beside those that the service has. */
    profiles: table(
      { profilename: text('', { required: true, maxLength: 100, rule: profileNameRule }), profile: file() },
      { key: 'profilename', maxRows: 50 },
    ),
  }),

  janitor: section('janitor', 'system.config', {
    /** Whether anything is taken away by itself. */
    active: bool(true),
    /** Days after which an upload goes that no object has. */
    file_expire_days: int(30, { min: 1, max: 3650 }),
    object_and_file_removal: form({
      /** Whether pools and object types may say something else for their objects. */
      allow_overwrite: bool(true),
      /** Which former versions of objects keep their files; none of both: all. */
      file_link_delete: form({
        keep_count_history_versions: bound(),
        keep_days_history_versions: bound(),
      }),
      /** Days in the trash after which objects are purged; none: they stay. */
      object_purge: form({ min_deleted_days: bound({ min: 1 }) }),
    }),
  }),

  deep_link_access: section('access', 'system.config', {
    /** Callers without a token are the system user `deep_link`. */
    enabled: bool(false),
    allow_access_by_id: waiting(bool(false), 'there are no deep links to objects yet'),
    allow_access_by_column: waiting(bool(false), 'there are no deep links to objects yet'),
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

export type SectionName = keyof typeof sections

/** The base configuration as the code reads it; immutable. */
export type BaseConfig = { readonly [K in SectionName]: ValuesOf<(typeof sections)[K]['members']> }

export const sectionNames = Object.keys(sections) as SectionName[]

export function isSectionName(name: string): name is SectionName {
  return Object.hasOwn(sections, name)
}

function profileNameRule(name: string): string | null {
  return ['srgb', 'keep', '-', ...builtInProfiles].includes(name) || name.startsWith('#')
    ? 'a name that no profile of the service has'
    : null
}

function languageRule(tag: string): string | null {
  try {
    return Intl.getCanonicalLocales(tag)[0] === tag ? null : `written as ${Intl.getCanonicalLocales(tag)[0]}`
  } catch {
    return 'a language tag (BCP 47) such as en-US'
  }
}

function colourRule(colour: string): string | null {
  return /^#[0-9a-f]{6}$/i.test(colour) ? null : 'a colour such as #1f5fae'
}

/** What a page shows by itself: browsers run no scripts in pictures. */
function logoRule(address: string): string | null {
  const picture = /^data:image\/(png|jpeg|webp|gif|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/
  return picture.test(address) ? null : 'a picture such as data:image/png;base64,… of 40 KB at most'
}

function emailRule(address: string): string | null {
  return /^[^\s@<>"]+@[^\s@<>"]+$/.test(address) ? null : 'an email address'
}

function urlRule(url: string): string | null {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? null : 'an absolute http or https URL'
}

function hostAndPortRule(address: string): string | null {
  const port = Number(/^[^\s/:]+:(\d{1,5})$/.exec(address)?.[1])
  return port >= 1 && port <= 65_535 ? null : 'host:port'
}

function regexpRule(source: string): string | null {
  try {
    RE2JS.compile(source)
    return null
  } catch {
    return 'a regular expression (RE2: no look-ahead, no back references)'
  }
}

/** LIM-003: a client secret is a bcrypt hash with at most 14 rounds. */
export function bcryptRule(hash: string): string | null {
  const rounds = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1]
  if (rounds === undefined) return 'a bcrypt hash'
  return Number(rounds) <= 14 ? null : 'a bcrypt hash with at most 14 rounds'
}
