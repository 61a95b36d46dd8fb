import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Context, openContext } from './context.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const batch = 1000
/** Seconds after which a change counts as not found. */
const longest = 300

interface Stored {
  readonly _system_object_id: number
  readonly bench_term: { readonly _id: number; readonly _version: number }
}

/**
 * The top of a thesaurus is renamed and moved right after the import: PostgreSQL has taken no statistics. As many works
 * link to the top, and each to a term; so the new name concerns all works, the new place all terms and all works.
 */
export async function measureThesaurus(source: string, terms: number, say: (line: string) => void): Promise<Row[]> {
  const context = await openContext(source, say)
  try {
    const database = new pg.Client(context.dsn)
    await database.connect()
    // This applies to the whole server: nothing else may take statistics, either.
    await database.query('alter system set autovacuum = off')
    await database.query('select pg_reload_conf()')
    await database.end()
    return await measure(context, terms)
  } finally {
    await context.close()
  }
}

async function measure(context: Context, terms: number): Promise<Row[]> {
  const { client } = context
  await commitTypes(context, tables, masks)
  const begun = performance.now()
  const [top] = await save(context, 'bench_term', [{ name: 'Alpha' }])
  const [elsewhere] = await save(context, 'bench_term', [{ name: 'Elsewhere' }])
  if (!top || !elsewhere) throw new Error('no terms were stored')
  const ids = await saveTerms(context, top._system_object_id, terms)
  const works = ids.map((id, index) => ({
    name: `Work ${index}`,
    subject: linkTo(id),
    school: linkTo(top._system_object_id),
  }))
  for (let at = 0; at < works.length; at += batch) await save(context, 'bench_work', works.slice(at, at + batch))
  const alpha = { objecttypes: ['bench_work'], search: [{ type: 'text', string: 'alpha' }] }
  await until(context, alpha, terms)
  context.say(`${2 * terms} objects after ${((performance.now() - begun) / 1000).toFixed(0)} s`)

  const change = (version: number, name: string, parent: number | null): Promise<unknown> =>
    client.post('/db/bench_term', [
      {
        _objecttype: 'bench_term',
        _mask: 'bench_term',
        bench_term: {
          _id: top.bench_term._id,
          _version: version,
          name,
          ...(parent === null ? {} : { 'lookup:_id_parent': { _system_object_id: parent } }),
        },
      },
    ])
  const renamed = await timed(context, () => change(1, 'Omega', null), [
    [{ objecttypes: ['bench_work'], search: [{ type: 'text', string: 'omega' }] }, terms],
  ])
  const below = { in: [elsewhere._system_object_id], include_path: true, type: 'in' }
  const moved = await timed(context, () => change(2, 'Omega', elsewhere._system_object_id), [
    [{ objecttypes: ['bench_work'], search: [{ ...below, fields: ['bench_work.subject'] }] }, terms],
    [{ objecttypes: ['bench_term'], search: [{ ...below, fields: ['_system_object_id'] }] }, terms + 2],
  ])
  return [
    figureOnly(`thesaurus: terms, and works that link to them`, terms, 'each'),
    atMost('thesaurus: the top is renamed, until all works are found', 30, renamed.seconds, 's'),
    atMost('  longest until a new object is found meanwhile', 2, renamed.single, 's'),
    atMost('thesaurus: the top is moved, until all works and terms are found', 30, moved.seconds, 's'),
    atMost('  longest until a new object is found meanwhile', 2, moved.single, 's'),
  ]
}

/** A top term, ten terms below it, ten below each of these, and so on. */
async function saveTerms(context: Context, top: number, count: number): Promise<number[]> {
  const ids = [top]
  const found: number[] = []
  for (let next = 0; found.length < count; ) {
    const parents = ids.slice(next, next + batch / 10)
    next += parents.length
    const blocks = parents
      .flatMap((parent) => Array.from({ length: 10 }, () => parent))
      .slice(0, count - found.length)
      .map((parent, index) => ({
        name: `Term ${found.length + index}`,
        'lookup:_id_parent': { _system_object_id: parent },
      }))
    const stored = await save(context, 'bench_term', blocks)
    const fresh = stored.map((object) => object._system_object_id)
    ids.push(...fresh)
    found.push(...fresh)
  }
  return found
}

async function timed(
  context: Context,
  change: () => Promise<unknown>,
  searches: readonly [request: object, count: number][],
): Promise<{ seconds: number; single: number }> {
  let over = false
  const singles = (async () => {
    let slowest = 0
    for (let number = 0; !over; number++) {
      const begun = performance.now()
      const word = `single${Math.round(begun)}n${number}`
      await save(context, 'bench_other', [{ name: word }])
      await until(context, { search: [{ type: 'text', string: word }] }, 1)
      slowest = Math.max(slowest, performance.now() - begun)
      await sleep(200)
    }
    return slowest / 1000
  })()
  const begun = performance.now()
  await change()
  for (const [request, count] of searches) await until(context, request, count, 100)
  const seconds = (performance.now() - begun) / 1000
  over = true
  return { seconds, single: await singles }
}

async function until({ client }: Context, request: object, count: number, pause = 20): Promise<void> {
  const end = performance.now() + longest * 1000
  for (;;) {
    const found = await client.post<{ count: number }>('/search', { ...request, limit: 0 })
    if (found.count === count) return
    if (performance.now() > end) throw new Error(`${JSON.stringify(request)} finds ${found.count} and not ${count}`)
    await sleep(pause)
  }
}

function save({ client }: Context, objecttype: string, blocks: readonly object[]): Promise<Stored[]> {
  return client.post<Stored[]>(
    `/db/${objecttype}`,
    blocks.map((block) => ({ _objecttype: objecttype, _mask: objecttype, [objecttype]: block })),
    { format: 'short' },
  )
}

const linkTo = (id: number) => ({ _objecttype: 'bench_term', _system_object_id: id })
const link = (name: string) => ({ kind: 'column', name, type: 'link', other_table_name_hint: 'bench_term' })

const tables = [
  { name: 'bench_term', in_main_search: true, is_hierarchical: true, columns: [value('name', 'text_oneline')] },
  {
    name: 'bench_work',
    in_main_search: true,
    columns: [value('name', 'text_oneline'), link('subject'), link('school')],
  },
  { name: 'bench_other', in_main_search: true, columns: [value('name', 'text_oneline')] },
]

const linkField = (name: string) => {
  const shown = field(name)
  return { ...shown, kind: 'link', mask_id: 'PREFERRED', search: { ...shown.search, facet: true } }
}

const masks = [
  maskOf('bench_term', [field('name', true)]),
  maskOf('bench_work', [field('name', true), linkField('subject'), linkField('school')]),
  maskOf('bench_other', [field('name', true)]),
]

function maskOf(name: string, fields: readonly object[]): object {
  return { name, table_name_hint: name, is_preferred: true, fields }
}
