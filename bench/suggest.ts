import type { Context } from './context.ts'
import { postgresTime, processTime } from './cpu.ts'
import { type Load, load } from './load.ts'
import { startProcess } from './process.ts'
import { signInReader } from './reader.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'
import { searchLoad, textSearch } from './search.ts'
import { titleWords } from './words.ts'

/** Requests of somebody who types words of titles, letter by letter. */
interface Typing {
  readonly words: () => { readonly query: string }
  readonly values: () => object
  readonly linked: () => object
}

function typingOf(word: () => string): Typing {
  const beginning = (): string => {
    const whole = word()
    return whole.slice(0, 1 + Math.floor(Math.random() * whole.length))
  }
  const words = () => ({ query: beginning(), objecttypes: ['artwork'] })
  return {
    words,
    values: () => ({ ...words(), tokens: false, fields: ['artwork.title'], fields_suggest: true }),
    linked: () => ({
      query: word().slice(0, 4),
      tokens: false,
      linked_objecttypes: ['artist'],
      linked_objects_referenced_by_objecttypes: ['artwork'],
    }),
  }
}

/** The three kinds of suggestions, for somebody who types one request after the other, and over four connections. */
export async function measureTyping(context: Context, source: string, prefix: string): Promise<Row[]> {
  const headers = await signInReader(context)
  const typing = typingOf(await titleWords(source))
  const rows: Row[] = []
  for (const [kind, name] of [
    ['words', 'words'],
    ['values', 'values of a field'],
    ['linked', 'linked objects'],
  ] as const) {
    const run = (connections: number, seconds: number) =>
      suggestLoad(context, { connections, seconds, body: typing[kind], headers })
    await run(1, 3)
    const before = await spentBy(context)
    const alone = await run(1, 10)
    const after = await spentBy(context)
    const requests = alone.perSecond * 10
    const later = await run(1, 10)
    const crowd = await run(4, 6)
    rows.push(
      atMost(`${prefix}suggestions of ${name}, one after the other, p95`, 15, alone.p95, 'ms'),
      figureOnly('  median', alone.median, 'ms'),
      figureOnly('  ten seconds later, p95', later.p95, 'ms'),
      figureOnly('  processor time of the service', (after.service - before.service) / requests, 'ms'),
      figureOnly('  processor time of PostgreSQL', (after.postgres - before.postgres) / requests, 'ms'),
      figureOnly('  over 4 connections, p95', crowd.p95, 'ms'),
      figureOnly('  over 4 connections, median', crowd.median, 'ms'),
    )
  }
  return rows
}

async function spentBy({ service, dsn }: Context): Promise<{ readonly service: number; readonly postgres: number }> {
  return { service: await processTime(service.pid), postgres: await postgresTime(dsn) }
}

/** A caller with rights in 20 pools types words of titles, letter by letter; and searches for such words whose hits show where they stand. */
export async function measureSuggest(context: Context): Promise<Row[]> {
  const word = await titleWords(context.source)
  const { words: typed, values, linked } = typingOf(word)
  const headers = await signInReader(context)
  const spent = async (): Promise<number> => {
    const { service, postgres } = await spentBy(context)
    return service + postgres
  }
  const run = async (body: () => object): Promise<Load & { readonly cost: number }> => {
    await suggestLoad(context, { connections: 4, seconds: 4, body, headers })
    const before = await spent()
    const found = await suggestLoad(context, { connections: 4, seconds: 6, body, headers })
    return { ...found, cost: ((await spent()) - before) / (6 * found.perSecond) }
  }
  const bare = await bareLoad(context, () => typed().query)
  const words = await run(typed)
  const whole = await run(values)
  const objects = await run(linked)
  const highlighted = () => ({ ...textSearch(word()), format: 'standard', highlight: true })
  const marked = await searchLoad(context, { connections: 4, seconds: 6, body: highlighted })
  return [
    atMost('suggestions of words, 4 connections, p95', 15, words.p95, 'ms'),
    figureOnly('  median', words.median, 'ms'),
    figureOnly('  throughput', words.perSecond, '/s'),
    atLeast('  beside a bare server that asks nobody', 50, (100 * words.perSecond) / bare.perSecond, '% of bare'),
    figureOnly('  processor time', words.cost, 'ms'),
    atMost('suggestions of values of a field, p95', 15, whole.p95, 'ms'),
    figureOnly('  median', whole.median, 'ms'),
    figureOnly('  processor time', whole.cost, 'ms'),
    atMost('suggestions of linked objects, p95', 15, objects.p95, 'ms'),
    figureOnly('  median', objects.median, 'ms'),
    figureOnly('  processor time', objects.cost, 'ms'),
    figureOnly('  search with marked texts, 20 hits, p95', marked.p95, 'ms'),
  ]
}

function suggestLoad(
  { service }: Context,
  options: { connections: number; seconds: number; body: () => object; headers: Record<string, string> },
): Promise<Load> {
  const { connections, seconds, body, headers } = options
  return load({
    origin: service.url,
    connections,
    seconds,
    request: () => ({ method: 'POST', path: '/api/v1/suggest', body: JSON.stringify(body()), headers }),
  })
}

/** The same words, of a server with the least work for them. */
async function bareLoad({ client, dsn }: Context, beginning: () => string): Promise<Load> {
  const types = await client.get<{ objecttype: { _id: number; name: string } }[]>('/objecttype')
  const type = types.find(({ objecttype }) => objecttype.name === 'artwork')?.objecttype._id
  const server = await startProcess('bench/baseline-server.ts', [], { BENCH_DSN: dsn })
  try {
    const run = (seconds: number) =>
      load({
        origin: server.url,
        connections: 4,
        seconds,
        request: () => ({
          method: 'POST',
          path: '/suggest',
          body: JSON.stringify({ beginning: beginning().toLowerCase(), type }),
        }),
      })
    await run(2)
    return await run(4)
  } finally {
    await server.stop()
  }
}
