import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMuseum } from '../support/seed/museum.ts'

/** What test suites and front ends ask for before they do anything else. */

test('the texts of the service are there for everybody, in the language that comes nearest', async () => {
  await using museum = await startMuseum()
  const { svc } = museum
  const nobody = svc.as(null)
  const german = await nobody.get('/l10n/static/de-DE.json')
  assert.deepEqual([german.status, Object.keys(german.body)], [200, ['de-DE']])
  assert.equal(german.body['de-DE']['page.login.title'], 'Anmelden')
  assert.deepEqual((await nobody.get('/l10n/static/de.json')).body, german.body)
  const english = await nobody.get('/l10n/static/en-US.json')
  assert.deepEqual(Object.keys(english.body['en-US']).sort(), Object.keys(german.body['de-DE']).sort())
  assert.deepEqual((await nobody.get('/l10n/static/fr-FR.json')).body, english.body)
  assert.equal((await nobody.get('/l10n/static/..%2f.json')).status, 400)

  const root = svc.as('root')
  await root.post('/l10n/user/HEAD', { 'page.login.title': { 'de-DE': 'Willkommen' } })
  await root.post('/schema/commit', undefined, { confirm: 'yes' })
  assert.equal((await nobody.get('/l10n/static/de-DE.json')).body['de-DE']['page.login.title'], 'Willkommen')
})
