import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { again, changePool, changeUser, type Limited, limitedUser, ok } from '../rights/limited.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'

let museum: Museum
let root: Client
let mailServer: MailServer
let receiver: WebhookServer
let tags: number[]
/** Manages tags and transitions, and has no right on any object. */
let tagger: Limited
/** Gives rights on the pool, and has none on its objects. */
let keeper: Limited
/** Writes objects of the pool. */
let author: Limited
/** Objects of the author are written in a mask that everybody may use who has the right. */
const _mask = 'work__title_only'
/** Sees nothing. */
let stranger: Limited

const keeping = 'bag_read bag_write bag_acl'

before(async () => {
  receiver = await startWebhookServer()
  mailServer = await startMailServer()
  museum = await startMuseum()
  const { svc } = museum
  root = svc.as('root')
  const body = ok(await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'a' }, { reference: 'b' }] }]))
  tags = body[0]._tags.map((tag: Json) => tag._id)
  tagger = await limitedUser(svc, 'tagger', { 'system.tagmanager': {} }, { email: 'tagger@museum.test' })
  keeper = await limitedUser(svc, 'keeper', { 'system.poolmanager': {} })
  author = await limitedUser(svc, 'author', {})
  stranger = await limitedUser(svc, 'stranger', {})
  ok(
    await root.post('config', {
      system: {
        config: {
          email: { from: 'archive@museum.test' },
          email_server: { server_addr: mailServer.address, type: 'off' },
          transition_webhook: { webhooks: [{ name: 'hook', url: receiver.url }] },
        },
      },
    }),
  )
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  await mailServer[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await grant()
  ok(await root.post('transitions', []))
  await museum.svc.drain()
  await museum.svc.db.query('delete from event')
  receiver.calls.length = 0
  mailServer.mails.length = 0
})

/** The grants of the pool, and no transitions of its own. */
async function grant(...more: object[]): Promise<void> {
  const _acl = [
    wireGrant(toUser(keeper.id), keeping),
    wireGrant(toUser(author.id), 'read write create mask bag_read'),
    ...more,
  ]
  ok(await changePool(root, root, museum.pool, { _acl, _transitions: [] }))
}

async function define(client: Client, ...list: object[]): Promise<Json[]> {
  return ok(
    await client.post(
      'transitions',
      list.map((entry) => ({ type: 'process', operations: ['INSERT', 'UPDATE'], ...entry })),
    ),
  )
}

async function create(client: Client, title = 'Boat'): Promise<Json> {
  const [work] = ok(
    await client.post('db/work', [payload('work', { ...inPool(museum.pool), title: { 'en-US': title } }, { _mask })]),
  )
  return work
}

async function stored(object: Json): Promise<Json> {
  return ok(await root.get(`db/work/_all_fields/${object.work._id}`))[0]
}

const tagsOf = (object: Json): number[] => (object._tags ?? []).map((tag: Json) => tag._id)

async function withheld(): Promise<Json[]> {
  const { rows } = await museum.svc.db.query<{ id: number; info: Json }>(
    `select object_id as id, info from event where type = 'TRANSITION_WITHHELD' order by event.id`,
  )
  return rows.map(({ id, info }) => ({ id, ...info }))
}

const setTag = (id: number, set = true) => ({ type: 'set_tags', info: { tags: [{ _id: id, set }] } })
const own = (who: Limited) => ({ type: 'change_owner', info: { owner: toUser(who.id) } })
const email = (...recipients: object[]) => ({ type: 'email', info: { subject: { 'en-US': 'Look' }, recipients } })
const webhook = { type: 'webhook', info: { name: 'hook' } }
const inThePool = { type: 'process', operations: ['INSERT', 'UPDATE'] }

describe('a transition does no more than whoever has set it may do', () => {
  test('an owner is given with bag_acl, not with system.tagmanager alone', async () => {
    const refused = await tagger.client.post('transitions', [
      { type: 'process', operations: ['INSERT'], actions: [own(tagger)] },
    ])
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.parameters.right],
      [403, 'RightRequired', 'bag_acl'],
    )
    assert.equal(refused.body.parameters.path, 'body[0].actions[0]')
    assert.deepEqual(ok(await root.get('transitions')), [])
    // What somebody else has set may stay as it is.
    const [set] = await define(root, { actions: [own(author)] })
    assert.deepEqual([set._set_by.user._id], [1])
    const [kept] = await define(tagger.client, set)
    assert.deepEqual(kept, set)
    const changed = await tagger.client.post('transitions', [{ ...set, comment: 'mine' }])
    assert.equal(changed.body.code, 'RightRequired')
  })

  test('tags of objects that it may not write stay, and the log tells of it', async () => {
    const [transition] = await define(tagger.client, { actions: [setTag(tags[0]!)] })
    assert.equal(transition._set_by.user._id, tagger.id)
    const work = await create(author.client)
    assert.deepEqual(tagsOf(await stored(work)), [])
    assert.deepEqual(await withheld(), [
      {
        id: transition._id,
        action: 'set_tags',
        reason: 'right',
        set_by: tagger.id,
        count: 1,
        system_object_ids: [work._system_object_id],
      },
    ])
    await grant(wireGrant(toUser(tagger.id), 'read write'))
    assert.deepEqual(tagsOf(await stored(await create(author.client))), [tags[0]])
  })

  test('whoever may give rights in the pool may let a transition give them there, for as long as that lasts', async () => {
    ok(
      await changePool(keeper.client, root, museum.pool, {
        _transitions: [{ ...inThePool, actions: [own(keeper), setTag(tags[0]!)] }],
      }),
    )
    const mine = await stored(await create(author.client))
    assert.deepEqual([mine._owner.user._id, tagsOf(mine)], [keeper.id, [tags[0]]])
    assert.deepEqual(await withheld(), [])

    const ends: [string, () => Promise<void>, () => Promise<void>][] = [
      [
        'disabled',
        () => changeUser(root, keeper.id, { login_disabled: true }),
        async () => {
          await changeUser(root, keeper.id, { login_disabled: false })
          keeper = again(museum.svc, keeper)
        },
      ],
      [
        'no longer a manager of pools',
        () => changeUser(root, keeper.id, {}, { _system_rights: {} }),
        () => changeUser(root, keeper.id, {}, { _system_rights: { 'system.poolmanager': {} } }),
      ],
      [
        'without bag_acl',
        async () => {
          const _acl = [
            wireGrant(toUser(keeper.id), 'bag_read bag_write'),
            wireGrant(toUser(author.id), 'read write create mask'),
          ]
          ok(await changePool(root, root, museum.pool, { _acl }))
        },
        async () => {},
      ],
    ]
    for (const [what, end, restore] of ends) {
      await museum.svc.db.query('delete from event')
      await end()
      const work = await stored(await create(author.client))
      assert.deepEqual([work._owner.user._id, tagsOf(work)], [author.id, []], what)
      assert.deepEqual((await withheld()).map(({ action }) => action).sort(), ['change_owner', 'set_tags'], what)
      await restore()
    }
  })

  test('a private pool below is not reached by who gives rights above it', async () => {
    ok(await changePool(keeper.client, root, museum.pool, { _transitions: [{ ...inThePool, actions: [own(keeper)] }] }))
    const [{ pool: below }] = ok(
      await root.post('/pool', [
        {
          pool: { _id_parent: museum.pool },
          _private_acl: true,
          _acl: [wireGrant(toUser(author.id), 'read write create mask')],
        },
      ]),
    )
    const [work] = ok(
      await author.client.post('db/work', [
        payload('work', { ...inPool(below._id), title: { 'en-US': 'Hidden' } }, { _mask }),
      ]),
    )
    assert.equal((await stored(work))._owner.user._id, author.id)
    assert.equal((await withheld()).length, 1)
  })

  test('a transition that refuses goes on refusing when whoever has set it has gone', async () => {
    const guard = await limitedUser(museum.svc, 'guard', { 'system.tagmanager': {} })
    await define(guard.client, { type: 'reject', confirm: { 'en-US': 'No.' } })
    await changeUser(root, guard.id, { login_disabled: true })
    const answer = await author.client.post('db/work', [payload('work', { ...inPool(museum.pool) }, { _mask })])
    assert.equal(answer.body.code, 'TransitionRejected')
  })

  test('mails and webhooks tell of what it may read', async () => {
    await define(tagger.client, { actions: [email(toUser(tagger.id)), webhook] })
    await create(author.client, 'Secret Boat')
    await museum.svc.drain()
    assert.deepEqual([mailServer.mails, receiver.calls], [[], []])
    assert.deepEqual((await withheld()).map(({ action, reason }) => [action, reason]).sort(), [
      ['email', 'right'],
      ['webhook', 'right'],
    ])
    await grant(wireGrant(toUser(tagger.id), 'read mask'))
    await create(author.client, 'Open Boat')
    await museum.svc.drain()
    assert.match(mailServer.mails[0]?.data ?? '', /Open Boat/)
    assert.equal(receiver.calls[0]?.body.objects[0].work.title['en-US'], 'Open Boat')
    assert.notEqual(receiver.calls[0]?.body.objects[0]._mask, '_all_fields')
    await changeUser(root, tagger.id, { login_disabled: true })
    await museum.svc.db.query('delete from event')
    mailServer.mails.length = 0
    await create(author.client, 'Late Boat')
    await museum.svc.drain()
    assert.deepEqual(mailServer.mails, [])
    assert.deepEqual(
      (await withheld()).map(({ reason }) => reason),
      ['user', 'user'],
    )
    await changeUser(root, tagger.id, { login_disabled: false })
    tagger = again(museum.svc, tagger)
  })
})

describe('what a client says starts what it may know of', () => {
  const view = (object: Json) => ({
    _basetype: 'event',
    event: { type: 'DETAIL_VIEW', system_object_id: object._system_object_id },
  })

  test('a view of an object that its poster may not see starts nothing, and is answered alike', async () => {
    await define(root, { trigger: 'event', operations: [], event_types: ['DETAIL_VIEW'], actions: [setTag(tags[0]!)] })
    const work = await create(author.client)
    const hidden = await stranger.client.post('event', view(work))
    const missing = await stranger.client.post('event', view({ _system_object_id: 999_999 }))
    assert.deepEqual([hidden.status, missing.status], [200, 200])
    assert.deepEqual(Object.keys(hidden.body.event), Object.keys(missing.body.event))
    ok(await stranger.client.post('event/list', [view(work), view(work)]))
    const named = { objecttype: 'work', object_id: work.work._id }
    ok(await stranger.client.post('event', { _basetype: 'event', event: { type: 'DETAIL_VIEW', ...named } }))
    await museum.svc.drain()
    assert.equal((await stored(work)).work._version, 1)
    ok(await author.client.post('event', view(work)))
    await museum.svc.drain()
    assert.deepEqual(tagsOf(await stored(work)), [tags[0]])
  })

  test('an event transition acts as whoever has set it, and the history names them', async () => {
    await grant(wireGrant(toUser(tagger.id), 'read write'))
    await define(tagger.client, {
      trigger: 'event',
      operations: [],
      event_types: ['DETAIL_VIEW'],
      actions: [setTag(tags[0]!)],
    })
    const work = await create(author.client)
    ok(await author.client.post('event', view(work)))
    await museum.svc.drain()
    const now = await stored(work)
    assert.deepEqual([now.work._version, tagsOf(now)], [2, [tags[0]]])
    const { rows } = await museum.svc.db.query(
      'select by_user as by from object_version where system_object_id = $1 and version = 2',
      [work._system_object_id],
    )
    assert.deepEqual(rows, [{ by: tagger.id }])
    await changeUser(root, tagger.id, { login_disabled: true })
    const other = await create(author.client)
    ok(await author.client.post('event', view(other)))
    await museum.svc.drain()
    assert.equal((await stored(other)).work._version, 1)
    assert.deepEqual(
      (await withheld()).map(({ reason, system_object_ids: ids }) => [reason, ids]),
      [['user', [other._system_object_id]]],
    )
    await changeUser(root, tagger.id, { login_disabled: false })
    tagger = again(museum.svc, tagger)
  })
})

describe('circles end', () => {
  const byEvent = (...event_types: string[]) => ({ trigger: 'event', operations: [], event_types })
  const count = async (type: string): Promise<number> => {
    const { rows } = await museum.svc.db.query<{ n: number }>('select count(*)::int as n from event where type = $1', [
      type,
    ])
    return rows[0]?.n ?? 0
  }

  test('a mail about mails that were sent', async () => {
    await define(
      root,
      { actions: [email(toUser(tagger.id))] },
      { ...byEvent('EMAIL_SENT'), actions: [email(toUser(tagger.id))] },
    )
    await create(author.client)
    await museum.svc.drain()
    assert.equal(await count('EMAIL_SENT'), 2, 'that of the save, and one about it')
  })

  test('webhooks about mails about webhooks, and about failed ones', async () => {
    receiver.answer = () => ({ status: 400 })
    await define(
      root,
      { actions: [webhook] },
      { ...byEvent('WEBHOOK_ERROR', 'WEBHOOK'), actions: [email(toUser(tagger.id))] },
      { ...byEvent('EMAIL_SENT'), actions: [webhook] },
    )
    await create(author.client)
    await museum.svc.drain()
    assert.deepEqual([await count('EMAIL_SENT'), await count('WEBHOOK_ERROR')], [1, 1])
    receiver.answer = () => ({ body: '{}' })
  })

  test('mails that wait for their hour remember why they were written', async () => {
    const day = new Date(Date.now() - 86_400_000)
    const mail_schedule = { days_of_month: [day.getUTCDate()], hours: [day.getUTCHours()] }
    await changeUser(root, tagger.id, { mail_schedule })
    const later = { ...email(toUser(tagger.id)), info: { ...email(toUser(tagger.id)).info, batchable: true } }
    await define(root, { actions: [later] }, { ...byEvent('EMAIL_SENT'), actions: [later] })
    await create(author.client)
    for (let round = 0; round < 5; round++) await museum.svc.app.idle({ hurry: true })
    assert.equal(await count('EMAIL_SENT'), 2)
    await changeUser(root, tagger.id, { mail_schedule: null })
  })

  test('saves by transitions, and what the index says of them', async () => {
    await define(
      root,
      {
        ...byEvent('OBJECT_UPDATE', 'OBJECT_INSERT', 'OBJECT_INDEX_ERROR'),
        'tagfilter:after': { not: [tags[0]] },
        actions: [setTag(tags[0]!)],
      },
      {
        ...byEvent('OBJECT_UPDATE', 'OBJECT_INSERT', 'OBJECT_INDEX_ERROR'),
        'tagfilter:after': { all: [tags[0]] },
        actions: [setTag(tags[0]!, false)],
      },
    )
    const work = await create(author.client)
    await museum.svc.drain()
    const { work: now } = await stored(work)
    assert.ok(now._version <= 3, `version ${now._version}`)
    const { rows } = await museum.svc.db.query<{ cause: Json }>(
      `select cause from event where type = 'OBJECT_UPDATE' and system_object_id = $1`,
      [work._system_object_id],
    )
    assert.ok(rows.length > 0 && rows.every(({ cause }) => cause[0].kind === 'event'))
  })
})
