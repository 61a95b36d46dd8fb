import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type Museum, museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Masks and names as datamodel editors and translation tools send them (decisions.md, 31). */

async function commit({ svc }: Museum): Promise<void> {
  const answer = await svc.as('root').post('/schema/commit', undefined, { confirm: 'yes', reindex: 'skip' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

async function shownName({ svc }: Museum, id: number): Promise<Json> {
  const answer = await svc.as('root').get(`/db/person/person__standard/${id}`, { format: 'long' })
  return answer.body[0]._mask_display_name
}

test('the name of a mask: by mask id, else by table id, else its own', async () => {
  await using scene = await startMuseum()
  const root = scene.svc.as('root')
  const [saved] = (await root.post('/db/person', [payload('person', { name: 'Ada' })])).body
  const id = saved.person._id
  const { masks } = (await root.get('/mask/CURRENT')).body
  const mask = masks.find((entry: Json) => entry.name === 'person__standard')
  // Another table has the number of this mask, and the other way round, as in any real model.
  const key = (number: number) => `mask.${number}.person__standard.name`
  const others = masks.filter((entry: Json) => entry.name !== mask.name)

  const head = (await root.get('/mask/HEAD')).body
  const own = { ...mask, mask_id: 77, name_localized: { 'en-US': 'Person (own)' } }
  const posted = await root.post('/mask/HEAD', { ...head, masks: [own, ...others] })
  assert.equal(posted.status, 200, JSON.stringify(posted.body))
  await commit(scene)
  assert.deepEqual(await shownName(scene, id), { 'en-US': 'Person (own)' })

  await root.post('/l10n/user/HEAD', { [key(mask.table_id)]: { 'en-US': 'Person (table)' } })
  await commit(scene)
  assert.deepEqual(await shownName(scene, id), { 'en-US': 'Person (table)' })
  const long = (await root.get('/mask/CURRENT/person__standard', { format: 'long' })).body
  assert.deepEqual(long.masks[0].name_localized, { 'en-US': 'Person (table)' })

  await root.post('/l10n/user/HEAD', { [key(77)]: { 'en-US': 'Person (mask)' } })
  await commit(scene)
  assert.deepEqual(await shownName(scene, id), { 'en-US': 'Person (mask)' })
})

test('members that are null mean "not said", also deep inside a mask', async () => {
  await using scene = await startMuseum()
  const root = scene.svc.as('root')
  const head = (await root.get('/mask/HEAD')).body
  const nulls = { inheritance: null, custom_settings: null, nested_sort: null, search: null }
  const emptied = (fields: Json[]): Json[] =>
    fields.map((field) => ({
      ...nulls,
      ...field,
      ...(field.mask ? { mask: { ...field.mask, fields: emptied(field.mask.fields) } } : {}),
    }))
  const masks = museum().masks.masks.map((mask: Json) => ({
    ...mask,
    name_localized: null,
    system_fields: null,
    fields: emptied(mask.fields),
  }))
  const posted = await root.post('/mask/HEAD', { ...head, masks })
  assert.equal(posted.status, 200, JSON.stringify(posted.body).slice(0, 500))
  await commit(scene)
  const schema = (await root.get('/schema/user/HEAD')).body
  const tables = schema.tables.map((table: Json) => ({
    comment: null,
    ...table,
    columns: table.columns.map((column: Json) => ({
      check: null,
      check_regexp: null,
      custom_settings: null,
      ...column,
    })),
  }))
  const again = await root.post('/schema/user/HEAD', { ...schema, tables })
  assert.equal(again.status, 200, JSON.stringify(again.body).slice(0, 500))
})
