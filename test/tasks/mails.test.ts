import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMailServer } from '../support/mail-server.ts'
import { startMuseum } from '../support/seed/museum.ts'
import { logOf, now, ok, ran, titled } from './support.ts'

test('mails of tasks count with those that their creator writes by hand; those beyond are left out, and the log says so', async () => {
  await using mails = await startMailServer()
  await using museum = await startMuseum({ quotaMails: 5 })
  const root = museum.svc.as('root')
  const email = { from: 'archive@museum.test' }
  await ok(
    root.post('/config', { system: { config: { email, email_server: { server_addr: mails.address, type: 'off' } } } }),
  )
  const recipients = [
    { email: 'a@museum.test' },
    { email: 'b@museum.test' },
    { email: 'c@museum.test', problems_only: true },
  ]
  const task = { task_module: 'search', task_params: { search: titled('Nothing') }, email: { recipients } }
  const first = await ran(museum, root, task)
  assert.deepEqual(await logOf(root, first), ['0 objects found.'])
  assert.deepEqual(mails.mails.map(({ to }) => to[0]).sort(), ['a@museum.test', 'b@museum.test'])
  // Who gets mail for problems alone was not counted: there are three left.
  await ok(root.post('/system/sendmail', { to: ['d@museum.test', 'e@museum.test'], subject: 'x', text: 'x' }))
  mails.mails.length = 0
  const second = await ran(museum, root, task)
  assert.equal(second.status, 'done', 'the run itself is not concerned')
  assert.deepEqual(await logOf(root, second), [
    '0 objects found.',
    'No mail was sent: the creator of the task may send to 5 recipients within an hour (svc.quotas.mails).',
  ])
  assert.deepEqual(mails.mails, [])
  const third = await root.post('/system/sendmail', { to: ['d@museum.test', 'e@museum.test'], subject: 'x', text: 'x' })
  assert.deepEqual([third.status, third.body.parameters.quota], [429, 'svc.quotas.mails'])
  // A task without recipients uses nothing, and says nothing.
  const quiet = await ran(museum, root, { ...task, email: { recipients: [] } })
  assert.deepEqual(await logOf(root, quiet), ['0 objects found.'])
})

test('two runs of one creator that end at once send no more mails than may be, and a refusal counts nothing', async () => {
  await using mails = await startMailServer()
  await using museum = await startMuseum({ quotaMails: 5 })
  const root = museum.svc.as('root')
  const email = { from: 'archive@museum.test' }
  await ok(
    root.post('/config', { system: { config: { email, email_server: { server_addr: mails.address, type: 'off' } } } }),
  )
  const recipients = ['a', 'b', 'c'].map((name) => ({ email: `${name}@museum.test` }))
  const task = { task_module: 'search', task_params: { search: titled('Nothing') }, email: { recipients } }
  const saved = await Promise.all(
    [1, 2].map(() => ok(root.post('/task', { task: { next_run_at: now, ...task } }, { confirm: 'yes' }))),
  )
  await museum.svc.drain()
  const logs = await Promise.all(saved.map((one) => logOf(root, one.task)))
  assert.deepEqual(logs.map(({ length }) => length).sort(), [1, 2], 'one of them was refused')
  assert.equal(mails.mails.length, 3)
  const used = async (): Promise<number[]> =>
    (
      await museum.svc.db.query<{ count: number }>(`select count::int from quota_use where quota = 'svc.quotas.mails'`)
    ).rows.map(({ count }) => count)
  assert.deepEqual(await used(), [3])
  await ok(root.post('/system/sendmail', { to: ['d@museum.test', 'e@museum.test'], subject: 'x', text: 'x' }))
  // A refused mail has used nothing either.
  const refused = await root.post('/system/sendmail', { to: ['d@museum.test'], subject: 'x', text: 'x' })
  assert.equal(refused.status, 429)
  assert.deepEqual(await used(), [5])
})
