import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { eventGroups, eventTypes } from '../../src/events/service.ts'
import type { EventTypeDefinition } from '../../src/events/types.ts'
import { eventTypeTable } from '../../src/events/types-doc.ts'

const types: Record<string, EventTypeDefinition> = eventTypes

/** The Events table of the specification: types, keys of `info`, flags. */
const specified: [statement: string, types: string, keys: string, flags: string][] = [
  ['EVENT-009', 'BACKUP_DONE', 'Started Elapsed BackupOpts', 'UL P'],
  ['EVENT-010', 'BACKUP_FAILED', 'Started Elapsed BackupOpts Error', 'UL P'],
  ['EVENT-011', 'BASE_CONFIG_UPDATE', 'ScopedNames Method Path', 'UL P'],
  ['EVENT-012', 'BASE_CONFIG_ERROR', 'Error Method Path', 'UL'],
  ['EVENT-013', 'DATAMODEL_COMMIT', 'version committed_at', 'UL P'],
  ['EVENT-014', 'CUSTOM_DATA_TYPE_UPDATER', 'log stats', 'UL'],
  ['EVENT-015', 'CUSTOM_DATA_TYPE_UPDATER_ERROR', 'log stats error', 'UL'],
  [
    'EVENT-016',
    'EMAIL_SENT',
    'Template To Cc Bcc Subject Attachments Collection CollectionID CollectionURL User UserID TaskID',
    '',
  ],
  [
    'EVENT-017',
    'EMAIL_SENT_FAILED',
    'Template To Cc Bcc Subject Attachments Error Collection CollectionID CollectionURL User UserID TaskID',
    '',
  ],
  ['EVENT-018', 'FILE_METADATA', 'metadata', 'UL'],
  ['EVENT-019', 'FILE_METADATA_ERROR', 'recipe receipt body', 'UL'],
  ['EVENT-020', 'FILE_PRODUCE FILE_PRODUCE_ERROR', 'recipe receipt connInfos', ''],
  ['EVENT-021', 'FILE_DELETE', 'location_key location_id filename log', ''],
  ['EVENT-022', 'FILE_DELETE_ERROR', 'location_key location_id filename log error', ''],
  ['EVENT-023', 'FILE_MOVE', 'remote_url location_key location_id startet took size', ''],
  ['EVENT-024', 'FILE_MOVE_ERROR', 'remote_url location_key location_id error', ''],
  ['EVENT-025', 'NOTIFICATION_SCHEDULER_FAILED LICENSE_VALIDATION_FAILED', 'Error', ''],
  ['EVENT-026', 'LICENSE_EXPIRATION_EMAIL', 'expire_type days valid_to grace_to external_url email_to email_cc', ''],
  ['EVENT-027', 'LICENSE_BINARY_TOO_NEW_EMAIL', 'version binary_release_date valid_to external_url', ''],
  ['EVENT-028', 'OBJECT_INSERT OBJECT_UPDATE OBJECT_DELETE OBJECT_UNDELETE OBJECT_PURGE', 'standard state', 'UL P'],
  ['EVENT-030', 'USER_INSERT USER_UPDATE USER_DELETE', 'login displayname reference', 'UL P'],
  ['EVENT-031', 'GROUP_INSERT GROUP_UPDATE GROUP_DELETE', 'name displayname reference', 'UL P'],
  ['EVENT-032', 'POOL_INSERT POOL_UPDATE POOL_DELETE', 'displayname shortname reference', 'UL P'],
  ['EVENT-034', 'TAG_INSERT TAG_UPDATE TAG_DELETE', 'displayname shortname reference', 'UL P'],
  ['EVENT-035', 'MESSAGE_INSERT MESSAGE_UPDATE MESSAGE_DELETE', 'title message reference', 'UL P'],
  ['EVENT-036', 'OBJECTTYPE_UPDATE', '', 'UL P'],
  ['EVENT-037', 'COLLECTION_INSERT COLLECTION_UPDATE COLLECTION_DELETE', 'displayname shortname reference', 'UL P'],
  [
    'EVENT-039',
    'COLLECTION_UPLOAD',
    'path object_in_batch file_eas_id file filesize metadata_mapping_profile log_entry plugin msg status system_object_id',
    'UL P',
  ],
  [
    'EVENT-044',
    'TRANSITION_INSERT TRANSITION_UPDATE TRANSITION_DELETE',
    'type operation_insert operation_update operation_delete comment',
    'UL P',
  ],
  ['EVENT-045', 'MAPPING_INSERT MAPPING_UPDATE MAPPING_DELETE', 'displayname profilename', 'UL P'],
  ['EVENT-046', 'JANITOR', 'type run_time batch_size count log system_object_ids', ''],
  ['EVENT-047', 'JANITOR_ERROR', 'type run_time batch_size count log error system_object_ids', ''],
  ['EVENT-048', 'WEBHOOK', 'webhook response response_no_json', ''],
  ['EVENT-049', 'WEBHOOK_ERROR', 'webhook response response_no_json error', ''],
  ['EVENT-050', 'OBJECT_INDEX', 'Priority IndexName', ''],
  ['EVENT-051', 'OBJECT_INDEX_ERROR OBJECT_INDEX_REQUEUE', 'IndexName DocID Error', ''],
]

describe('the catalogue of event types', () => {
  for (const [statement, names, keys, flags] of specified) {
    test(`${statement} ${names}`, () => {
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

  test('EVENT-052, EVENT-053 INDEX_SWITCH is pollable, not user-logged, and says more than the names', () => {
    const { info, pollable, userLogged } = eventTypes.INDEX_SWITCH
    assert.deepEqual([info.includes('IndexNames'), info.length > 1, pollable, userLogged], [true, true, true, false])
  })

  test('EVENT-001 each type is in one of the ten groups', () => {
    assert.equal(eventGroups.length, 10)
    for (const [name, { group }] of Object.entries(types)) assert.ok(eventGroups.includes(group), name)
  })

  test('EVENT-054, EVENT-055, EVENT-056, EVENT-057, EVENT-058, EVENT-059, EVENT-060 each group has types of its own', () => {
    for (const group of eventGroups) {
      const members = Object.values(types).filter((definition) => definition.group === group)
      assert.equal(members.length > 0, group !== 'PLUGIN', group)
    }
    for (const [name, { group }] of Object.entries(types)) {
      const prefix = /^(LOGIN|LOGOUT|DOWNLOAD|EXPORT|UPLOAD|INDEX|OBJECT_INDEX|TASK)/.exec(name)?.[1] ?? ''
      const expected = { LOGIN: 'LOGIN_LOGOUT', LOGOUT: 'LOGIN_LOGOUT', OBJECT_INDEX: 'INDEX' }[prefix] ?? prefix
      if (expected) assert.equal(group, expected, name)
    }
  })

  test('docs/events.md has the table as it is', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8')
    assert.ok(page.includes(eventTypeTable()), 'run node scripts/docs.ts')
  })
})
