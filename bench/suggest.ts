import type { Context } from './context.ts'
import { postgresTime, processTime } from './cpu.ts'
import { type Load, load } from './load.ts'
import { startProcess } from './process.ts'
import { signInReader } from './reader.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'
import { searchLoad, textSearch } from './search.ts'
import { titleWords } from './words.ts'

/** A caller with rights in 20 pools types words of titles, letter by letter; and searches for such words whose hits show where they stand. */
export async function measureSuggest(context: Context): Promise<Row[]> {
  const word = await titleWords(context.source)
  const typed = () => {
    const whole = word()
    return { query: whole.slice(0, 1 + Math.floor(Math.random() * whole.length)), objecttypes: ['artwork'] }
  }
  const values = (): object => ({ ...typed(), tokens: false, fields: ['artwork.title'], fields_suggest: true })
  const linked = (): object => ({
    query: word().slice(0, 4),
    tokens: false,
    linked_objecttypes: ['artist'],
    linked_objects_referenced_by_objecttypes: ['artwork'],
  })
  const headers = await signInReader(context)
  const spent = async (): Promise<number> =>
    (await processTime(context.service.pid)) + (await postgresTime(context.dsn))
  const run = async (body: () => object): Promise<Load & { readonly cost: number }> => {
    await suggestLoad(context, { seconds: 4, body, headers })
    const before = await spent()
    const found = await suggestLoad(context, { seconds: 6, body, headers })
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
  { seconds, body, headers }: { seconds: number; body: () => object; headers: Record<string, string> },
): Promise<Load> {
  return load({
    origin: service.url,
    connections: 4,
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
