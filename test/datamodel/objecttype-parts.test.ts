import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createDatamodelService,
  createObjecttypeService,
  hooksWithoutObjects,
  type ObjecttypeParts,
} from '../../src/datamodel/service.ts'
import { createEventLog } from '../../src/events/service.ts'
import type { Actor } from '../../src/platform/actor.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createRightsService } from '../../src/rights/service.ts'
import { startService } from '../support/service.ts'
import { openMemory } from '../support/snapshots.ts'
import { commitModel } from './support.ts'

/** What files, mappings and collections will answer, given here since they do not exist yet. */
interface Others {
  renditions: number
  mappings: number[]
  forbiddenCollections: number[]
}

const actor: Actor = {
  userId: 1,
  login: 'root',
  displayname: 'root',
  reference: null,
  groupIds: [],
  isRoot: true,
  systemRights: new Map(),
  remoteAddr: '',
  languages: ['en-US'],
}

/** The service of object type settings beside the one of `svc`, with other neighbours. */
async function withOthers(others: Others) {
  const svc = await startService()
  await commitModel(svc.as('root'), [{ name: 'a', columns: [{ name: 'image', type: 'eas' }] }])
  const { db } = svc
  const memory = await openMemory(db)
  const events = createEventLog()
  const datamodel = await createDatamodelService({
    db,
    bus: memory.bus,
    snapshots: memory.snapshots,
    events,
    hooks: () => hooksWithoutObjects,
    dataLanguage: () => 'en-US',
  })
  const resynced: number[] = []
  const parts: ObjecttypeParts = {
    existingTags: async () => new Set(),
    renderTags: () => ({ own: [], compiled: [] }),
    changeTransitions: async (_tx, _actor, changes) => changes.map(({ previous }) => previous),
    renderTransitions: async (_from, lists) => lists.map(() => []),
    existingMappings: async (_tx, ids) => new Set(ids.filter((id) => others.mappings.includes(id))),
    fileStats: async () => assert.fail('not asked for'),
    countMarkedRenditions: async () => others.renditions,
    resyncRenditions: async (_tx, ids) => void resynced.push(...ids),
    collectionsWithoutAclRight: async () => others.forbiddenCollections,
  }
  const rights = createRightsService({
    containers: () => ({ pools: [], objecttypes: new Map() }),
    findPeople: async () => ({ users: [], groups: [] }),
    existingTags: async () => new Set(),
    existingPresets: async () => new Set(),
  })
  const objecttypes = createObjecttypeService({ db, events, rights, datamodel, languages: () => ['en-US'], parts })
  return {
    resynced,
    version: () => datamodel.objecttype(1).version,
    save: (block: object, options: { confirm?: 'resync' | 'skip'; allowInvalidAcl?: boolean } = {}) =>
      objecttypes.save(actor, [{ objecttype: { _id: 1, _version: datamodel.objecttype(1).version + 1, ...block } }], {
        allowInvalidAcl: false,
        ...options,
      }),
    [Symbol.asyncDispose]: async () => {
      await memory[Symbol.asyncDispose]()
      await svc[Symbol.asyncDispose]()
    },
  }
}

test('a new watermark asks what becomes of renditions that carry the old one', async () => {
  await using some = await withOthers({ renditions: 1200, mappings: [], forbiddenCollections: [] })
  const asked = await some.save({ watermark: { gravity: 'c' } })
  assert.ok(asked.kind === 'confirm')
  assert.match(asked.tasks[0]?.message ?? '', /1,200 renditions/)
  assert.deepEqual(
    asked.tasks[0]?.buttons.map(({ name, value }) => [name, value]),
    [
      ['confirm', 'resync'],
      ['confirm', 'skip'],
    ],
  )
  assert.equal(some.version(), 1, 'nothing is saved')
  assert.equal((await some.save({ description: { 'en-US': 'x' } })).kind, 'done', 'other settings ask nothing')
  assert.equal((await some.save({ watermark: { gravity: 'c' } }, { confirm: 'skip' })).kind, 'done')
  assert.deepEqual(some.resynced, [])
  assert.equal((await some.save({ caption: { image: { text: 'x' } } }, { confirm: 'resync' })).kind, 'done')
  assert.deepEqual(some.resynced, [1])
})

test('OTAPI-008 recipe configurations go with a real mapping, and keep it from being taken away', async () => {
  await using some = await withOthers({ renditions: 0, mappings: [7], forbiddenCollections: [] })
  const recipes = { mapping_image_import_recipe_configs: { exiftool: { params: {} } } }
  assert.equal((await some.save({ mapping_image_import: 7, ...recipes })).kind, 'done')
  await assert.rejects(
    some.save({ mapping_image_import: 8 }),
    isError('ServerGeneric', 'body[0].objecttype.mapping_image_import'),
  )
  await assert.rejects(
    some.save({ mapping_image_import: 'none' }),
    isError('ServerGeneric', 'body[0].objecttype.mapping_image_import'),
  )
})

test('ERR-014 allow_invalid_acl needs bag_acl on every collection that it concerns', async () => {
  await using some = await withOthers({ renditions: 0, mappings: [], forbiddenCollections: [5] })
  await assert.rejects(some.save({}, { allowInvalidAcl: true }), (error) => {
    assert.ok(error instanceof AppError)
    assert.deepEqual(
      [error.code, error.parameters],
      ['UrlParameterNotSupported', { param: 'allow_invalid_acl', collections: [5] }],
    )
    return true
  })
  assert.equal((await some.save({})).kind, 'done')
})

function isError(code: string, path: string) {
  return (error: unknown) => error instanceof AppError && error.code === code && error.parameters.path === path
}
