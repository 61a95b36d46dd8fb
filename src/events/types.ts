/**
 * The catalogue of event types (specification, Events; decision 15 for the groups). Types that the specification does
 * not name are chosen here by the prefix of their group; docs/events.md is checked against this table by a test.
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
  /** Carries the acting user when the group is enabled in `user_in_event_group` (EVENT-002). */
  readonly userLogged: boolean
  /** Returned by the poll endpoint and the stream (EVENT-005). */
  readonly pollable: boolean
  /** Carries the user whatever `user_in_event_group` says: login events (EVENT-003). */
  readonly alwaysUser: boolean
  /** Keys of `info` that events of this type may hold; what a front end or a plugin sends is stored as sent. */
  readonly info: readonly string[]
}

type Flags = '' | 'UL' | 'P' | 'UL P' | 'LOGIN'

function type(group: EventGroup, flags: Flags, info = ''): EventTypeDefinition {
  return {
    group,
    userLogged: flags.startsWith('UL') || flags === 'LOGIN',
    pollable: flags.endsWith('P'),
    alwaysUser: flags === 'LOGIN',
    info: info === '' ? [] : info.split(' '),
  }
}

const object = type('SYSTEM', 'UL P', 'standard state')
const user = type('ADMIN', 'UL P', 'login displayname reference')
const group = type('ADMIN', 'UL P', 'name displayname reference')
const named = type('ADMIN', 'UL P', 'displayname shortname reference')
const message = type('ADMIN', 'UL P', 'title message reference')
const transition = type('ADMIN', 'UL P', 'type operation_insert operation_update operation_delete comment')
const mapping = type('ADMIN', 'UL P', 'displayname profilename')
const collection = type('SYSTEM', 'UL P', 'displayname shortname reference')
const backup = 'Started Elapsed BackupOpts'
const email = 'Template To Cc Bcc Subject Attachments Collection CollectionID CollectionURL User UserID TaskID'
const metadata = 'recipe receipt body'
const produce = 'recipe receipt connInfos'
const fileDelete = 'location_key location_id filename log'
const janitor = 'type run_time batch_size count log system_object_ids'
const upload =
  'path object_in_batch file_eas_id file filesize metadata_mapping_profile log_entry plugin msg status system_object_id'
const download = 'file bytes_count statuscode url produce_params export_type export_id export_path custom_version'
const task = 'task_module params status status_msg start end took'
const transport = 'state transport transport_state transport_log job_receipt email_sent_to email_sent_error'

export const eventTypes = {
  // ADMIN: users, groups, pools, tags, messages, mappings, transitions, configuration, datamodel
  BASE_CONFIG_UPDATE: type('ADMIN', 'UL P', 'ScopedNames Method Path'),
  BASE_CONFIG_ERROR: type('ADMIN', 'UL', 'Error Method Path'),
  DATAMODEL_COMMIT: type('ADMIN', 'UL P', 'version committed_at'),
  OBJECTTYPE_UPDATE: type('ADMIN', 'UL P'),
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
  TRANSITION_INSERT: transition,
  TRANSITION_UPDATE: transition,
  TRANSITION_DELETE: transition,
  MAPPING_INSERT: mapping,
  MAPPING_UPDATE: mapping,
  MAPPING_DELETE: mapping,

  // SYSTEM
  BACKUP_DONE: type('SYSTEM', 'UL P', backup),
  BACKUP_FAILED: type('SYSTEM', 'UL P', `${backup} Error`),
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
  LICENSE_VALIDATION_FAILED: type('SYSTEM', '', 'Error'),
  LICENSE_EXPIRATION_EMAIL: type('SYSTEM', '', 'expire_type days valid_to grace_to external_url email_to email_cc'),
  LICENSE_BINARY_TOO_NEW_EMAIL: type('SYSTEM', '', 'version binary_release_date valid_to external_url'),
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
  REINDEX_DONE: type('INDEX', 'P', 'BlockFrontend Counts Took'),
  REINDEX_ERROR: type('INDEX', 'P', 'Error'),

  // FRONTEND: written by front ends, `info` stored as sent
  SEARCH: type('FRONTEND', 'UL', 'request response version'),
  DETAIL_VIEW: type('FRONTEND', 'UL', 'global_object_id object_id objecttype pool'),
  FRONTEND_ERROR: type('FRONTEND', 'UL', 'message stack navigator'),
  ASSET_DOWNLOAD_CONFIRMATION_MESSAGE: type('FRONTEND', 'UL', 'identifier choices assets global_object_ids'),

  // LOGIN_LOGOUT
  LOGIN: type('LOGIN_LOGOUT', 'LOGIN', 'method client groups two_factor login'),
  LOGIN_FAILED: type('LOGIN_LOGOUT', 'LOGIN', 'method client login attempt error'),
  LOGOUT: type('LOGIN_LOGOUT', 'LOGIN', 'method client scope reason'),

  // TASK
  TASK_INSERT: type('TASK', 'UL', 'module description'),
  TASK_UPDATE: type('TASK', 'UL', 'module description'),
  TASK_DELETE: type('TASK', 'UL', 'module description'),
  TASK_DONE: type('TASK', 'UL', task),
  TASK_ERROR: type('TASK', 'UL', `${task} error`),

  // EXPORT
  EXPORT_START: type('EXPORT', 'UL', 'state lastRunAt'),
  EXPORT_FINISH: type('EXPORT', 'UL', 'state totalCount warnings plugin_log'),
  EXPORT_FINISH_EMPTY: type('EXPORT', 'UL', 'state totalCount warnings plugin_log'),
  EXPORT_FAILED: type('EXPORT', 'UL', 'state error'),
  EXPORT_CANCELED: type('EXPORT', 'UL', 'state'),
  EXPORT_TRANSPORT_FINISH: type('EXPORT', 'UL', transport),
  EXPORT_TRANSPORT_FAILED: type('EXPORT', 'UL', `${transport} error`),

  // UPLOAD
  UPLOAD_FILE: type('UPLOAD', 'UL', 'file'),
  UPLOAD_FILE_REMOTE: type('UPLOAD', 'UL', 'file'),
  UPLOAD_FILE_ERROR: type('UPLOAD', 'UL', 'file error'),

  // DOWNLOAD
  DOWNLOAD_FILE: type('DOWNLOAD', 'UL', download),
  DOWNLOAD_FILE_ERROR: type('DOWNLOAD', 'UL', `${download} error`),
  DOWNLOAD_OBJECT: type('DOWNLOAD', 'UL', 'export_type export_id url'),
  DOWNLOAD_EXPORT: type('DOWNLOAD', 'UL', 'state url bytes_count export files'),
  DOWNLOAD_EXPORT_ERROR: type('DOWNLOAD', 'UL', 'state url bytes_count export files error'),
} as const satisfies Record<string, EventTypeDefinition>

export type EventType = keyof typeof eventTypes

/** Groups whose types any authenticated user may write (EVAPI-004). */
export const openGroups: ReadonlySet<EventGroup> = new Set(['FRONTEND', 'PLUGIN'])

/** The definition of a built-in type, or `undefined`. */
export function builtInType(name: string): EventTypeDefinition | undefined {
  return Object.hasOwn(eventTypes, name) ? eventTypes[name as EventType] : undefined
}
