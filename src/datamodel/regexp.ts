import { RE2JS } from 're2js'
import { type PatternBudget, PatternError, patternBudget } from '../platform/values/patterns.ts'

export interface Pattern {
  readonly source: string
  readonly flags: string
  readonly test: (text: string) => boolean
}

/**
 * Compiles a `check_regexp`. Patterns run in RE2's engine, whose time grows only with the length of the text: patterns that are
 * catastrophic in other engines (`^(a+)+$`) are harmless here. The price is RE2's syntax, which has no look-around and no
 * back references; such patterns are refused. Flags: `i` ignore case, `m` `^` and `$` match at line ends, `s` `.`
 * matches line ends, `u` and `g` are accepted and change nothing. A pattern matches anywhere unless it is anchored.
 *
 * @returns the pattern, or a sentence with the reason why it cannot be used.
 */
export function compilePattern(
  source: string,
  flags: string,
  budget: PatternBudget = patternBudget(),
): Pattern | string {
  const unknown = [...flags].find((flag, index) => !'imsug'.includes(flag) || flags.indexOf(flag) !== index)
  if (unknown !== undefined) return `The flag "${unknown}" is unknown or repeated; there are i, m, s, u and g.`
  const options =
    (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes('m') ? RE2JS.MULTILINE : 0) |
    (flags.includes('s') ? RE2JS.DOTALL : 0)
  try {
    const compiled = budget.compile(source, { script: true, flags: options })
    return { source, flags, test: (text) => compiled.test(text) }
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return `The pattern cannot be used: ${error.message}.`
  }
}
