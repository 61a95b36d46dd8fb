/** Parser of the `check` language (see compile.ts): recursive descent over a list of words. */

export type CheckValue = string | number | boolean | null

export type CheckNode =
  | { kind: 'literal'; value: CheckValue }
  | { kind: 'name'; name: 'value' | 'from' | 'to' }
  | { kind: 'not'; operand: CheckNode }
  | { kind: 'and' | 'or'; operands: CheckNode[] }
  | { kind: 'is-null'; operand: CheckNode }
  | { kind: 'compare'; operator: string; left: CheckNode; right: CheckNode }
  | { kind: 'in'; operand: CheckNode; options: CheckNode[] }
  | { kind: 'like'; operand: CheckNode; pattern: CheckNode }
  | { kind: 'arithmetic'; operator: string; left: CheckNode; right: CheckNode }
  | { kind: 'call'; name: string; argument: CheckNode }

const functions = new Set(['length', 'lower', 'upper', 'trim', 'abs', 'floor', 'round'])
const maxLength = 2000
const maxDepth = 50

interface Word {
  type: 'number' | 'string' | 'word' | 'symbol' | 'end'
  text: string
}

class CheckSyntaxError extends Error {}

/** @returns the tree, or a sentence with the error in the text. */
export function parseCheck(source: string): CheckNode | string {
  if (source.length > maxLength) return `The check is longer than ${maxLength} characters.`
  try {
    const parser = createParser(split(source))
    return parser.whole()
  } catch (error) {
    if (error instanceof CheckSyntaxError) return error.message
    throw error
  }
}

function split(source: string): Word[] {
  const words: Word[] = []
  const pattern = /\s+|(\d+(?:\.\d+)?)|'((?:[^']|'')*)'|([a-z_][a-z0-9_]*)|(<=|>=|<>|!=|==|[-+*/%=<>(),])/iy
  while (pattern.lastIndex < source.length) {
    const start = pattern.lastIndex
    const match = pattern.exec(source)
    if (!match) throw new CheckSyntaxError(`The check cannot be read at "${source.slice(start, start + 20)}".`)
    const [, number, text, word, symbol] = match
    if (number !== undefined) words.push({ type: 'number', text: number })
    else if (text !== undefined) words.push({ type: 'string', text: text.replaceAll("''", "'") })
    else if (word !== undefined) words.push({ type: 'word', text: word.toLowerCase() })
    else if (symbol !== undefined) words.push({ type: 'symbol', text: symbol })
  }
  return [...words, { type: 'end', text: 'the end' }]
}

function createParser(words: readonly Word[]): { whole(): CheckNode } {
  let at = 0
  let depth = 0
  const peek = (): Word => words[at] ?? { type: 'end', text: 'the end' }
  const fail = (): never => {
    throw new CheckSyntaxError(`The check cannot be read at "${peek().text}".`)
  }
  /** Takes the next word when it is this one; text in quotes is never a word of the language. */
  const take = (text: string): boolean => {
    const word = peek()
    if (word.type === 'string' || word.type === 'number' || word.text !== text) return false
    at++
    return true
  }
  const need = (text: string): void => {
    if (!take(text)) fail()
  }

  const chain = (kind: 'and' | 'or', part: () => CheckNode): CheckNode => {
    const operands = [part()]
    while (take(kind)) operands.push(part())
    return operands.length === 1 ? (operands[0] as CheckNode) : { kind, operands }
  }
  const disjunction = (): CheckNode => {
    if (++depth > maxDepth) throw new CheckSyntaxError('The check is nested too deeply.')
    const node = chain('or', () => chain('and', negation))
    depth--
    return node
  }
  const negation = (): CheckNode => {
    let negated = false
    while (take('not')) negated = !negated
    const node = comparison()
    return negated ? { kind: 'not', operand: node } : node
  }
  const comparison = (): CheckNode => {
    const left = sum()
    if (take('is')) {
      const not = take('not')
      need('null')
      const node: CheckNode = { kind: 'is-null', operand: left }
      return not ? { kind: 'not', operand: node } : node
    }
    const not = take('not')
    const node = predicate(left)
    if (node) return not ? { kind: 'not', operand: node } : node
    return not ? fail() : left
  }
  const predicate = (left: CheckNode): CheckNode | null => {
    if (take('in')) return { kind: 'in', operand: left, options: list() }
    if (take('like')) return { kind: 'like', operand: left, pattern: sum() }
    if (take('between')) {
      const low = sum()
      need('and')
      const high = sum()
      return {
        kind: 'and',
        operands: [
          { kind: 'compare', operator: '>=', left, right: low },
          { kind: 'compare', operator: '<=', left, right: high },
        ],
      }
    }
    for (const [written, operator] of comparisons) {
      if (take(written)) return { kind: 'compare', operator, left, right: sum() }
    }
    return null
  }
  const list = (): CheckNode[] => {
    need('(')
    const options = [sum()]
    while (take(',')) options.push(sum())
    need(')')
    return options
  }
  const arithmetic = (operators: readonly string[], part: () => CheckNode): CheckNode => {
    let left = part()
    for (;;) {
      const operator = operators.find((candidate) => take(candidate))
      if (operator === undefined) return left
      left = { kind: 'arithmetic', operator, left, right: part() }
    }
  }
  const sum = (): CheckNode => arithmetic(['+', '-'], () => arithmetic(['*', '/', '%'], unary))
  const unary = (): CheckNode => {
    let negative = false
    while (take('-')) negative = !negative
    const node = primary()
    if (!negative) return node
    return { kind: 'arithmetic', operator: '-', left: { kind: 'literal', value: 0 }, right: node }
  }
  const primary = (): CheckNode => {
    if (take('(')) {
      const node = disjunction()
      need(')')
      return node
    }
    const word = peek()
    at++
    if (word.type === 'number') return { kind: 'literal', value: Number(word.text) }
    if (word.type === 'string') return { kind: 'literal', value: word.text }
    if (word.text === 'value' || word.text === 'from' || word.text === 'to') return { kind: 'name', name: word.text }
    if (word.text === 'true' || word.text === 'false') return { kind: 'literal', value: word.text === 'true' }
    if (word.text === 'null') return { kind: 'literal', value: null }
    if (functions.has(word.text) && take('(')) {
      const argument = disjunction()
      need(')')
      return { kind: 'call', name: word.text, argument }
    }
    at--
    return fail()
  }

  return {
    whole() {
      const node = disjunction()
      if (peek().type !== 'end') fail()
      return node
    },
  }
}

const comparisons = [
  ['=', '='],
  ['==', '='],
  ['<>', '<>'],
  ['!=', '<>'],
  ['<=', '<='],
  ['>=', '>='],
  ['<', '<'],
  ['>', '>'],
] as const
