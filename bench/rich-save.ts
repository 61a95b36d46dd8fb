import type { Context } from './context.ts'
import { median } from './load.ts'
import { atLeast, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const batch = 1000

/** Objects with five links, three nested rows, tags and two reverse-nested objects each, a thousand in one request. */
export async function measureRichSave(context: Context): Promise<Row[]> {
  const { client } = context
  await commitTypes(context, tables, masksOfTypes)
  const tags = await createTags(context)
  const targets = await client.post<{ _system_object_id: number }[]>(
    '/db/bench_target',
    Array.from({ length: 200 }, (_, index) => ({
      _objecttype: 'bench_target',
      _mask: 'bench_target',
      bench_target: { name: `Target ${index}` },
    })),
    { format: 'short' },
  )
  const ids = targets.map((target) => target._system_object_id)
  const rates: number[] = []
  for (let round = 0; round < 6; round++) {
    const objects = Array.from({ length: batch }, (_, index) => richObject(`${round}-${index}`, index, ids, tags))
    const begun = performance.now()
    await client.post('/db/bench_rich', objects, { format: 'short' })
    // During the first request, code is compiled that the others use.
    if (round > 0) rates.push((1000 * batch) / (performance.now() - begun))
  }
  return [atLeast(`save ${batch} rich objects in one request`, 1500, median(rates), 'objects/s')]
}

function richObject(key: string, index: number, targets: readonly number[], tags: readonly number[]): object {
  const link = (offset: number): object => ({
    _objecttype: 'bench_target',
    _system_object_id: targets[(index + offset) % targets.length],
  })
  return {
    _objecttype: 'bench_rich',
    _mask: 'bench_rich',
    _tags: tags.map((_id) => ({ _id })),
    bench_rich: {
      name: `Rich ${key}`,
      reference: key,
      note: 'Oil on canvas, signed at the lower left, with a later frame.',
      link_a: link(0),
      link_b: link(11),
      '_nested:bench_rich__part': [1, 2, 3].map((place) => ({ text: `Part ${place}`, target: link(20 + place) })),
      '_reverse_nested:bench_child:parent': [1, 2].map((place) => ({
        _objecttype: 'bench_child',
        _mask: 'bench_child',
        bench_child: { name: `Child ${key}-${place}` },
      })),
    },
  }
}

async function createTags({ client }: Context): Promise<number[]> {
  const groups = await client.get<object[]>('/tags')
  const group = {
    _basetype: 'taggroup',
    taggroup: { displayname: { 'en-US': 'Bench' }, reference: 'bench', type: 'checkbox' },
    _tags: ['a', 'b'].map((name) => ({ displayname: { 'en-US': name }, reference: `bench-${name}`, enabled: true })),
  }
  const stored = await client.post<
    { taggroup: { reference?: string }; _tags: { _id?: number; tag?: { _id: number } }[] }[]
  >('/tags', [...groups, group])
  const created = stored.find(({ taggroup }) => taggroup.reference === 'bench')
  return (created?._tags ?? []).map((tag) => tag._id ?? tag.tag?._id ?? 0)
}

const link = (name: string, target: string, more: object = {}) => ({
  kind: 'column',
  name,
  type: 'link',
  other_table_name_hint: target,
  ...more,
})

const tables = [
  { name: 'bench_target', columns: [value('name', 'text_oneline')] },
  {
    name: 'bench_rich',
    has_tags: true,
    columns: [
      value('name', 'text_oneline'),
      value('reference', 'string'),
      value('note', 'text'),
      link('link_a', 'bench_target'),
      link('link_b', 'bench_target'),
    ],
    unique_keys: [{ columns: [{ column_name_hint: 'reference' }] }],
  },
  {
    name: 'bench_rich__part',
    owned_by: { other_table_name_hint: 'bench_rich' },
    columns: [value('text', 'text_oneline'), link('target', 'bench_target')],
  },
  {
    name: 'bench_child',
    columns: [value('name', 'text_oneline'), link('parent', 'bench_rich', { reverse_edit: true })],
  },
]

const linkField = (name: string) => ({ ...field(name), kind: 'link', mask_id: 'PREFERRED' })

const masksOfTypes = [
  { name: 'bench_target', table_name_hint: 'bench_target', is_preferred: true, fields: [field('name', true)] },
  {
    name: 'bench_rich',
    table_name_hint: 'bench_rich',
    is_preferred: true,
    fields: [
      field('name', true),
      field('reference'),
      field('note'),
      linkField('link_a'),
      linkField('link_b'),
      {
        kind: 'linked-table',
        other_table_name_hint: 'bench_rich__part',
        mask: { fields: [field('text'), linkField('target')] },
      },
      {
        kind: 'reverse-linked-table',
        other_table_name_hint: 'bench_child',
        other_column_name_hint: 'parent',
        mask: { fields: [field('name')] },
      },
    ],
  },
  { name: 'bench_child', table_name_hint: 'bench_child', is_preferred: true, fields: [field('name', true)] },
]
