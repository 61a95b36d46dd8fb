import { isTimeZone } from '../../platform/values/schedule.ts'
import { form, table } from '../fields/forms.ts'
import { bool, bound, byteSize, file, int, list, select, text } from '../fields/values.ts'
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

/** Classes of files by their extensions; files with another extension are `unknown`. */
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

/** Settings for the location of files, their renditions, and their deletion. */
export const files = {
  location_defaults: section('files', 'system.config', {
    /** Name of the location where uploaded files are stored. */
    originals: text('file', { required: true, maxLength: 100 }),
    /** The same for renditions; empty: the location of originals. */
    versions: text('', { maxLength: 100 }),
    /** The location of backups that are created over the interface; empty: none can be created. */
    backups: text('', { maxLength: 100 }),
  }),

  backup_scheduler: section(
    'files',
    'system.config',
    {
      /** Whether a backup is created each day, in `location_defaults.backups`. */
      active: bool(false),
      /** The hour, in the time zone. */
      hour: int(2, { max: 23 }),
      /** Such as `Europe/Berlin`; empty: UTC. */
      timezone: text('', { maxLength: 100, rule: timeZoneRule }),
      format: select(['native', 'postgres', 'pg_dump'], 'native'),
      include_events: bool(true),
      /** For scheduled backups: the last one of each of this number of days, weeks and months is kept; the others are deleted. */
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
      /**
       * The accepted files and their renditions, by class. Sizes such as `500MB`; 0: the limit of the whole section, where 0 means
       * no limit.
       */
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
      /** Named presets of pictures for downloads. */
      value: form({ presets: versionPresets }),
    },
    ({ value }) => {
      const broken = versionPresetsRule(value.presets)
      return broken && { ...broken, path: `/value/presets${broken.path}` }
    },
  ),

  colorprofiles: section('files', 'user', {
    /** Colour profiles (ICC) for renditions, beside the built-in ones. */
    profiles: table(
      { profilename: text('', { required: true, maxLength: 100, rule: profileNameRule }), profile: file() },
      { key: 'profilename', maxRows: 50 },
    ),
  }),

  custom_data_type_updater: section('janitor', 'system.config', {
    /** Whether plugins update the values of their types. */
    active: bool(false),
  }),

  janitor: section('janitor', 'system.config', {
    /** Whether any data is deleted automatically. */
    active: bool(true),
    /** Days after which the address of the caller is removed from events; none: it stays. */
    event_remote_addr_expire_days: bound(),
    /** Days after which events are deleted, by their group; none: they stay. */
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
      /** The types of users that are archived and deleted. */
      archive_types: list([], { choices: ['native', 'native_self_register', 'ldap', 'sso'] }),
      /** Days in the archive after which users are deleted; none: they stay. */
      delete_archived_after_days: bound(),
    }),
    /** Days after which an upload is deleted that no object has. */
    file_expire_days: int(30, { min: 1, max: 3650 }),
    object_and_file_removal: form({
      /** Whether pools and object types may have other values for their objects. */
      allow_overwrite: bool(true),
      /** Number and age of former versions of objects that keep their files; neither: all keep them. */
      file_link_delete: form({
        keep_count_history_versions: bound(),
        keep_days_history_versions: bound(),
      }),
      /** Days in the trash after which objects are purged; none: they stay. */
      object_purge: form({ min_deleted_days: bound({ min: 1 }) }),
    }),
  }),
} as const
