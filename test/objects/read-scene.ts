import assert from 'node:assert/strict'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService, type TestServiceOptions } from '../support/service.ts'

/**
 * A model for reading: works link to people (searched for on their own), materials (not in the main search) and
 * terms (several parents); places inherit; loans stand below works, and each has its reports below it.
 */
const model = () =>
  defineModel(
    {
      person: { columns: { name: 'text_oneline', born: 'date', teacher: 'link:person' } },
      material: { columns: { name: 'text_oneline', supplier: 'link:person' }, flags: { in_main_search: false } },
      place: {
        columns: { name: 'text_l10n_oneline', country: 'text_oneline', keeper: 'link:person', note: 'text' },
        nested: { name: { columns: { old: 'text_oneline' } } },
        flags: { is_hierarchical: true },
      },
      term: { columns: { name: 'text_oneline', scope: 'text' }, flags: { polyhierarchical: true } },
      work: {
        columns: {
          title: 'text_l10n_oneline',
          inventory: 'string',
          price: 'integer.2',
          made: 'date',
          period: 'daterange',
          image: 'eas',
          location: 'geo_json',
          creator: 'link:person',
          place: 'link:place',
        },
        nested: {
          part: { columns: { rank: 'number', material: 'link:material' } },
          term: { columns: { term: 'link:term' } },
        },
        flags: { pool_link: true, has_tags: true, acl_table: true },
      },
      loan: {
        columns: { borrower: 'text_oneline', work: { type: 'link:work', reverse_edit: true, on_delete: 'cascade' } },
      },
      report: {
        columns: {
          text: 'text',
          loan: { type: 'link:loan', reverse_edit: true, on_delete: 'cascade' },
          author: 'link:person',
          medium: 'link:material',
        },
      },
    },
    {
      work__restricted: {
        table: 'work',
        shape: (field, name) => {
          if (name === 'work.price') return { ...field, edit: { mode: 'off' } }
          if (name === 'work.inventory') return { ...field, edit: { mode: 'show' } }
          return name === 'work.title' || name === 'work.creator' ? field : null
        },
        settings: {
          system_fields: Object.fromEntries(
            ['tags', 'acl', 'owner', 'pool', 'publish', 'collections', 'object_id', 'parent'].map((name) => [
              name,
              { output: { mode: 'off' }, edit: { mode: 'off' } },
            ]),
          ),
        },
      },
      work__sorted: {
        table: 'work',
        shape: (field, name) =>
          name === 'work__part' ? { ...field, nested_sort: [{ field: 'rank', order: 'desc' }] } : field,
      },
      work__sorted_by_link: {
        table: 'work',
        shape: (field, name) =>
          name === 'work__part' ? { ...field, nested_sort: [{ field: 'material', order: 'asc' }] } : field,
      },
      work__display: {
        table: 'work',
        shape: (field, name) => {
          const output = field.output as object
          if (name === 'work.image') return { ...field, output: { ...output, standard_eas: { order: 1 } } }
          if (name === 'work.location') return { ...field, output: { ...output, standard_geo: { order: 1 } } }
          return field
        },
        settings: { is_preferred: true },
      },
      place__inheriting: {
        table: 'place',
        shape: (field, name) =>
          name === 'place.name' ? field : { ...field, inheritance: { inherit: true, show_in_detail: true } },
      },
      term__inheriting: {
        table: 'term',
        shape: (field) => ({ ...field, inheritance: { inherit: true, show_in_detail: true } }),
      },
      place__children: {
        table: 'place',
        shape: (field) => field,
      },
    },
  )

export interface Scene extends AsyncDisposable {
  readonly svc: TestService
  readonly pool: number
  /** Saves objects as root with `_all_fields` and gives what was answered. */
  save(objecttype: string, objects: readonly object[], query?: Record<string, string | number>): Promise<Json[]>
  /** Saves one object and gives its `_system_object_id`. */
  add(objecttype: string, block: object, rest?: object): Promise<number>
  /** Reads one object as root by its `_system_object_id`. */
  read(objecttype: string, id: number, query?: Record<string, string | number>, mask?: string): Promise<Json>
}

export async function startScene(options: TestServiceOptions = {}): Promise<Scene> {
  const svc = await startService(options)
  try {
    const seeded = model()
    for (const mask of seeded.masks.masks) {
      // One preferred mask per type: that of works shows files and places in the standard.
      if (mask.name === 'work__standard') mask.is_preferred = false
      if (mask.name === 'place__children') (mask.fields as object[]).push(childrenField(mask))
    }
    await commitModel(svc, seeded)
    const pool = await standardPool(svc)
    const root = svc.as('root')
    const save: Scene['save'] = async (objecttype, objects, query = {}) => {
      const answer = await root.post(`/db/${objecttype}`, objects, query)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body
    }
    return {
      svc,
      pool,
      save,
      async add(objecttype, block, rest = {}) {
        const inPool = objecttype === 'work' ? { _pool: { pool: { _id: pool } } } : {}
        const [object] = await save(objecttype, [
          { _objecttype: objecttype, _mask: '_all_fields', ...rest, [objecttype]: { ...inPool, ...block } },
        ])
        return object._system_object_id
      },
      async read(objecttype, id, query = {}, mask = '_all_fields') {
        const answer = await root.get(`/db/${objecttype}/${mask}/system_object_id/${id}`, query)
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        assert.equal(answer.body.length, 1, 'one object')
        return answer.body[0]
      },
      [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
    }
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

/** The children of a place inside the place, each with its name. */
function childrenField(mask: Record<string, unknown>): object {
  const fields = mask.fields as object[]
  return {
    kind: 'reverse-linked-table',
    is_hierarchical: true,
    other_table_id: mask.table_id,
    edit: { mode: 'edit' },
    mask: { fields: fields.slice(0, 1) },
  }
}

export const link = (objecttype: string, id: number) => ({
  _objecttype: objecttype,
  _mask: '_all_fields',
  _system_object_id: id,
})

/** An answer with what differs between runs replaced: times and generated uuids. */
export function steady(value: Json): Json {
  const text = JSON.stringify(value)
    .replaceAll(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"<time>"')
    .replaceAll(/"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}"/g, '"<uuid>"')
  return JSON.parse(text)
}
