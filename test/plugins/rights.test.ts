import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { startService } from '../support/service.ts'
import { install, remove, switched } from './support.ts'

const parameters = [
  { name: 'flag', type: 'bool' },
  { name: 'count', type: 'int' },
  { name: 'word', type: 'text' },
  { name: 'some', type: 'string-list', choices: ['a', 'b', 'c'] },
  { name: 'one', type: 'string-list-one', choices: ['a', 'b'] },
  { name: 'none', type: 'string-list-one-or-zero', choices: ['a', 'b'] },
  { name: 'pools', type: 'pool-select' },
]
const manifest = JSON.stringify({
  plugin: { name: 'righteous' },
  system_rights: [{ name: 'open', comment: 'Opens doors.', parameters }, { name: 'close' }],
})

test('RGT-011 system rights of plugins that are on stand in the catalogue and can be given', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  const plugin = await install(svc, 'righteous', { 'manifest.yml': manifest })
  const listed = async (): Promise<Json[]> =>
    (await root.get('/right')).body.system.rights.filter(({ name }: Json) => name.startsWith('plugin.'))
  const [open, close] = await listed()
  assert.deepEqual(
    [open.name, open.comment, close.name, close.parameters],
    ['plugin.righteous.open', 'Opens doors.', 'plugin.righteous.close', []],
  )
  assert.deepEqual(
    open.parameters.map(({ name, type, choices }: Json) => ({
      name,
      type,
      ...(choices.length > 0 ? { choices } : {}),
    })),
    parameters,
  )
  const give = (rights: object, login: string) =>
    root.post('/user', [{ user: { login }, _system_rights: rights, _password: login }], {
      confirm: 'ignore_password_requirements',
    })
  const values = { flag: true, count: -3, word: 'x', some: ['a', 'c'], one: ['b'], none: [], pools: [1, 'standard'] }
  const given = await give({ 'plugin.righteous.open': values, 'plugin.righteous.close': {} }, 'porter')
  assert.equal(given.status, 200, JSON.stringify(given.body))
  assert.deepEqual(
    (await svc.as('porter').get('/user/session')).body.user._system_rights ?? given.body[0]._system_rights,
    {
      'plugin.righteous.open': values,
      'plugin.righteous.close': {},
    },
  )
  const wrong: [object, string][] = [
    [{ 'plugin.righteous.none': {} }, 'UnknownRight'],
    [{ 'plugin.other.open': {} }, 'UnknownRight'],
    [{ 'plugin.righteous.close': { flag: true } }, 'UnknownRightParam'],
    ...[
      { flag: 1 },
      { count: 1.5 },
      { word: 1 },
      { some: ['d'] },
      { one: [] },
      { one: ['a', 'b'] },
      { none: ['a', 'b'] },
      { pools: [-1] },
    ].map((wire): [object, string] => [{ 'plugin.righteous.open': wire }, 'UnknownRightValue']),
  ]
  for (const [rights, code] of wrong) {
    const refused = await give(rights, 'refused')
    assert.deepEqual([refused.status, refused.body.code], [400, code], JSON.stringify(rights))
  }
  // While the plugin is off nobody sees them in the catalogue, and who has one keeps it.
  await switched(svc, plugin.id, false)
  assert.deepEqual(await listed(), [])
  const [porter] = (await root.get('/user')).body.filter(({ user }: Json) => user.login === 'porter')
  const again = await root.post('/user', [
    {
      user: { _id: porter.user._id, _version: porter.user._version, login: 'porter' },
      _system_rights: porter._system_rights,
    },
  ])
  assert.equal(again.status, 200, JSON.stringify(again.body))
  await remove(svc, plugin.id)
  assert.equal((await give({ 'plugin.righteous.close': {} }, 'late')).body.code, 'UnknownRight')
})
