import { RE2JS } from 're2js'

/**
 * Regular expressions from clients. RE2's engine takes time that grows with the text only, whatever the pattern, so only the
 * pattern itself must be limited: fifty times `.{1,1000}` are a program of 100,000 instructions, and a second before it is known
 * how many. So a size is estimated from the text before anything is compiled, and all patterns of one request share one budget.
 */
export interface PatternBudget {
  /**
   * A pattern in the syntax of RE2, or of JavaScript where RE2 has the like (`script`).
   * @throws {PatternError} with the reason why it cannot be used
   */
  compile(source: string, options?: { readonly script?: boolean; readonly flags?: number }): RE2JS
}

export class PatternError extends Error {}

export interface PatternLimits {
  /** Characters of one pattern. */
  readonly longest: number
  /** Instructions of one pattern. With 1000, a text of 100,000 characters takes about a second at worst. */
  readonly largest: number
  /** Total instructions of all patterns. */
  readonly total: number
}

const usual: PatternLimits = { longest: 2000, largest: 1000, total: 1000 }

/** Classes such as `\pL` have hundreds of ranges: each use costs as much as this number of instructions. */
const costOfClass = 20
/** Tolerance of the estimate, since the compiler finds shorter programs: alternatives share common prefixes. */
const lenience = 4

export function patternBudget(given: Partial<PatternLimits> = {}): PatternBudget {
  const { longest, largest, total } = { ...usual, ...given }
  let left = total
  return {
    compile(source, { script = false, flags = 0 } = {}) {
      if (source.length > longest) throw new PatternError(`it is longer than ${longest} characters`)
      const { size, classes } = estimatedSize(source)
      assertWithin(size, largest * lenience, tooLarge)
      assertWithin(size + classes * costOfClass, left * lenience, left < total ? tooLargeTogether : tooLarge)
      const compiled = compile(script ? RE2JS.translateRegExp(source) : source, flags)
      assertWithin(compiled.programSize(), largest, tooLarge)
      const cost = compiled.programSize() + classes * costOfClass
      assertWithin(cost, left, left < total ? tooLargeTogether : tooLarge)
      left -= cost
      return compiled
    },
  }
}

const tooLarge = 'it is too large (check its repetitions)'
const tooLargeTogether = 'the patterns are too large together (check their repetitions)'

function assertWithin(size: number, most: number, message: string): void {
  if (size > most) throw new PatternError(message)
}

function compile(source: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(source, flags)
  } catch (error) {
    throw new PatternError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * At least about as many instructions as a pattern has, and how many classes it names, from one walk over its text. A text that is
 * no pattern has a size as well: the compiler refuses it.
 */
export function estimatedSize(source: string): { size: number; classes: number } {
  let classes = 0
  // Sums of the open groups, and the last piece, to which a repetition applies.
  const open: number[] = [0]
  let last = 0
  const end = (): void => {
    open.push((open.pop() ?? 0) + last)
    last = 0
  }
  for (let at = 0; at < source.length; ) {
    const character = source[at] as string
    const repeated = character === '{' ? repetitionAt(source, at) : null
    if (repeated) {
      last = Math.min(last * repeated.fixed + (last + 1) * repeated.optional, Number.MAX_SAFE_INTEGER)
      at = repeated.end
      continue
    }
    at += character === '\\' ? 2 : 1
    if ('*+?'.includes(character)) {
      last++
      continue
    }
    end()
    if (character === '(') open.push(0)
    else if (character === ')' && open.length > 1) last = (open.pop() ?? 0) + 2
    else last = 1
    if (character === '[') {
      const close = endOfClass(source, at)
      classes += 1 + countOf(source.slice(at, close), '\\')
      at = close
    } else if (character === '\\' && 'pPdDsSwWbB'.includes(source[at - 1] ?? '')) {
      classes++
      if (/[pP]/.test(source[at - 1] ?? '') && source[at] === '{') at = behind(source, '}', at)
    }
  }
  while (open.length > 1) {
    end()
    last = open.pop() ?? 0
  }
  end()
  return { size: (open[0] ?? 0) + 2, classes }
}

/** `{2}`, `{2,}`, `{2,5}`; any other text in braces is literal. */
function repetitionAt(source: string, at: number): { fixed: number; optional: number; end: number } | null {
  const [all, low = '', comma, high = ''] = /^\{(\d{1,6})(,?)(\d{0,6})\}/.exec(source.slice(at, at + 20)) ?? []
  if (all === undefined) return null
  const [fixed, most] = [Number(low), high === '' ? Number(low) + (comma ? 1 : 0) : Number(high)]
  return { fixed, optional: Math.max(0, most - fixed), end: at + all.length }
}

/** The position after the bracket that closes the current class; the first character is never that bracket. */
function endOfClass(source: string, start: number): number {
  let at = source[start] === '^' ? start + 2 : start + 1
  if (source[at - 1] === '\\') at++
  for (; at < source.length && source[at] !== ']'; at++) {
    if (source[at] === '\\') at++
    else if (source.startsWith('[:', at)) at = Math.max(at, source.indexOf(':]', at) + 1)
  }
  return at + 1
}

function behind(source: string, character: string, from: number): number {
  const found = source.indexOf(character, from)
  return found < 0 ? source.length : found + 1
}

function countOf(text: string, character: string): number {
  return text.split(character).length - 1
}
