import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ok } from '../collections/support.ts'
import { ask, harvest, type Scene, startScene } from './scene.ts'

suite('harvesting by OAI-PMH', () => {
  let it: Scene
  let uuids: string[]
  before(async () => {
    it = await startScene({
      repository_name: 'Notes & more',
      namespace_identifier: 'notes.example',
      admin_email: [{ email: 'a@example.org' }, { email: 'b@example.org' }],
    })
    const all = await Promise.all(it.notes.map((id) => it.root.get(`/db/note/_all_fields/system_object_id/${id}`)))
    uuids = all.map((one) => ok(one)[0]._uuid)
  })
  after(() => it[Symbol.asyncDispose]())

  test('Identify says what the repository is; it is also the answer to no verb', async () => {
    for (const given of [{ verb: 'Identify' }, {}]) {
      const { status, text } = await ask(it, given)
      console.log(text)
      assert.equal(status, 200)
    }
  })
  test('lists', async () => {
    const pages = await harvest(it, { verb: 'ListRecords', metadataPrefix: 'oai_dc', limit: 2 })
    for (const page of pages) console.log(page.text, page.headers, page.token, page.attributes)
    console.log((await ask(it, { verb: 'ListRecords', metadataPrefix: 'native' })).text)
    console.log((await ask(it, { verb: 'ListSets' })).text)
    console.log((await ask(it, { verb: 'ListMetadataFormats' })).text)
    console.log((await ask(it, { verb: 'GetRecord', identifier: `oai:notes.example:${uuids[0]}`, metadataPrefix: 'oai_dc' })).text)
    console.log((await ask(it, { verb: 'Nonsense' })).text)
  })
})
