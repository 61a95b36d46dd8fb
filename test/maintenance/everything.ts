import assert from 'node:assert/strict'
import type { TestService } from '../support/service.ts'

/** Everything that the interface tells of the objects, for a comparison of two services. */
export async function everything(svc: TestService) {
  const root = svc.as('root')
  const answers: Record<string, unknown> = {}
  for (const type of ['person', 'place', 'work', 'loan']) {
    const list = await root.get(`/db/${type}/_all_fields/list`, { format: 'full', limit: 1000 })
    assert.equal(list.status, 200)
    answers[type] = list.body
    for (const object of list.body) {
      const id = object[type]._id
      answers[`${type}/${id}`] = (await root.get(`/db/${type}/_all_fields/${id}`, { all_versions: true })).body
    }
  }
  for (const path of ['/pool', '/user', '/group', '/tags', '/objecttype', '/schema/user/CURRENT', '/config']) {
    const { status, body } = await root.get(path)
    assert.equal(status, 200, path)
    answers[path] = body
  }
  answers.search = (
    await root.post('/search', {
      search: [{ type: 'match', mode: 'fulltext', string: 'harbour' }],
      sort: [{ field: '_system_object_id' }],
      aggregations: { types: { type: 'term', field: '_objecttype' } },
      format: 'full',
    })
  ).body
  answers.trash = (await root.post('/search', { include_deleted: true, sort: [{ field: '_system_object_id' }] })).body
  return answers
}
