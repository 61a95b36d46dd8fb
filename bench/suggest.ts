import type { Context } from './context.ts'
import { type Load, load } from './load.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { searchLoad, textSearch } from './search.ts'
import { titleWords } from './words.ts'

/** A user types words of titles, letter by letter; and searches for such words with highlighting of hits. */
export async function measureSuggest(context: Context): Promise<Row[]> {
  const word = await titleWords(context.source)
  const typed = (): object => {
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
  const run = async (body: () => object): Promise<Load> => {
    await suggestLoad(context, 4, body)
    return suggestLoad(context, 6, body)
  }
  const words = await run(typed)
  const whole = await run(values)
  const objects = await run(linked)
  const highlighted = () => ({ ...textSearch(word()), format: 'standard', highlight: true })
  const marked = await searchLoad(context, { connections: 4, seconds: 6, body: highlighted })
  return [
    atMost('suggestions of words, 4 connections, p95', 15, words.p95, 'ms'),
    figureOnly('  median', words.median, 'ms'),
    figureOnly('  throughput', words.perSecond, '/s'),
    figureOnly('  values of a field, p95', whole.p95, 'ms'),
    figureOnly('  linked objects, p95', objects.p95, 'ms'),
    figureOnly('  search with marked texts, 20 hits, p95', marked.p95, 'ms'),
  ]
}

async function suggestLoad({ service, headers }: Context, seconds: number, body: () => object): Promise<Load> {
  const sent = await headers()
  return load({
    origin: service.url,
    connections: 4,
    seconds,
    request: () => ({ method: 'POST', path: '/api/v1/suggest', body: JSON.stringify(body()), headers: sent }),
  })
}
