import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { entriesOf, listed, ok } from '../collections/support.ts'
import { toUser } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { importSample } from '../support/seed/sample.ts'
import { startService, type TestService } from '../support/service.ts'

/** What somebody does with the collection in a day. Each step stands on the ones before it. */
suite('a curator finds works, collects them, and shows them to a guest', { concurrency: false }, () => {
  let svc: TestService
  let mails: MailServer
  let root: Client
  let curator: Client
  let found: number[]
  let collection: Json
  let guest: Client

  before(async () => {
    svc = await startService()
    mails = await startMailServer()
    root = svc.as('root')
    await importSample(svc)
    await configure('email/from', 'museum@example.org')
    await configure('email_server', { server_addr: mails.address, type: 'off' })
    await addCurator()
    curator = svc.as('curator')
  })
  after(async () => {
    await mails?.[Symbol.asyncDispose]()
    await svc?.[Symbol.asyncDispose]()
  })

  async function configure(path: string, value: unknown): Promise<void> {
    ok(await root.post(`/config/system/config/${path}`, value))
  }

  /** May read all works and artists, pass that on for works, and invite people by their addresses. */
  async function addCurator(): Promise<void> {
    const _system_rights = { 'system.frontend_features': { acl_manager: ['create_email_user'] } }
    const [{ user }] = ok(
      await root.post(
        '/user',
        [{ user: { login: 'curator', email: 'curator@example.org' }, _password: 'curator', _system_rights }],
        { confirm: 'ignore_password_requirements' },
      ),
    )
    const who = toUser(user._id)
    const pools = ok(await root.get('/pool'))
    const { pool } = pools.find((one: Json) => one.pool.reference === 'tate:collection')
    const passedOn = { _grantable: true }
    const rights = { read: passedOn, mask: passedOn, link: {} }
    ok(await root.post('/pool', [{ pool: { _id: pool._id, _version: pool._version }, _acl: [{ who, rights }] }]))
    const types = ok(await root.get('/objecttype'))
    const others = types.filter(({ objecttype }: Json) => objecttype.name !== 'artwork')
    const settings = others.map(({ objecttype: { _id, _version } }: Json) => ({
      objecttype: { _id, _version: _version + 1 },
      _acl: [{ who, rights: { read: {}, mask: {} } }],
    }))
    ok(await root.post('/objecttype', settings))
    await svc.drain()
  }

  const idsOf = (answer: Json): number[] => answer.objects.map((one: Json) => one._system_object_id)

  test('finds the works of an artist through the link to them', async () => {
    const byRoot = ok(await root.post('/search', { objecttypes: ['artwork'], format: 'long', limit: 100 })).objects
    const nameOf = (row: Json): string => row.artist._standard[1].text['en-US']
    const artistsOf = ({ artwork }: Json): string[] => (artwork['_nested:artwork__contributor'] ?? []).map(nameOf)
    const counts = Map.groupBy(byRoot.flatMap(artistsOf), (name: string) => name)
    const [[name = ''] = []] = [...counts].sort((a, b) => b[1].length - a[1].length)
    const expected = byRoot.filter((one: Json) => artistsOf(one).includes(name))
    assert.ok(expected.length > 2)
    const answer = ok(
      await curator.post('/search', {
        objecttypes: ['artwork'],
        search: [{ type: 'in', fields: ['artwork._nested:artwork__contributor.artist.artist.name'], in: [name] }],
        sort: [{ field: 'artwork.accession_number' }],
        limit: 100,
      }),
    )
    found = idsOf(answer)
    assert.deepEqual(new Set(found), new Set(expected.map((one: Json) => one._system_object_id)))
    assert.equal(answer.count, found.length)
  })

  test('collects them, and puts the last one first', async () => {
    const body = { collection: { displayname: { 'en-US': 'For the lender' } }, objects: entriesOf(svc, found) }
    ;({ collection } = ok(await curator.post('/collection', body)))
    const last = found.at(-1) as number
    ok(await curator.post(`/collection/splice/${collection._id}`, { index: found.length - 1, count: 1 }))
    ok(
      await curator.post(`/collection/splice/${collection._id}`, {
        index: 0,
        count: 0,
        objects: entriesOf(svc, [last]),
      }),
    )
    assert.deepEqual(await listed(curator, collection._id), [last, ...found.slice(0, -1)])
  })

  test('shares the collection by mail with somebody who has no account; the mail has what signs in', async () => {
    const { collection: stored } = ok(await curator.get(`/collection/${collection._id}`))
    const who = { _basetype: 'user', user: { type: 'email', email: 'lender@example.net' } }
    const rights = { bag_read: {}, read: {}, mask: {} }
    ok(
      await curator.post(`/collection/${collection._id}`, {
        collection: { _version: stored._version, pin_code: 'ophelia' },
        _acl: [{ who, rights, send_email_notification: { text: 'Your works, and ours' } }],
      }),
    )
    await svc.drain()
    const [mail, ...others] = mails.mails
    assert.deepEqual([mail?.to, others.length], [['lender@example.net'], 0])
    const text = (mail?.data ?? '')
      .replaceAll(/=\r?\n/g, '')
      .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    assert.ok(text.includes('Your works, and ours') && !text.includes('ophelia'))
    const link = new URL(/http\S+#auth_method=email\S+/.exec(text)?.[0] ?? '')
    assert.equal(link.pathname, `/collection/${collection.uuid}`)
    const said = new URLSearchParams(link.hash.slice(1))
    guest = svc.as(said.get('login') ?? '', said.get('password') ?? '')
  })

  const seenByGuest = async (): Promise<[number[], number]> => {
    const answer = ok(await guest.post('/search', { objecttypes: ['artwork'], limit: 100 }))
    assert.equal(idsOf(answer).length, answer.count)
    const { body } = await guest.get(`/db/artwork/artwork/system_object_id/${found[0]}`)
    return [idsOf(answer), body.length]
  }

  test('the guest sees that there is a collection, and with its PIN the works in it and no others', async () => {
    assert.deepEqual(await seenByGuest(), [[], 0])
    const hidden = ok(await guest.get(`/collection/objects/${collection._id}`))
    assert.ok(hidden.objects.every((one: Json) => one._not_allowed))
    const { user } = ok(await guest.get('/user/session')).user
    const enter = async (pin_code: string): Promise<void> => {
      const _collection_pin_codes = [{ collection_id: collection._id, pin_code }]
      ok(await guest.post('/user', [{ user: { _id: user._id }, _collection_pin_codes }]))
    }
    await enter('hamlet')
    assert.deepEqual(await seenByGuest(), [[], 0])
    await enter('ophelia')
    const [seen, read] = await seenByGuest()
    assert.deepEqual([new Set(seen), read], [new Set(found), 1])
    assert.deepEqual(await listed(guest, collection._id), [found.at(-1), ...found.slice(0, -1)])
  })

  test('the guest changes nothing', async () => {
    const taken = await guest.post(`/collection/splice/${collection._id}`, { index: 0, count: 1 })
    const deleted = await guest.delete(`/collection/${collection._id}`)
    assert.deepEqual([taken.status, deleted.status], [403, 403])
    assert.equal((await listed(curator, collection._id)).length, found.length)
  })

  test('the share is withdrawn: the guest sees nothing any more', async () => {
    const { collection: stored } = ok(await curator.get(`/collection/${collection._id}`))
    ok(
      await curator.post(`/collection/${collection._id}`, {
        collection: { _version: stored._version },
        _acl: [],
      }),
    )
    assert.deepEqual(await seenByGuest(), [[], 0])
    assert.equal((await guest.get(`/collection/objects/${collection._id}`)).status, 404)
    assert.deepEqual(idsOf(ok(await curator.post('/search', { objecttypes: ['artwork'], limit: 1 }))).length, 1)
  })
})
