import assert from 'node:assert/strict'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService, type TestServiceOptions } from '../support/service.ts'

export interface Scene extends AsyncDisposable, People {
  readonly svc: TestService
  /** Reader and editor may read objects in it and add them to collections; the stranger may not. */
  readonly pool: number
  /** For root only. */
  readonly vault: number
}

/** A service with notes in two pools, and people who keep collections. */
export async function startScene(options: TestServiceOptions = {}): Promise<Scene> {
  const svc = await startService(options)
  const model = defineModel({
    note: {
      columns: { title: 'text_oneline', code: 'string' },
      unique: [['code']],
      flags: { pool_link: true, has_tags: true },
    },
    link: { columns: { text: 'text_oneline', note: 'link:note' } },
  })
  await commitModel(svc, model)
  const people = await seedPeople(svc)
  const { root, ids } = people
  // They know each other, so that they can share.
  for (const id of [ids.reader, ids.editor, ids.stranger]) {
    const [{ user }] = ok(await root.get(`/user/${id}`))
    const _acl = [wireGrant({ group: { 'lookup:_id': { reference: ':all' } } }, 'bag_read')]
    ok(await root.post('/user', [{ user: { _id: id, _version: user._version }, _acl }]))
  }
  const standard = await standardPool(svc)
  const _acl = [
    wireGrant(toUser(ids.reader), 'bag_read read link mask create'),
    wireGrant(toUser(ids.editor), 'bag_read read link mask create'),
  ]
  const made = await root.post('/pool', [
    { pool: { _id_parent: standard, reference: 'open', name: { 'en-US': 'Open' } }, _acl },
    { pool: { _id_parent: standard, reference: 'vault', name: { 'en-US': 'Vault' } }, _private_acl: true },
  ])
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const [pool, vault] = made.body.map((one: Json) => one.pool._id)
  return { svc, ...people, pool, vault, [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
}

/** Notes in a pool; their system object ids. */
export async function createNotes(client: Client, pool: number, count: number, prefix = 'n'): Promise<number[]> {
  const body = Array.from({ length: count }, (_, index) => ({
    _objecttype: 'note',
    _mask: 'note__standard',
    _pool: { pool: { _id: pool } },
    note: { title: `${prefix} ${index}`, code: `${prefix}${index}` },
  }))
  return ok(await client.post('/db/note', body, { format: 'short' })).map((one: Json) => one._system_object_id)
}

export function ok({ status, body }: { status: number; body: Json }): Json {
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Creates a collection, below the own top collection unless the fields say where, and gives its `collection` block. */
export async function createCollection(client: Client, fields: object = {}, more: object = {}): Promise<Json> {
  return ok(await client.post('/collection', { collection: { ...fields }, ...more })).collection
}

/** Entries that name objects of this instance. */
export function entriesOf(svc: TestService, ids: readonly number[]): Json[] {
  return ids.map((id) => ({ _global_object_id: globalId(svc, id) }))
}

export function globalId(svc: TestService, id: number): string {
  return `${id}@${svc.config.databaseName}`
}

/** The whole list of a collection as system object ids; other entries as they are. */
export async function listed(client: Client, id: number): Promise<Json[]> {
  const page = ok(await client.get(`/collection/objects/${id}`, { limit: 10_000 }))
  return page.objects.map((entry: Json) => {
    const keys = Object.keys(entry)
    return keys.length === 1 ? Number(entry._global_object_id.split('@')[0]) : entry
  })
}

/** What is stored agrees with itself. */
export async function assertInvariants(svc: TestService): Promise<void> {
  for (const [broken, sql] of Object.entries(invariants)) {
    const { rows } = await svc.db.query(sql)
    assert.deepEqual(rows, [], broken)
  }
}
