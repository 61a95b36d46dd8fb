import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type RightDefinition, rightsCatalogue } from '../../src/rights/catalogue.ts'
import { coversFile } from '../../src/rights/service.ts'

/**
 * Every right and every parameter of one that somebody can be given: the test that shows what it lets, by file and the
 * beginning of its title. Rights on objects are the same in pools, object types and on objects, so they stand here once.
 */
const people = 'people/person-rights.test.ts'
const flags = `${people}: each switch of system.user and system.group`
const evaluation = 'rights/evaluate.test.ts'
const byType = `${evaluation}: a right limited to object types`
const byPool = 'rights/naive.test.ts: for random pools'
const byMask = `${evaluation}: limits of one grant hold together`
const files = 'files/objects.test.ts'
const limits = 'rights/catalogue.test.ts: limits of rights on files'
const pools = 'pools/access.test.ts'
const tags = 'tags/grants.test.ts'
const byShare = 'rights/shared.test.ts: each right on objects comes with its parameters through a collection'
const ofFile = ['column_ids', 'classes']
const sharedKeys = Object.entries({
  read: ['objecttype_ids', 'pool_ids', 'mask_ids'],
  write: ['objecttype_ids', 'pool_ids', 'mask_ids'],
  delete: ['objecttype_ids', 'pool_ids'],
  acl: ['objecttype_ids', 'pool_ids'],
  change_owner: ['objecttype_ids', 'pool_ids'],
  mask: ['mask_ids'],
  asset_upload: [...ofFile, 'extensions', 'limit', 'allow_update_and_remove'],
  asset_show: [...ofFile, 'versions'],
  asset_download: [...ofFile, 'versions'],
}).flatMap(([name, parameters]) => [name, ...parameters.map((parameter) => `${name}.${parameter}`)])
const lists = 'collections/lists.test.ts'

const shown: Readonly<Record<string, string>> = {
  'system.root': 'objects/rights.test.ts: RIGHTS-001',
  'system.datamodel': 'datamodel/commit.test.ts: DM-024',
  'system.datamodel.level': 'datamodel/commit.test.ts: DM-024',
  'system.objecttypemanager': 'datamodel/objecttype.test.ts: OTAPI-003 RIGHTS-003',
  'system.poolmanager': `${pools}: needs system.poolmanager`,
  'system.sendmail': 'clients/sendmail.test.ts: needs system.sendmail',
  'system.task': 'tasks/tasks.test.ts: tasks need system.task',
  'system.backup': 'maintenance/backup-records.test.ts: backups need a location, a format that is made, and the right',
  'system.tagmanager': 'tags/tags.test.ts: reading needs a user, saving system.tagmanager',
  'system.rightpresetmanager': 'platform/http/system-right.test.ts: whoever does not have it',
  'system.group': 'people/group.test.ts: RIGHTS-004',
  ...Object.fromEntries(
    ['create', 'create_acl', 'create_system_rights', 'edit_acl', 'edit_system_rights'].flatMap((name) => [
      [`system.group.${name}`, flags],
      [`system.user.${name}`, flags],
    ]),
  ),
  'system.group.global_custom_bag_read': `${people}: system.user and system.group without reading`,
  'system.user': 'people/user.test.ts: who manages users cannot become more',
  'system.user.read': `${people}: system.user and system.group without reading`,
  'system.user.change_password': 'signin/session.test.ts: changing the own password needs the right',
  'system.message': 'messages/message.test.ts: READ-040 RIGHTS-005',
  'system.profile': 'mappings/records.test.ts: mappings take the right system.profile',
  'system.plugin': 'plugins/manage.test.ts: plugins are managed by holders',
  'system.config': 'config/config.test.ts: reading leaves out',
  'system.location': 'files/locations.test.ts: only root manages them',
  'system.api.event': 'events/rights.test.ts: EVAPI-013, EVAPI-017',
  'system.api.event.get': 'events/rights.test.ts: EVAPI-013, EVAPI-017',
  'system.api.event.delete': 'events/rights.test.ts: EVAPI-015',
  'system.api.publish': 'publish/publish.test.ts: RIGHTS-007',
  'system.api.publish.get': 'publish/publish.test.ts: RIGHTS-007',
  'system.api.publish.post': 'publish/publish.test.ts: RIGHTS-007',
  'system.api.publish.delete': 'publish/publish.test.ts: RIGHTS-007',
  'pool.bag_read': `${pools}: everybody sees the pools with bag_read`,
  'pool.bag_write': `${pools}: needs bag_write, and bag_acl`,
  'pool.bag_acl': `${pools}: needs bag_write, and bag_acl`,
  'pool.bag_create': `${pools}: needs bag_create on the parent`,
  'pool.bag_delete': `${pools}: deleting needs bag_delete`,
  'objects.create': 'objects/rights.test.ts: an object leaves its pool only with the right unlink',
  'objects.read': 'objects/rights.test.ts: an editor saves, a reader reads',
  'objects.write': 'objects/rights.test.ts: an editor saves, a reader reads',
  'objects.delete': 'objects/read-rights.test.ts: in the trash',
  'objects.unlink': 'objects/rights.test.ts: an object leaves its pool only with the right unlink',
  'objects.acl': 'objects/read-rights.test.ts: grants are shown to those who may change them',
  'objects.change_owner': 'objects/rights.test.ts: the owner is who created it',
  'objects.link': `${lists}: to add takes link on the collection and on the object`,
  ...Object.fromEntries(
    ['collection.link', 'collection.unlink'].flatMap((name) => [
      [`${name}.objecttype_ids`, `${lists}: limits of link and unlink`],
      [`${name}.pool_ids`, `${lists}: limits of link and unlink`],
    ]),
  ),
  ...Object.fromEntries(
    ['bag_read', 'bag_write', 'bag_acl', 'bag_create', 'bag_delete', 'link', 'unlink'].map((name) => [
      `collection.${name}`,
      'collections/collection.test.ts: each change asks for its right',
    ]),
  ),
  ...Object.fromEntries(sharedKeys.map((key) => [`collection.${key}`, byShare])),
  ...Object.fromEntries(
    ['', '.objecttype_ids', '.mask_ids'].map((limit) => [
      `collection.create_in_collection${limit}`,
      'collections/upload-right.test.ts: create_in_collection tells where to upload',
    ]),
  ),
  'objects.mask': byMask,
  'objects.mask.mask_ids': byMask,
  ...Object.fromEntries(
    ['create', 'read', 'write', 'delete', 'link', 'unlink', 'acl', 'change_owner'].flatMap((name) => [
      [`objects.${name}.objecttype_ids`, byType],
      [`objects.${name}.pool_ids`, byPool],
    ]),
  ),
  'objects.read.mask_ids': byMask,
  'objects.write.mask_ids': `${evaluation}: the masks for reading and for writing may differ`,
  'objects.create.mask_ids': 'objects/info.test.ts: offers the masks with which a save passes',
  'objects.asset_upload': `${files}: asset_upload says which files`,
  'objects.asset_upload.limit': `${files}: asset_upload says which files`,
  'objects.asset_upload.allow_update_and_remove': `${files}: asset_upload says which files`,
  'objects.asset_show': `${files}: READ-018 READ-020`,
  'objects.asset_download': `${files}: READ-018 READ-020`,
  ...Object.fromEntries(
    ['upload', 'show', 'download'].flatMap((what) => [
      [`objects.asset_${what}.column_ids`, limits],
      [`objects.asset_${what}.classes`, limits],
      [`objects.asset_${what}.${what === 'upload' ? 'extensions' : 'versions'}`, limits],
    ]),
  ),
  'tag.tag_see': `${tags}: say for whom a tag is a choice`,
  'tag.tag_add': `${tags}: say who applies a tag`,
  'tag.tag_remove': `${tags}: say who applies a tag`,
  ...Object.fromEntries(
    ['bag_read', 'bag_write', 'acl', 'delete', 'sessions'].map((name) => [
      `user.${name}`,
      `${people}: ${name} on a user`,
    ]),
  ),
  'user.link': `${people}: link on a user and on groups`,
  'group.bag_read': 'people/group.test.ts: one sees the groups that one is in',
  ...Object.fromEntries(
    ['bag_write', 'acl', 'delete'].map((name) => [`group.${name}`, `${people}: ${name} on a group`]),
  ),
  'group.link': `${people}: link on a user and on groups`,
}

const ofObjects = new Set(['pool', 'object', 'objecttype-without-pool'])

/** Every right and parameter that the service asks for today, by where its test is to be found. */
function asked(): Set<string> {
  const keys = new Set<string>()
  for (const [context, { rights }] of Object.entries(rightsCatalogue)) {
    for (const right of rights) if (!right.asker) for (const key of keysOf(context, right)) keys.add(key)
  }
  return keys
}

function keysOf(context: string, { name, group, parameters }: RightDefinition): string[] {
  const place =
    context === 'system' ? name : `${ofObjects.has(context) && group !== 'container' ? 'objects' : context}.${name}`
  return [place, ...parameters.filter(({ asker }) => !asker).map((parameter) => `${place}.${parameter.name}`)]
}

test('every right that can be given has a test that shows what it lets', () => {
  const keys = asked()
  assert.deepEqual(
    [...keys].filter((key) => !(key in shown)),
    [],
    'without a test',
  )
  assert.deepEqual(
    Object.keys(shown).filter((key) => !keys.has(key)),
    [],
    'there is no such right',
  )
  for (const [key, place] of Object.entries(shown)) {
    const [file = '', title = ''] = place.split(': ', 2)
    const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
    const there = text.includes(`test('${title}`) || text.includes(`test(\`${title}`)
    const byName = /^(\w+) on a (user|group)$/.test(title) && text.includes(`test('${title}: `)
    assert.ok(there || byName, `${key}: ${file} has no test that begins with ${JSON.stringify(title)}`)
  }
})

test('what is not asked for says so to those who read the catalogue', () => {
  for (const { rights } of Object.values(rightsCatalogue)) {
    for (const { name, asker, comment } of rights) {
      if (asker) assert.match(comment, /[Ff]ront ends|front end/, name)
    }
  }
})

test('limits of rights on files: each alone keeps out what it does not name', () => {
  const file = { class: 'image', extension: 'jpg', columnId: 7, version: 'preview', size: 1000 }
  const cases = [
    [{ column_ids: [7] }, { column_ids: [8] }],
    [{ classes: ['image'] }, { classes: ['video'] }],
    [{ extensions: ['jpg'] }, { extensions: ['png'] }],
    [{ versions: ['image.preview'] }, { versions: ['image.original'] }],
    [{ limit: 1000 }, { limit: 999 }],
  ] as const
  for (const [within, beyond] of cases)
    assert.deepEqual([coversFile(within, file), coversFile(beyond, file)], [true, false], JSON.stringify(within))
})
