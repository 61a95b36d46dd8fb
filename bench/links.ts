import pg from 'pg'
import { type Context, openContext } from './context.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const batch = 1000
const rounds = 15
/** Names of makers: each is that of one in a hundred of them, and every tenth maker has the common name. */
const names = 100

/**
 * Fields of linked objects beside plain ones with the same values, without statistics: works link to one of some makers,
 * and all of them to the same patron. Compared searches find the same objects. Each search has a condition that no other
 * one has.
 */
export async function measureLinks(source: string, works: number, say: (line: string) => void): Promise<Row[]> {
  const context = await openContext(source, say)
  try {
    const database = new pg.Client(context.dsn)
    await database.connect()
    // This applies to the whole server.
    await database.query('alter system set autovacuum = off')
    await database.query('select pg_reload_conf()')
    await database.end()
    await fill(context, works)
    return await compare(context, works)
  } finally {
    await context.close()
  }
}

async function fill(context: Context, works: number): Promise<void> {
  await commitTypes(context, tables, masks)
  const makers: number[] = []
  for (let at = 0; at < works / 10; at += batch) {
    const blocks = Array.from({ length: Math.min(batch, works / 10 - at) }, (_, index) => ({
      name: nameOf(at + index),
      born: (at + index) % 1000,
    }))
    makers.push(...(await save(context, 'bench_maker', blocks)))
  }
  const [patron] = await save(context, 'bench_maker', [{ name: 'patron', born: 2000 }])
  for (let at = 0; at < works; at += batch) {
    const blocks = Array.from({ length: Math.min(batch, works - at) }, (_, index) => {
      const number = at + index
      const maker = number % makers.length
      return {
        title: `Work ${number}`,
        name: nameOf(maker),
        born: maker % 1000,
        maker: linkTo(makers[maker] as number),
        patron: linkTo(patron as number),
        patron_name: 'patron',
      }
    })
    await save(context, 'bench_piece', blocks)
  }
  const all = { objecttypes: ['bench_piece'], limit: 0 }
  while ((await count(context, all)) < works) await new Promise((resolve) => setTimeout(resolve, 200))
}

const nameOf = (maker: number): string => `name${maker % names} ${maker % 10 === 0 ? 'common' : `rare${maker}`}`

/** Searches with a plain field, and the same with the field of the linked object. */
const pairs: readonly (readonly [name: string, plain: object, linked: object])[] = [
  ['a rare word', text('name', 'rare77'), text('maker.bench_maker.name', 'rare77')],
  ['a common word', text('name', 'common'), text('maker.bench_maker.name', 'common')],
  ['a range', range('born', 300, 600), range('maker.bench_maker.born', 300, 600)],
  ['a value of all', text('patron_name', 'patron'), text('patron.bench_maker.name', 'patron')],
  ['a denied word', not(text('name', 'common')), not(text('maker.bench_maker.name', 'common'))],
  [
    'one of two words',
    { search: [{ type: 'text', string: 'common 77', fields: piece('name', 'title') }] },
    { search: [{ type: 'text', string: 'common 77', fields: piece('maker.bench_maker.name', 'title') }] },
  ],
  ['an order, a page of 50', sorted('born'), sorted('maker.bench_maker.born')],
  ['an order by text, a page of 50', sorted('name'), sorted('maker.bench_maker.name')],
  ['a facet', facet('born'), facet('maker.bench_maker.born')],
  ['a facet of one value', facet('patron_name'), facet('patron.bench_maker.name')],
  ['values of 50 hits', values('name'), values('maker.bench_maker.name')],
]

/** Fields of the works of makers beside plain fields of these. */
const pairsBack: typeof pairs = [
  ['back: an order, a page of 50', sortedMakers('born'), sortedMakers(back('born'))],
  ['back: a facet', facetOfMakers('born'), facetOfMakers(back('born'))],
  ['back: a common word', textOfMakers('name', 'common'), textOfMakers(back('name'), 'common')],
]

async function compare(context: Context, works: number): Promise<Row[]> {
  const rows: Row[] = [
    figureOnly('links: works, each with a maker (one of a tenth as many) and the same patron', works, 'works'),
  ]
  for (const [name, plain, linked] of [...pairs, ...pairsBack]) {
    const [one, other] = [await median(context, plain), await median(context, linked)]
    if (one.count !== other.count) throw new Error(`${name}: ${one.count} and ${other.count} are found`)
    rows.push(
      figureOnly(`links: ${name} (${one.count} found), plain field`, one.ms, 'ms'),
      atMost('  the field of the linked object', Math.max(2 * one.ms, 20), other.ms, 'ms'),
    )
  }
  return rows
}

let unseen = 0

async function median({ client }: Context, request: object): Promise<{ ms: number; count: number }> {
  const times: number[] = []
  let found = 0
  for (let round = 0; round < rounds; round++) {
    const { search = [], ...rest } = request as { search?: object[] }
    const own = { type: 'in', bool: 'must_not', fields: ['_system_object_id'], in: [-++unseen] }
    const begun = performance.now()
    const answer = await client.post<{ count: number }>('/search', {
      objecttypes: ['bench_piece'],
      limit: 10,
      format: 'short',
      ...rest,
      search: [...search, own],
    })
    times.push(performance.now() - begun)
    found = answer.count
  }
  times.sort((a, b) => a - b)
  return { ms: times[rounds >> 1] as number, count: found }
}

async function count({ client }: Context, request: object): Promise<number> {
  return (await client.post<{ count: number }>('/search', request)).count
}

function piece(...fields: readonly string[]): string[] {
  return fields.map((each) => `bench_piece.${each}`)
}

function text(name: string, string: string): { search: object[] } {
  return { search: [{ type: 'text', string, fields: piece(name) }] }
}

function range(name: string, from: number, to: number): object {
  return { search: [{ type: 'range', field: `bench_piece.${name}`, from, to }] }
}

function not({ search }: { readonly search: readonly object[] }): object {
  return { search: search.map((each) => ({ ...each, bool: 'must_not' })) }
}

function sorted(name: string): object {
  return { sort: [{ field: `bench_piece.${name}` }], limit: 50 }
}

function facet(name: string): object {
  return { aggregations: { values: { type: 'term', field: `bench_piece.${name}` } } }
}

function values(name: string): object {
  return { limit: 50, fields: [{ key: 'value', field: `bench_piece.${name}` }] }
}

function back(name: string): string {
  return `_reverse_nested:bench_piece:maker.bench_piece.${name}`
}

function sortedMakers(name: string): object {
  return { ...makers(sorted(name)), sort: [{ field: `bench_maker.${name}` }] }
}

function facetOfMakers(name: string): object {
  return makers({ aggregations: { values: { type: 'term', field: `bench_maker.${name}` } } })
}

function textOfMakers(name: string, string: string): object {
  return makers({ search: [{ type: 'text', string, fields: [`bench_maker.${name}`] }] })
}

function makers(request: object): object {
  return { ...request, objecttypes: ['bench_maker'] }
}

async function save({ client }: Context, objecttype: string, blocks: readonly object[]): Promise<number[]> {
  const stored = await client.post<{ _system_object_id: number }[]>(
    `/db/${objecttype}`,
    blocks.map((block) => ({ _objecttype: objecttype, _mask: objecttype, [objecttype]: block })),
    { format: 'short' },
  )
  return stored.map(({ _system_object_id }) => _system_object_id)
}

const linkTo = (id: number) => ({ _objecttype: 'bench_maker', _system_object_id: id })
const link = (name: string) => ({ kind: 'column', name, type: 'link', other_table_name_hint: 'bench_maker' })

const tables = [
  {
    name: 'bench_maker',
    in_main_search: true,
    columns: [value('name', 'text_oneline'), value('born', 'number')],
  },
  {
    name: 'bench_piece',
    in_main_search: true,
    columns: [
      value('title', 'text_oneline'),
      value('name', 'text_oneline'),
      value('born', 'number'),
      value('patron_name', 'text_oneline'),
      { ...link('maker'), reverse_edit: true },
      link('patron'),
    ],
  },
]

const counted = (name: string, standard = false) => {
  const shown = field(name, standard)
  return { ...shown, search: { ...shown.search, facet: true } }
}

const linkField = (name: string) => ({ ...counted(name), kind: 'link', mask_id: 'PREFERRED' })

const pieces = {
  ...field('maker'),
  kind: 'reverse-linked-table',
  column_name_hint: undefined,
  other_table_name_hint: 'bench_piece',
  other_column_name_hint: 'maker',
  mask: { fields: [field('title', true)] },
}

const masks = [
  maskOf('bench_maker', [counted('name', true), counted('born'), pieces]),
  maskOf('bench_piece', [
    field('title', true),
    counted('name'),
    counted('born'),
    counted('patron_name'),
    linkField('maker'),
    linkField('patron'),
  ]),
]

function maskOf(name: string, fields: readonly object[]): object {
  return { name, table_name_hint: name, is_preferred: true, fields }
}
