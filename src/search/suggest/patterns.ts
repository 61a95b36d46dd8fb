/** Turns the typed text into text elements of a search, for values of fields and for linked objects. */
import { words } from '../document/analyze.ts'
import type { SuggestRequest } from './schema.ts'
import { isLongEnough, typedWord } from './typed.ts'

interface Looked {
  readonly string: string
  readonly mode: 'token' | 'wildcard'
  readonly phrase?: true
}

/**
 * The variants of a search for the text, the widest first. The next one is used when a pattern matches too many words. Empty: there
 * is nothing to search for.
 */
export function searchVariants(request: SuggestRequest): readonly (readonly Looked[])[] {
  const { tokens_mode: mode = '', tokens_dont_split_query: whole = false, query = '' } = request
  const text = query.trim()
  const found = words(text)
  const last = found.at(-1)
  if (last === undefined) return []
  if (mode === 'exact') return [[{ string: text, mode: 'token' }]]
  if (whole && found.length > 1) return [[{ string: `${found.join(' ')}*`, mode: 'wildcard', phrase: true }]]
  const typed = typedWord({ ...request, analyze_wildcards: false })
  const earlier = (typed?.earlier ?? []).map((string): Looked => ({ string, mode: 'token' }))
  const beginning: Looked = { string: `${last}*`, mode: 'wildcard' }
  const isWithin = mode !== 'edgengram' && isLongEnough(last)
  return [
    ...(isWithin ? [[...earlier, { string: `*${last}*`, mode: 'wildcard' } as const]] : []),
    [...earlier, beginning],
  ]
}
