/**
 * The catalogue of event types (specification, Events). The groups, and the types that are not in the specification, are those that
 * clients of this interface know (decision 18); a test checks docs/events.md against this table.
 */

export const eventGroups = [
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

export type EventGroup = (typeof eventGroups)[number]

export interface EventTypeDefinition {
  readonly group: EventGroup
  /** Whether it has the acting user when the group is enabled in `user_in_event_group` (EVENT-002). */
  readonly userLogged: boolean
  /** Returned by the poll endpoint and the stream (EVENT-005). */
  readonly pollable: boolean
  /** Whether it has the user regardless of `user_in_event_group`: login events (EVENT-003). */
  readonly alwaysUser: boolean
  /** Keys of `info` in events of this type. The `info` of front ends and plugins is stored as sent. */
  readonly info: readonly string[]
  /**
   * Whether this service or a front end writes events of this type. Other types are known to clients, and may occur in an imported
   * old log.
   */
  readonly written: boolean
}

type Flags = '' | 'UL' | 'P' | 'UL P' | 'LOGIN'

function type(group: EventGroup, flags: Flags, info = ''): EventTypeDefinition {
  return {
    group,
    userLogged: flags.startsWith('UL') || flags === 'LOGIN',
    pollable: flags.endsWith('P'),
    alwaysUser: flags === 'LOGIN',
    info: info === '' ? [] : info.split(' '),
    written: true,
  }
}

/** A type whose cause does not occur in this service. */
function unwritten(...definition: Parameters<typeof type>): EventTypeDefinition {
  return { ...type(...definition), written: false }
}

const object = type('SYSTEM', 'UL P', 'standard state')
const user = type('SYSTEM', 'UL P', 'login displayname reference')
const group = type('SYSTEM', 'UL P', 'name displayname reference')
const named = type('SYSTEM', 'UL P', 'displayname shortname reference')
const message = type('SYSTEM', 'UL P', 'title message reference')
const preset = type('SYSTEM', 'UL P', 'displayname context')
const transition = type('SYSTEM', 'UL P', 'type operation_insert operation_update operation_delete comment')
const mapping = type('SYSTEM', 'UL P', 'displayname profilename')
const collection = type('SYSTEM', 'UL P', 'displayname shortname reference')
const backup = 'Started Elapsed BackupOpts'
const email = 'Template To Cc Bcc Subject Attachments Collection CollectionID CollectionURL User UserID TaskID'
const metadata = 'recipe receipt body'
const produce = 'recipe receipt connInfos'
const fileDelete = 'location_key location_id filename log'
const janitor = 'type run_time batch_size count log system_object_ids'
const upload =
  'path object_in_batch file_eas_id file filesize metadata_mapping_profile log_entry plugin msg status system_object_id'
const download = 'file bytes_count statuscode url produce_params'
const exportDownload = 'state url bytes_count export files'
const task = 'task_module params status status_msg start end took'
const exported = 'state totalCount warnings plugin_log'
const login = 'method client groups two_factor login loginused idp plugin_user plugin_user_id'
const transport = 'state transport transport_state transport_log job_receipt email_sent_to email_sent_error'

export const eventTypes = {
  // ADMIN
  BACKUP_DONE: type('ADMIN', 'UL P', backup),
  BACKUP_FAILED: type('ADMIN', 'UL P', `${backup} Error`),
  BASE_CONFIG_UPDATE: type('ADMIN', 'UL P', 'ScopedNames Method Path'),
  BASE_CONFIG_ERROR: type('ADMIN', 'UL', 'Error Method Path'),
  DATAMODEL_COMMIT: type('ADMIN', 'UL P', 'version committed_at'),

  // SYSTEM
  OBJECTTYPE_UPDATE: type('SYSTEM', 'UL P'),
  USER_INSERT: user,
  USER_UPDATE: user,
  USER_DELETE: user,
  GROUP_INSERT: group,
  GROUP_UPDATE: group,
  GROUP_DELETE: group,
  POOL_INSERT: named,
  POOL_UPDATE: named,
  POOL_DELETE: named,
  TAG_INSERT: named,
  TAG_UPDATE: named,
  TAG_DELETE: named,
  MESSAGE_INSERT: message,
  MESSAGE_UPDATE: message,
  MESSAGE_DELETE: message,
  RIGHT_PRESET_INSERT: preset,
  RIGHT_PRESET_UPDATE: preset,
  RIGHT_PRESET_DELETE: preset,
  TRANSITION_INSERT: transition,
  TRANSITION_UPDATE: transition,
  TRANSITION_DELETE: transition,
  TRANSITION_WITHHELD: type('SYSTEM', '', 'action reason set_by count system_object_ids'),
  MAPPING_INSERT: mapping,
  MAPPING_UPDATE: mapping,
  MAPPING_DELETE: mapping,
  CUSTOM_DATA_TYPE_UPDATER: type('SYSTEM', 'UL', 'log stats'),
  CUSTOM_DATA_TYPE_UPDATER_ERROR: type('SYSTEM', 'UL', 'log stats error'),
  EMAIL_SENT: type('SYSTEM', '', email),
  EMAIL_SENT_FAILED: type('SYSTEM', '', `${email} Error`),
  FILE_METADATA: type('SYSTEM', 'UL', 'metadata'),
  FILE_METADATA_ERROR: type('SYSTEM', 'UL', metadata),
  FILE_PRODUCE: type('SYSTEM', '', produce),
  FILE_PRODUCE_ERROR: type('SYSTEM', '', produce),
  FILE_DELETE: type('SYSTEM', '', fileDelete),
  FILE_DELETE_ERROR: type('SYSTEM', '', `${fileDelete} error`),
  FILE_MOVE: type('SYSTEM', '', 'remote_url location_key location_id startet took size'),
  FILE_MOVE_ERROR: type('SYSTEM', '', 'remote_url location_key location_id error'),
  NOTIFICATION_SCHEDULER_FAILED: type('SYSTEM', '', 'Error'),
  LICENSE_VALIDATION_FAILED: unwritten('SYSTEM', '', 'Error'),
  LICENSE_EXPIRATION_EMAIL: unwritten(
    'SYSTEM',
    '',
    'expire_type days valid_to grace_to external_url email_to email_cc',
  ),
  LICENSE_BINARY_TOO_NEW_EMAIL: unwritten('SYSTEM', '', 'version binary_release_date valid_to external_url'),
  OBJECT_INSERT: object,
  OBJECT_UPDATE: object,
  OBJECT_DELETE: object,
  OBJECT_UNDELETE: object,
  OBJECT_PURGE: object,
  COLLECTION_INSERT: collection,
  COLLECTION_UPDATE: collection,
  COLLECTION_DELETE: collection,
  COLLECTION_UPLOAD: type('SYSTEM', 'UL P', upload),
  JANITOR: type('SYSTEM', '', janitor),
  JANITOR_ERROR: type('SYSTEM', '', `${janitor} error`),
  WEBHOOK: type('SYSTEM', '', 'webhook response response_no_json'),
  WEBHOOK_ERROR: type('SYSTEM', '', 'webhook response response_no_json error'),

  // INDEX
  OBJECT_INDEX: type('INDEX', '', 'Priority IndexName'),
  OBJECT_INDEX_ERROR: type('INDEX', '', 'IndexName DocID Error'),
  OBJECT_INDEX_REQUEUE: type('INDEX', '', 'IndexName DocID Error'),
  INDEX_SWITCH: type('INDEX', 'P', 'IndexNames Deleted Errors'),
  REINDEX_START: type('INDEX', 'P', 'Datamodel BlockFrontend'),
  REINDEX_QUEUED: type('INDEX', '', 'Counts IndexVersions Took'),
  REINDEX_DONE: type('INDEX', 'P', 'BlockFrontend IndexVersionsQueued IndexVersions Took'),
  REINDEX_ERROR: type('INDEX', 'P', 'BlockFrontend IndexVersionsQueued IndexVersions Took Error'),
  REINDEX_INDEX_PURGED: unwritten('INDEX', 'UL', 'Indexes'),

  // FRONTEND: written by front ends, `info` stored as sent
  SEARCH: type('FRONTEND', 'UL', 'request response version'),
  DETAIL_VIEW: type('FRONTEND', 'UL', 'global_object_id object_id objecttype pool connector_name connector_url'),
  FRONTEND_ERROR: type('FRONTEND', 'UL', 'message stack navigator'),
  ASSET_DOWNLOAD_CONFIRMATION_MESSAGE: type('FRONTEND', 'UL', 'identifier choices assets global_object_ids'),

  // LOGIN_LOGOUT
  USER_LOGIN: type('LOGIN_LOGOUT', 'LOGIN', login),
  USER_LOGIN_FAILED: type('LOGIN_LOGOUT', 'LOGIN', `${login} error attempt`),
  USER_LOGOUT: type('LOGIN_LOGOUT', 'LOGIN', 'scope user_id bound_browser reason client method groups error'),
  LDAP_DEBUG: type('LOGIN_LOGOUT', 'UL', 'log'),
  LDAP_ERROR: type('LOGIN_LOGOUT', 'UL', 'log'),
  OPENID_DEBUG: type('LOGIN_LOGOUT', 'UL', 'log'),
  OPENID_ERROR: type('LOGIN_LOGOUT', 'UL', 'log'),
  SAML_DEBUG: type('LOGIN_LOGOUT', 'UL', 'log'),
  SAML_ERROR: type('LOGIN_LOGOUT', 'UL', 'log'),

  // TASK
  TASK_INSERT: type('TASK', 'UL', 'module description'),
  TASK_UPDATE: type('TASK', 'UL', 'module description'),
  TASK_DELETE: type('TASK', 'UL'),
  TASK: type('TASK', 'UL', task),
  TASK_ERROR: type('TASK', 'UL', `${task} error`),

  // EXPORT: these have the user like the other groups of `user_in_event_group`
  EXPORT_START: type('EXPORT', 'UL', 'state lastRunAt'),
  EXPORT_FINISH: type('EXPORT', 'UL', exported),
  EXPORT_FINISH_EMPTY: type('EXPORT', 'UL', exported),
  EXPORT_FAILED: type('EXPORT', 'UL', `${exported} error job_receipt`),
  EXPORT_CANCELED: type('EXPORT', 'UL', exported),
  EXPORT_TRANSPORT: type('EXPORT', 'UL', 'state'),
  EXPORT_TRANSPORT_FINISH: type('EXPORT', 'UL', transport),
  EXPORT_TRANSPORT_FAILED: type('EXPORT', 'UL', `${transport} error`),

  // UPLOAD
  FILE_UPLOAD: type('UPLOAD', 'UL', 'file'),
  FILE_UPLOAD_REMOTE: type('UPLOAD', 'UL', 'file'),
  FILE_UPLOAD_ERROR: type('UPLOAD', 'UL', 'file error'),

  // DOWNLOAD
  FILE_DOWNLOAD: type('DOWNLOAD', 'UL', download),
  FILE_DOWNLOAD_ERROR: type('DOWNLOAD', 'UL', `${download} error`),
  OBJECT_DOWNLOAD: type(
    'DOWNLOAD',
    'UL',
    'export_type export_id export_user_id export_producer export_has_schedules url oai_pmh',
  ),
  EXPORT_DOWNLOAD: type('DOWNLOAD', 'UL', exportDownload),
  EXPORT_DOWNLOAD_ERROR: type('DOWNLOAD', 'UL', `${exportDownload} error`),
} as const satisfies Record<string, EventTypeDefinition>

export type EventType = keyof typeof eventTypes

/** Groups whose types any authenticated user may write (EVAPI-004). */
export const openGroups: ReadonlySet<EventGroup> = new Set(['FRONTEND', 'PLUGIN'])

/** The definition of a built-in type, or `undefined`. */
export function builtInType(name: string): EventTypeDefinition | undefined {
  return Object.hasOwn(eventTypes, name) ? eventTypes[name as EventType] : undefined
}
