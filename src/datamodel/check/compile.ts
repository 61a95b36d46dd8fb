import { type CheckNode, type CheckValue, parseCheck } from './parse.ts'

/**
 * The language of `check`: a condition on one stored value, with the words and the logic of SQL.
 *
 *     value >= 0 and value < 100          value in ('a', 'b')          lower(value) like 'inv-%'
 *     value is not null                   value % 2 = 0                length(value) between 3 and 20
 *
 * `value` is the stored value (its text for `date` and `datetime`, the hundredths for `integer.2`); `from` and `to` are the ends of
 * a `daterange`. Localised text satisfies a check when each of its texts does. As in SQL, a result that is unknown because there is
 * no value is no violation.
 */
export function compileCheck(source: string): ((value: unknown) => boolean) | string {
  const parsed = parseCheck(source)
  if (typeof parsed === 'string') return parsed
  return (value) => environments(value).every((environment) => evaluate(parsed, environment) !== false)
}

type Environment = Readonly<Record<'value' | 'from' | 'to', CheckValue>>

/** The values to check of a stored value: one, or one per language. */
function environments(value: unknown): Environment[] {
  const nothing = { value: null, from: null, to: null }
  if (value === null || value === undefined) return [nothing]
  if (typeof value !== 'object') return [{ ...nothing, value: simple(value) }]
  const record = value as Record<string, unknown>
  if ('value' in record) return [{ ...nothing, value: simple(record.value) }]
  if ('from' in record || 'to' in record) return [{ value: null, from: simple(record.from), to: simple(record.to) }]
  const texts = Object.values(record).filter((text) => typeof text === 'string')
  return texts.length > 0 ? texts.map((text) => ({ ...nothing, value: text })) : [nothing]
}

function simple(value: unknown): CheckValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

function evaluate(node: CheckNode, env: Environment): CheckValue {
  switch (node.kind) {
    case 'literal':
      return node.value
    case 'name':
      return env[node.name]
    case 'not':
      return negate(evaluate(node.operand, env))
    case 'and':
      return all(node.operands.map((operand) => evaluate(operand, env)))
    case 'or':
      return negate(all(node.operands.map((operand) => negate(evaluate(operand, env)))))
    case 'is-null':
      return evaluate(node.operand, env) === null
    case 'compare':
      return compare(node.operator, evaluate(node.left, env), evaluate(node.right, env))
    case 'in': {
      const value = evaluate(node.operand, env)
      const found = node.options.map((option) => compare('=', value, evaluate(option, env)))
      return negate(all(found.map(negate)))
    }
    case 'like': {
      const [text, pattern] = [evaluate(node.operand, env), evaluate(node.pattern, env)]
      return text === null || pattern === null ? null : like([...String(text)], [...String(pattern)])
    }
    case 'arithmetic':
      return arithmetic(node.operator, evaluate(node.left, env), evaluate(node.right, env))
    case 'call':
      return call(node.name, evaluate(node.argument, env))
  }
}

function negate(value: CheckValue): CheckValue {
  return value === null ? null : value === false
}

function all(values: readonly CheckValue[]): CheckValue {
  if (values.includes(false)) return false
  return values.includes(null) ? null : true
}

function compare(operator: string, left: CheckValue, right: CheckValue): CheckValue {
  if (left === null || right === null) return null
  const [a, b] = typeof left === typeof right ? [left, right] : [Number(left), Number(right)]
  if (Number.isNaN(a) || Number.isNaN(b)) return operator === '<>'
  if (operator === '=') return a === b
  if (operator === '<>') return a !== b
  if (operator === '<') return a < b
  if (operator === '<=') return a <= b
  return operator === '>' ? a > b : a >= b
}

function arithmetic(operator: string, left: CheckValue, right: CheckValue): CheckValue {
  if (left === null || right === null) return null
  const [a, b] = [Number(left), Number(right)]
  const result =
    operator === '+' ? a + b : operator === '-' ? a - b : operator === '*' ? a * b : operator === '/' ? a / b : a % b
  return Number.isFinite(result) ? result : null
}

function call(name: string, value: CheckValue): CheckValue {
  if (value === null) return null
  if (name === 'length') return [...String(value)].length
  if (name === 'lower') return String(value).toLowerCase()
  if (name === 'upper') return String(value).toUpperCase()
  if (name === 'trim') return String(value).trim()
  const number = Number(value)
  if (Number.isNaN(number)) return null
  return name === 'abs' ? Math.abs(number) : name === 'floor' ? Math.floor(number) : Math.round(number)
}

/** `%` is any text, `_` one character; goes back to the last `%` only, so it is at worst text times pattern. */
function like(text: readonly string[], pattern: readonly string[]): boolean {
  let at = 0
  let p = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    if (pattern[p] === '%') {
      star = p++
      resume = at
    } else if (p < pattern.length && (pattern[p] === '_' || pattern[p] === text[at])) {
      p++
      at++
    } else if (star >= 0) {
      p = star + 1
      at = ++resume
    } else return false
  }
  while (pattern[p] === '%') p++
  return p === pattern.length
}
