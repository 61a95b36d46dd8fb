import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { changePool, ok } from '../rights/limited.ts'
import type { Json } from '../support/client.ts'
import { inPool, payload, startMuseum } from '../support/seed/museum.ts'

test('transitions from before it was known who has set them are root’s, go on, and are logged', async () => {
  await using museum = await startMuseum()
  const { svc, pool } = museum
  const root = svc.as('root')
  const [group] = ok(
    await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'a' }, { reference: 'b' }, { reference: 'c' }] }]),
  )
  const tags: number[] = group._tags.map((tag: Json) => tag._id)
  const setting = (tag: number | undefined) => [
    {
      type: 'process',
      operations: ['INSERT'],
      comment: 'old',
      actions: [{ type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }],
    },
  ]
  ok(await root.post('transitions', setting(tags[0])))
  ok(await changePool(root, root, pool, { _transitions: setting(tags[1]) }))
  const work = ok(await root.get('objecttype')).find(({ objecttype }: Json) => objecttype.name === 'work').objecttype
  const settings = { objecttype: { _id: work._id, _version: work._version + 1 }, _transitions: setting(tags[2]) }
  ok(await root.post('objecttype', [settings]))
  const places = [
    `select settings - 'operations' as t from transition`,
    'select t from pool, jsonb_array_elements(transitions) as t',
    `select t from objecttype, jsonb_array_elements(settings->'transitions') as t`,
  ]
  const setters = async () =>
    (
      await svc.db.query<{ by: number | null }>(
        `select (t->>'setBy')::int as by from (${places.join(' union all ')}) x`,
      )
    ).rows.map(({ by }) => by)

  // As they were stored before.
  await svc.db.query(`update transition set settings = settings - 'setBy'`)
  await svc.db.query(
    `update pool set transitions = (select coalesce(jsonb_agg(t - 'setBy'), '[]') from jsonb_array_elements(transitions) t)`,
  )
  await svc.db.query(
    `update objecttype set settings = jsonb_set(settings, '{transitions}',
       (select jsonb_agg(t - 'setBy') from jsonb_array_elements(settings->'transitions') t)) where id = $1`,
    [work._id],
  )
  assert.deepEqual(await setters(), [null, null, null])
  await svc.db.query('delete from event')
  const migration = readFileSync(new URL('../../migrations/0611_transition_set_by.sql', import.meta.url), 'utf8')
  await svc.db.transaction((tx) => tx.query(migration))
  assert.deepEqual(await setters(), [1, 1, 1])
  const { rows } = await svc.db.query(
    `select type, pollable, basetype, info from event where basetype = 'transition' order by event.id`,
  )
  const info = {
    type: 'process',
    comment: 'old',
    operation_insert: true,
    operation_update: false,
    operation_delete: false,
  }
  assert.deepEqual(rows, Array(3).fill({ type: 'TRANSITION_UPDATE', pollable: true, basetype: 'transition', info }))

  const [made] = ok(await root.post('db/work', [payload('work', { ...inPool(pool) })]))
  assert.deepEqual(made._tags.map((tag: Json) => tag._id).toSorted(), tags.toSorted())
})
