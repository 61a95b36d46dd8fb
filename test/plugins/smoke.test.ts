import assert from 'node:assert/strict'
import { test } from 'node:test'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { callbackManifest, install, nodeScript } from './support.ts'

test('smoke', async () => {
  await using museum = await startMuseum()
  const { svc } = museum
  const url = await svc.listen()
  const root = svc.as('root')
  const p = await install(svc, 'first', {
    'manifest.yml': callbackManifest('first', { objecttypes: ['person'], args: ['%info.json%'] }),
    'run.js': nodeScript(`
      console.error(JSON.stringify(payload, null, 1).length, process.argv[2].length)
      const r = await fetch(payload.info.api_url + '/api/v1/user/session', { headers: { authorization: 'Bearer ' + payload.info.api_user_access_token } })
      const s = await r.json()
      answer({ objects: payload.objects.map((o) => ({ ...o, _comment: 'by plugin ' + r.status, person: { ...o.person, reference: 'x' + o.person.name } })) })
    `),
  })
  console.log(p)
  const t = performance.now()
  const a = await root.post('/db/person', [payload('person', { name: 'Ada' })], { format: 'full' })
  console.log(Math.round(performance.now() - t), a.status, JSON.stringify(a.body).slice(0, 600))
  for (let i = 0; i < 5; i++) { const t = performance.now(); const b = await root.post('/db/person', [payload('person', { name: 'Ada'+i })]); console.log(b.status, Math.round(performance.now() - t)) }
  console.log((await root.get('/plugin')).body)
  const { rows } = await svc.db.query(`select count(*) from oauth_session where client_id = 'plugin'`)
  console.log(rows)
  assert.ok(url)
})
