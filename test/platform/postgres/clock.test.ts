import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../support/client.ts'
import { inPool, payload, startMuseum } from '../../support/seed/museum.ts'
import type { TestService } from '../../support/service.ts'

/** All moments that are stored lie two hours ahead, as when the clock of the machine has gone back by so much. */
async function setClockBack(svc: TestService): Promise<void> {
  const { rows } = await svc.db.query<{ name: string; columns: string[] }>(
    `select c.oid::regclass::text as name, array_agg(quote_ident(a.attname::text)) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.atttypid = 'timestamptz'::regtype group by 1`,
  )
  assert.ok(rows.length > 20)
  await svc.db.transaction(async (tx) => {
    for (const { name, columns } of rows) {
      await tx.query(
        `update ${name} set ${columns.map((column) => `${column} = ${column} + interval '2 hours'`).join()}`,
      )
    }
  })
}

test('a clock that goes back: saves are found, events and changes stay in order, who is signed in stays so', async () => {
  await using museum = await startMuseum()
  const { svc, pool } = museum
  const root = svc.as('root')
  const save = async (title: string): Promise<Json> => {
    const answer = await root.post('/db/work', [payload('work', { title: { 'en-US': title } }, inPool(pool))], {
      await_index: 10,
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }
  const find = async (string: string): Promise<number> =>
    (await root.post('/search', { search: [{ type: 'match', mode: 'fulltext', string }] })).body.count
  const sign = (form: Record<string, string>) =>
    svc.inject({
      method: 'POST',
      url: '/api/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ client_id: 'web-client', ...form }).toString(),
    })
  const password = (text: string) => sign({ grant_type: 'password', username: 'root', password: text })
  const work = await save('harbour one')
  assert.equal(await find('harbour'), 1)
  const signedIn = async (): Promise<Json> => {
    const answer = await sign({
      grant_type: 'password',
      username: 'root',
      password: svc.config.rootPassword ?? '',
      scope: 'offline read write',
    })
    return answer.json()
  }
  const refresh = (token: string) => sign({ grant_type: 'refresh_token', refresh_token: token })
  const [before, used] = [await signedIn(), await signedIn()]
  assert.equal((await refresh(used.refresh_token)).statusCode, 200)
  assert.equal((await password('wrong')).statusCode, 400)
  await svc.drain()

  await setClockBack(svc)
  await save('harbour two')
  assert.equal(await find('harbour'), 2)
  const id = work.work._id
  const next = await root.post(
    '/db/work',
    [payload('work', { _id: id, _version: 1, title: { 'en-US': 'lighthouse' } })],
    { await_index: 10 },
  )
  assert.equal(next.status, 200, JSON.stringify(next.body))
  assert.deepEqual([await find('harbour'), await find('lighthouse')], [1, 1])
  const [read] = (await root.get(`/db/work/_all_fields/${id}`)).body
  assert.equal(read.work._version, 2)
  const [old] = (await root.get(`/db/work/_all_fields/${id}`, { version: 1 })).body
  assert.equal(old.work.title['en-US'], 'harbour one')

  const polled = (await root.get('/event/poll/0', { limit: 1000 })).body.map(({ event }: Json) => event)
  const ids = polled.map(({ _id }: Json) => _id)
  assert.deepEqual(
    ids,
    ids.toSorted((a: number, b: number) => a - b),
  )
  assert.deepEqual(
    polled.filter(({ type }: Json) => type.startsWith('OBJECT_')).map(({ type }: Json) => type),
    ['OBJECT_INSERT', 'OBJECT_INSERT', 'OBJECT_UPDATE'],
  )
  const { rows } = await svc.db.query<{ ordered: boolean }>(
    `select bool_and(changed_at <= (select changed_at from search_state)) as ordered from search_document`,
  )
  assert.deepEqual(
    rows,
    [{ ordered: true }],
    'nothing is newer than the index: whoever follows it would miss what comes',
  )

  assert.equal((await root.get('/user/session')).status, 200)
  const refreshed = await refresh(before.refresh_token)
  assert.equal(refreshed.statusCode, 200, refreshed.body)
  assert.equal((await refresh(used.refresh_token)).statusCode, 400, 'it was used long ago, whatever the clock says')
  assert.equal((await password('wrong')).statusCode, 400)
  assert.equal((await password(svc.config.rootPassword ?? '')).statusCode, 200)
  const removed = await root.delete('/db/work', [[id, 2, null]], { delete_policy: 'remove' })
  assert.equal(removed.status, 200, JSON.stringify(removed.body))
  await svc.drain()
  assert.equal(await find('lighthouse'), 0)
})
