import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { addWorks, codeOf, draft, ran, saved } from './support.ts'

const ok = (answer: Answer): Json => {
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

suite('mappings that exports name', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
    await addWorks(museum, ['a'])
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')
  const mapping = async (profile: string): Promise<number> =>
    ok(await root().put('/xmlmapping/mapping', { profile, displayname: {}, fields: [] })).id
  const shown = async (id: number): Promise<Json> => ok(await root().get(`/export/${id}`)).export

  test('the deletion of a mapping asks first, and then exports name none', async () => {
    const [ofXml, ofFiles, other] = [
      await mapping('lido.yml'),
      await mapping('file-metadata.yml'),
      await mapping('file-metadata.yml'),
    ]
    const versions = (metadata: unknown) => [
      { type: 'original', metadata },
      { type: 'original', metadata: 'keep' },
    ]
    const xml = (await saved(museum.svc, 'root', draft({ xml: true, mapping: ofXml }))).export
    const files = (
      await saved(
        museum.svc,
        'root',
        draft({
          classes: { image: versions(ofFiles), video: versions(other) },
          assets: { 7: { versions: versions(`${ofFiles}`) }, 8: false },
        }),
      )
    ).export
    const before = await shown(files._id)
    for (const id of [ofXml, ofFiles]) {
      const asked = await root().delete(`/xmlmapping/mapping/${id}`)
      assert.equal(asked.status, 202, JSON.stringify(asked.body))
      assert.match(JSON.stringify(asked.body), /exports: 1/)
    }
    assert.deepEqual(await shown(files._id), before)
    ok(await root().delete(`/xmlmapping/mapping/${ofXml}`, undefined, { delete_policy: 'delete' }))
    ok(await root().delete(`/xmlmapping/mapping/${ofFiles}`, undefined, { delete_policy: 'delete' }))
    const { mapping: gone, _version: next } = await shown(xml._id)
    assert.deepEqual([gone, next], [undefined, xml._version + 1])
    const plain = [{ type: 'original' }, { type: 'original', metadata: 'keep' }]
    assert.deepEqual(await shown(files._id), {
      ...before,
      _version: before._version + 1,
      classes: { image: plain, video: versions(other) },
      assets: { 7: { versions: plain }, 8: false },
    })
    // It runs with the elements of the service itself.
    const one = await ran(museum.svc, 'root', xml._id)
    assert.equal(one._state, 'done', JSON.stringify(one._log))
  })

  test('an id of a mapping is a number, or a text of its digits', async () => {
    for (const metadata of [' 5', '5.0', '0x5', '05', '1e3', '']) {
      const answer = await root().post('/export', draft({ classes: { image: [{ type: 'original', metadata }] } }))
      assert.deepEqual(codeOf(answer), [400, 'ServerGeneric'], metadata)
    }
  })
})
