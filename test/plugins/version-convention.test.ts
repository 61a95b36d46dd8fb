import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { install } from './support.ts'

/** Saves a person with the version that the request names. */
const script = `
  const info = JSON.parse(process.argv[2])
  const { id, version } = info.request.query
  const body = [{ _objecttype: 'person', _mask: '_all_fields', person: { _id: +id, _version: +version, name: 'renamed' } }]
  fetch(info.api_url + '/api/v1/db/person', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + info.api_user_access_token },
    body: JSON.stringify(body),
  }).then(async (answer) => process.stdout.write(JSON.stringify({ status: answer.status, body: await answer.json() })))`

suite('versions that programs of plugins send', () => {
  for (const [pluginVersionConvention, ahead] of [
    [null, 0],
    ['next', 1],
  ] as const) {
    test(`with ${pluginVersionConvention ?? 'nothing'} said, a program sends the stored version plus ${ahead}; clients keep to theirs`, async () => {
      await using museum = await startMuseum({ pluginVersionConvention })
      await museum.svc.listen()
      const root = museum.svc.as('root')
      const command = { prog: 'node', stdout: { type: 'body' }, args: ['%_exec.pluginDir%/run.js', '%info.json%'] }
      await install(museum.svc, 'saver', {
        'manifest.yml': JSON.stringify({
          plugin: { name: 'saver' },
          extensions: { save: { exec: { service: 'node', commands: [command] } } },
        }),
        'run.js': script,
      })
      const saved = await root.post('/db/person', [payload('person', { name: 'first' })])
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
      const { _id: id, _version: stored } = saved.body[0].person
      const by = async (version: number): Promise<Json> =>
        (await root.get('/plugin/extension/saver/save', { id, version })).body
      const wrong = await by(stored + 5)
      assert.deepEqual([wrong.status, wrong.body.code], [400, 'VersionMismatch'])
      const right = await by(stored + ahead)
      assert.deepEqual([right.status, right.body[0]?.person._version], [200, stored + 1], JSON.stringify(right))
      const client = await root.post('/db/person', [payload('person', { _id: id, _version: stored + 1, name: 'last' })])
      assert.equal(client.status, 200, JSON.stringify(client.body))
    })
  }
})
