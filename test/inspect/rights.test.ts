import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { registerBackendConsole } from '../../src/inspect/backend.ts'
import { createBackend } from '../../src/platform/http/backend.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService } from '../support/service.ts'
import { consoleCookie, consoleOf } from './support.ts'

test('RIGHTS-009 drives ask for the UUID of the collection alone; the console for a session and system.root on the public port, for nothing on the backend port', async () => {
  await using svc = await startService()
  const backend = createBackend({ db: svc.db, http: svc.app.http, measures: svc.app.measures })
  const settings = { actions: false, readOnly: () => false, host: '127.0.0.1', timeLimit: 30_000 }
  registerBackendConsole(backend, { ...settings, ...svc.app.console, log: pino({ level: 'silent' }) })
  const root = svc.as('root')
  const model = defineModel({ photo: { columns: { image: 'eas' }, flags: { pool_link: true } } })
  await commitModel(svc, model)
  const on = await root.post('/config', { system: { config: { webdav: { read_write_access: true } } } })
  assert.equal(on.status, 200)
  const create_object = { objecttype: 'photo', eas_field: 'image', pool_id: await standardPool(svc) }
  const made = await root.post('/collection', { collection: { create_object } })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const drive = (key: string, headers: Record<string, string> = {}) =>
    svc.inject({ method: 'PROPFIND' as 'GET', url: `/api/v1/WebDAV/${key}/`, headers: { depth: '0', ...headers } })
  const { uuid } = made.body.collection
  assert.equal((await drive(uuid)).statusCode, 207)
  assert.equal((await drive(uuid, { authorization: 'Basic bm9ib2R5Om5vYm9keQ==' })).statusCode, 207, 'nobody is asked')
  assert.equal((await drive(crypto.randomUUID())).statusCode, 404)

  const authorization = `Bearer ${await root.token()}`
  const page = { accept: 'text/html' }
  const open = (headers: Record<string, string>) =>
    svc.inject({ method: 'GET', url: '/inspect/', headers: { ...page, ...headers } })
  assert.equal((await open({ authorization })).statusCode, 302, 'a token opens nothing')
  const user = await root.post('/user', [{ user: { login: 'plain' }, _password: 'plain' }])
  assert.equal(user.status, 200)
  assert.equal((await consoleOf(svc, await consoleCookie(svc, 'plain', 'plain')).html('/')).statusCode, 403)
  assert.equal((await consoleOf(svc, await consoleCookie(svc)).html('/')).statusCode, 200)

  assert.equal((await backend.inject({ method: 'GET', url: '/inspect/', headers: page })).statusCode, 200)
  await backend.close()
})
