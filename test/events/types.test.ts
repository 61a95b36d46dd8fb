import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { eventGroups, eventTypes } from '../../src/events/service.ts'
import type { EventTypeDefinition } from '../../src/events/types.ts'
import { eventTypeTable } from '../../src/events/types-doc.ts'

const types: Record<string, EventTypeDefinition> = eventTypes

/**
 * The Events table of the specification: types, keys of `info`, flags. No statement is named: what is written is tested
 * by what causes it (written.test.ts), and of the other types nothing happens here.
 */
const specified: [types: string, keys: string, flags: string][] = [
  ['BACKUP_DONE', 'Started Elapsed BackupOpts', 'UL P'],
  ['BACKUP_FAILED', 'Started Elapsed BackupOpts Error', 'UL P'],
  ['BASE_CONFIG_UPDATE', 'ScopedNames Method Path', 'UL P'],
  ['BASE_CONFIG_ERROR', 'Error Method Path', 'UL'],
  ['DATAMODEL_COMMIT', 'version committed_at', 'UL P'],
  ['CUSTOM_DATA_TYPE_UPDATER', 'log stats', 'UL'],
  ['CUSTOM_DATA_TYPE_UPDATER_ERROR', 'log stats error', 'UL'],
  ['EMAIL_SENT', 'Template To Cc Bcc Subject Attachments Collection CollectionID CollectionURL User UserID TaskID', ''],
  [
    'EMAIL_SENT_FAILED',
    'Template To Cc Bcc Subject Attachments Error Collection CollectionID CollectionURL User UserID TaskID',
    '',
  ],
  ['FILE_METADATA', 'metadata', 'UL'],
  ['FILE_METADATA_ERROR', 'recipe receipt body', 'UL'],
  ['FILE_PRODUCE FILE_PRODUCE_ERROR', 'recipe receipt connInfos', ''],
  ['FILE_DELETE', 'location_key location_id filename log', ''],
  ['FILE_DELETE_ERROR', 'location_key location_id filename log error', ''],
  ['FILE_MOVE', 'remote_url location_key location_id startet took size', ''],
  ['FILE_MOVE_ERROR', 'remote_url location_key location_id error', ''],
  ['NOTIFICATION_SCHEDULER_FAILED LICENSE_VALIDATION_FAILED', 'Error', ''],
  ['LICENSE_EXPIRATION_EMAIL', 'expire_type days valid_to grace_to external_url email_to email_cc', ''],
  ['LICENSE_BINARY_TOO_NEW_EMAIL', 'version binary_release_date valid_to external_url', ''],
  ['OBJECT_INSERT OBJECT_UPDATE OBJECT_DELETE OBJECT_UNDELETE OBJECT_PURGE', 'standard state', 'UL P'],
  ['USER_INSERT USER_UPDATE USER_DELETE', 'login displayname reference', 'UL P'],
  ['GROUP_INSERT GROUP_UPDATE GROUP_DELETE', 'name displayname reference', 'UL P'],
  ['POOL_INSERT POOL_UPDATE POOL_DELETE', 'displayname shortname reference', 'UL P'],
  ['TAG_INSERT TAG_UPDATE TAG_DELETE', 'displayname shortname reference', 'UL P'],
  ['MESSAGE_INSERT MESSAGE_UPDATE MESSAGE_DELETE', 'title message reference', 'UL P'],
  ['OBJECTTYPE_UPDATE', '', 'UL P'],
  ['COLLECTION_INSERT COLLECTION_UPDATE COLLECTION_DELETE', 'displayname shortname reference', 'UL P'],
  [
    'COLLECTION_UPLOAD',
    'path object_in_batch file_eas_id file filesize metadata_mapping_profile log_entry plugin msg status system_object_id',
    'UL P',
  ],
  [
    'TRANSITION_INSERT TRANSITION_UPDATE TRANSITION_DELETE',
    'type operation_insert operation_update operation_delete comment',
    'UL P',
  ],
  ['MAPPING_INSERT MAPPING_UPDATE MAPPING_DELETE', 'displayname profilename', 'UL P'],
  ['JANITOR', 'type run_time batch_size count log system_object_ids', ''],
  ['JANITOR_ERROR', 'type run_time batch_size count log error system_object_ids', ''],
  ['WEBHOOK', 'webhook response response_no_json', ''],
  ['WEBHOOK_ERROR', 'webhook response response_no_json error', ''],
  ['OBJECT_INDEX', 'Priority IndexName', ''],
  ['OBJECT_INDEX_ERROR OBJECT_INDEX_REQUEUE', 'IndexName DocID Error', ''],
]

describe('the catalogue of event types', () => {
  for (const [names, keys, flags] of specified) {
    test(names, () => {
      for (const name of names.split(' ')) {
        const definition = types[name]
        assert.ok(definition, name)
        assert.deepEqual([...definition.info].sort(), keys === '' ? [] : keys.split(' ').sort())
        assert.equal(definition.userLogged, flags.includes('UL'))
        assert.equal(definition.pollable, flags.includes('P'))
        assert.equal(definition.alwaysUser, false)
      }
    })
  }

  test('INDEX_SWITCH is pollable, not user-logged, and says more than the names', () => {
    const { info, pollable, userLogged } = eventTypes.INDEX_SWITCH
    assert.deepEqual([info.includes('IndexNames'), info.length > 1, pollable, userLogged], [true, true, true, false])
  })

  test('the types of each group are those that clients of this interface know', () => {
    const members = (group: string) =>
      Object.entries(types)
        .filter(([, definition]) => definition.group === group)
        .map(([name]) => name)
        .sort()
        .join(' ')
    assert.deepEqual(
      eventGroups.map((group) => [group, members(group)]).filter(([group]) => group !== 'SYSTEM'),
      [
        ['ADMIN', 'BACKUP_DONE BACKUP_FAILED BASE_CONFIG_ERROR BASE_CONFIG_UPDATE DATAMODEL_COMMIT'],
        ['DOWNLOAD', 'EXPORT_DOWNLOAD EXPORT_DOWNLOAD_ERROR FILE_DOWNLOAD FILE_DOWNLOAD_ERROR OBJECT_DOWNLOAD'],
        [
          'EXPORT',
          'EXPORT_CANCELED EXPORT_FAILED EXPORT_FINISH EXPORT_FINISH_EMPTY EXPORT_START EXPORT_TRANSPORT EXPORT_TRANSPORT_FAILED EXPORT_TRANSPORT_FINISH',
        ],
        ['FRONTEND', 'ASSET_DOWNLOAD_CONFIRMATION_MESSAGE DETAIL_VIEW FRONTEND_ERROR SEARCH'],
        [
          'INDEX',
          'INDEX_SWITCH OBJECT_INDEX OBJECT_INDEX_ERROR OBJECT_INDEX_REQUEUE REINDEX_DONE REINDEX_ERROR REINDEX_INDEX_PURGED REINDEX_QUEUED REINDEX_START',
        ],
        [
          'LOGIN_LOGOUT',
          'LDAP_DEBUG LDAP_ERROR OPENID_DEBUG OPENID_ERROR SAML_DEBUG SAML_ERROR USER_LOGIN USER_LOGIN_FAILED USER_LOGOUT',
        ],
        ['PLUGIN', ''],
        ['TASK', 'TASK TASK_DELETE TASK_ERROR TASK_INSERT TASK_UPDATE'],
        ['UPLOAD', 'FILE_UPLOAD FILE_UPLOAD_ERROR FILE_UPLOAD_REMOTE'],
      ],
    )
    for (const part of ['USER', 'GROUP', 'POOL', 'TAG', 'MESSAGE', 'COLLECTION', 'TRANSITION', 'MAPPING']) {
      for (const change of ['INSERT', 'UPDATE', 'DELETE'])
        assert.equal(types[`${part}_${change}`]?.group, 'SYSTEM', part)
    }
    assert.equal(types.OBJECTTYPE_UPDATE?.group, 'SYSTEM')
  })

  test('what is marked as written is named by the code that writes it, and nothing else is', async () => {
    const root = join(import.meta.dirname, '..', '..', 'src')
    const catalogue = join('events', 'types.ts')
    const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.ts'))
    const texts = await Promise.all(
      files.filter((name) => name !== catalogue).map((name) => readFile(join(root, name), 'utf8')),
    )
    for (const [name, { group, written }] of Object.entries(types)) {
      // Front ends write their own.
      if (group === 'FRONTEND') assert.ok(written, name)
      else
        assert.equal(
          texts.some((text) => text.includes(`'${name}'`)),
          written,
          name,
        )
    }
  })

  test('docs/events.md has the table as it is', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8')
    assert.ok(page.includes(eventTypeTable()), 'run node scripts/docs.ts')
  })
})
