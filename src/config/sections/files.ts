import { isTimeZone } from '../../platform/values/schedule.ts'
import { bool, bound, byteSize, file, form, int, list, select, table, text } from '../fields.ts'
import { builtInProfiles, renditions, renditionsRule } from '../renditions.ts'
import { versionPresets, versionPresetsRule } from '../version-presets.ts'
import { section } from './section.ts'

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

function timeZoneRule(name: string): string | null {
  return isTimeZone(name) ? null : 'a time zone such as Europe/Berlin'
}

function profileNameRule(name: string): string | null {
  return ['srgb', 'keep', '-', ...builtInProfiles].includes(name) || name.startsWith('#')
    ? 'a name that no profile of the service has'
    : null
}

/** Where files lie, what is made of them, and when they go. */
export const files = {
  location_defaults: section('files', 'system.config', {
    /** Name of the location where uploaded files are stored. */
    originals: text('file', { required: true, maxLength: 100 }),
    /** The same for renditions; empty: where originals are. */
    versions: text('', { maxLength: 100 }),
    /** Where backups that are made over the interface are stored; empty: none can be made. */
    backups: text('', { maxLength: 100 }),
  }),

  backup_scheduler: section(
    'files',
    'system.config',
    {
      /** Whether a backup is made each day, into `location_defaults.backups`. */
      active: bool(false),
      /** The hour, in the time zone. */
      hour: int(2, { max: 23 }),
      /** Such as `Europe/Berlin`; empty: UTC. */
      timezone: text('', { maxLength: 100, rule: timeZoneRule }),
      format: select(['native', 'postgres', 'pg_dump'], 'native'),
      include_events: bool(true),
      /** Of scheduled backups the last one of each of so many days, weeks and months is kept; the others go. */
      keep_daily: int(7, { max: 1000 }),
      keep_weekly: int(4, { max: 1000 }),
      keep_monthly: int(12, { max: 1000 }),
    },
    ({ keep_daily, keep_weekly, keep_monthly }) =>
      keep_daily + keep_weekly + keep_monthly > 0
        ? null
        : { path: '/keep_daily', expected: 'at least 1 where nothing else is kept' },
  ),

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

  custom_data_type_updater: section('janitor', 'system.config', {
    /** Whether plugins bring the values of their types up to date. */
    active: bool(false),
  }),

  janitor: section('janitor', 'system.config', {
    /** Whether anything is taken away by itself. */
    active: bool(true),
    /** Days after which events lose the address that they came from; none: they keep it. */
    event_remote_addr_expire_days: bound(),
    /** Days after which events go, by their group; none: they stay. */
    events: form({
      expire_days_ADMIN: bound(),
      expire_days_DOWNLOAD: bound(),
      expire_days_EXPORT: bound(),
      expire_days_FRONTEND: bound(),
      expire_days_INDEX: bound(),
      expire_days_LOGIN_LOGOUT: bound(),
      expire_days_PLUGIN: bound(),
      expire_days_SYSTEM: bound(),
      expire_days_TASK: bound(),
      expire_days_UPLOAD: bound(),
    }),
    users: form({
      /** Days without a sign-in after which users are archived; none: they stay. */
      archive_nonactive_after_days: bound(),
      /** Whom that is about. */
      archive_types: list([], { choices: ['native', 'native_self_register', 'ldap', 'sso'] }),
      /** Days in the archive after which users are deleted; none: they stay. */
      delete_archived_after_days: bound(),
    }),
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
} as const
