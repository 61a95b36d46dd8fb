import { LRUCache } from 'lru-cache'
import { type PatternBudget, patternBudget } from './patterns.ts'

/**
 * Templates of administrators for texts from the attributes of a directory: `%(sn)s, %(givenName)s`. A placeholder may replace
 * matches of a pattern (`%(mail||^.*=||)s`: the pattern, then the replacement) and, with a fourth part, join all values of its
 * attribute (`%(ou||||||; )s`); without it, only the first value is used.
 */
export interface AttributeTemplate {
  /** Attributes that it names. */
  readonly names: readonly string[]
  /** One text; missing attributes are empty. */
  expand(valuesOf: ValuesOf): string
  /** One text for each value of its attributes, at most `most`; none when one of them has none. */
  expandAll(valuesOf: ValuesOf, most: number): string[]
}

export type ValuesOf = (name: string) => readonly string[]

interface Placeholder {
  readonly name: string
  readonly replace: (value: string) => string
  /** Null: only the first value counts. */
  readonly join: string | null
}

const compiled = new LRUCache<string, AttributeTemplate>({ max: 1000 })

/** @throws {Error} with the reason. */
export function attributeTemplate(source: string): AttributeTemplate {
  const known = compiled.get(source)
  if (known) return known
  const template = compile(source)
  compiled.set(source, template)
  return template
}

function compile(source: string): AttributeTemplate {
  const patterns = patternBudget({ total: 2000 })
  const parts = partsOf(source).map((part) =>
    typeof part === 'string' ? literal(part) : placeholder(part.inner, patterns),
  )
  const placeholders = parts.filter((part): part is Placeholder => typeof part !== 'string')
  const render = (value: (part: Placeholder) => string): string =>
    parts.map((part) => (typeof part === 'string' ? part : value(part))).join('')
  return {
    names: [...new Set(placeholders.map(({ name }) => name))],
    expand: (valuesOf) => render((part) => textOf(part, valuesOf(part.name))),
    expandAll(valuesOf, most) {
      let rows: Map<Placeholder, string>[] = [new Map()]
      for (const part of placeholders) {
        const values = valuesOf(part.name)
        const texts = part.join === null ? values.slice(0, most).map(part.replace) : [textOf(part, values)]
        rows = rows.flatMap((row) => texts.map((text) => new Map(row).set(part, text))).slice(0, most)
      }
      return rows.map((row) => render((part) => row.get(part) ?? ''))
    },
  }
}

/** The literal texts, and between them the parts within `%(` and the next `)s`. */
export function partsOf(source: string): (string | { readonly inner: string })[] {
  const parts: (string | { readonly inner: string })[] = []
  let at = 0
  for (;;) {
    const start = source.indexOf('%(', at)
    const end = start < 0 ? -1 : source.indexOf(')s', start + 2)
    if (end < 0) return [...parts, source.slice(at)]
    parts.push(source.slice(at, start), { inner: source.slice(start + 2, end) })
    at = end + 2
  }
}

function textOf({ replace, join }: Placeholder, values: readonly string[]): string {
  return join === null ? values.slice(0, 1).map(replace).join('') : values.map(replace).join(join)
}

function literal(text: string): string {
  if (text.includes('%(')) throw new Error(`a placeholder is not closed by )s: ${text.slice(text.indexOf('%('), 40)}`)
  return text
}

function placeholder(inner: string, patterns: PatternBudget): Placeholder {
  const [name = '', search = '', replacement = '', join = null, ...rest] = inner.split('||')
  if (name.trim() === '') throw new Error('a placeholder names no attribute')
  if (rest.length > 0) throw new Error('a placeholder has more than four parts')
  if (search === '') return { name: name.trim(), replace: (value) => value, join }
  const pattern = patterns.compile(search)
  return { name: name.trim(), replace: (value) => pattern.matcher(value).replaceAll(replacement), join }
}
