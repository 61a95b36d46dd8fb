import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { picture, upload } from '../files/support.ts'
import { mutated } from '../support/hostile.ts'
import { startService } from '../support/service.ts'

/** A pool that says everything, valid but for `_id` and `_version`. */
const whole = {
  _basetype: 'pool',
  pool: {
    _id_parent: 1,
    reference: 'fuzz',
    name: { 'en-US': 'Fuzz' },
    shortname: { 'en-US': 'f' },
    description: {},
    comment: '',
    contact: { _basetype: 'user', user: { _id: 1 } },
    is_system_pool: false,
    watermark: { image: { _id: 1 }, gravity: 'se', dissolve: 10, size: '1', tile: true },
    caption: { field: { text: '', size: '10', padding: '0', multiline: true, overlay: false } },
    janitor_policy: { file_link_delete: { keep_days_history_versions: 1 }, object_purge: { min_deleted_days: 1 } },
    custom_data: { a: [1, { b: null }] },
    mapping_dc_export: 'none',
  },
  _owner: { user: { _id: 1 } },
  _private_acl: true,
  _acl: [
    {
      _id: 1,
      who: { group: { _id: 1 } },
      sticky: true,
      active: true,
      when: { from: '2026-01-01T00:00:00Z' },
      rights: { read: { objecttype_ids: [1], mask_ids: { 1: [1] } }, asset_upload: { limit: 1 } },
      tagfilter: { all: [], any: [], not: [] },
    },
  ],
  _tags: [],
  _transitions: [],
  _standard_masks: {},
}

test('whatever stands at whatever place, the answer is 200 or an error with a code, never 500', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await upload(svc, 'root', [{ name: 'mark.png', content: await picture(8, 8, 'png') }])
  const codes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(mutated([whole]), async (sent) => {
      const { status, body } = await root.post('/pool', sent)
      if (status === 200) {
        for (const { pool } of body) assert.equal((await root.delete(`/pool/${pool._id}`)).status, 200)
        return
      }
      assert.ok(status >= 400 && status < 500, `${status} ${JSON.stringify(sent)} ${JSON.stringify(body)}`)
      assert.equal(typeof body.code, 'string')
      codes.add(body.code)
    }),
    { numRuns: 600 },
  )
  const { body } = await root.get('/pool')
  assert.equal(body.length, 2, 'nothing of it is stored')
  assert.ok(codes.size > 1)
})

test('wrong ids and pages are refused', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  for (const id of ['0', '-1', '1.5', 'x', '9007199254740993', '99999999999999999999']) {
    for (const answer of [await root.get(`/pool/${id}`), await root.delete(`/pool/${id}`)]) {
      assert.ok(answer.status >= 400 && answer.status < 500, `${id}: ${answer.status}`)
    }
  }
  assert.equal((await root.get('/pool/9007199254740991')).status, 404)
  for (const query of [{ limit: 0 }, { limit: 'x' }, { offset: -1 }]) {
    assert.equal((await root.get('/pool', query)).status, 400)
  }
})
