import { RE2JS } from 're2js'

/** Longest pattern; a longer one is a program, not a rule that somebody can read. */
const maxLength = 2000
/** Size of the compiled pattern. At 1000 instructions a text of 100,000 characters takes about a second at worst. */
const maxProgramSize = 1000

export interface Pattern {
  readonly source: string
  readonly flags: string
  readonly test: (text: string) => boolean
}

/**
 * Compiles a `check_regexp`. Patterns run in RE2's engine, whose time grows with the length of the text only: what is
 * catastrophic elsewhere (`^(a+)+$`) is harmless here. The price is RE2's syntax, which has no look-around and no
 * back references; such patterns are refused. Flags: `i` ignore case, `m` `^` and `$` match at line ends, `s` `.`
 * matches line ends, `u` and `g` are accepted and change nothing. A pattern matches anywhere unless it is anchored.
 *
 * @returns the pattern, or the sentence that says why it cannot be used.
 */
export function compilePattern(source: string, flags: string): Pattern | string {
  if (source.length > maxLength) return `The pattern is longer than ${maxLength} characters.`
  const unknown = [...flags].find((flag, index) => !'imsug'.includes(flag) || flags.indexOf(flag) !== index)
  if (unknown !== undefined) return `The flag "${unknown}" is unknown or repeated; there are i, m, s, u and g.`
  const options =
    (flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0) |
    (flags.includes('m') ? RE2JS.MULTILINE : 0) |
    (flags.includes('s') ? RE2JS.DOTALL : 0)
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source), options)
    if (compiled.programSize() > maxProgramSize) return 'The pattern is too large (check its repetitions).'
    return { source, flags, test: (text) => compiled.test(text) }
  } catch (error) {
    return `The pattern cannot be used: ${error instanceof Error ? error.message : String(error)}.`
  }
}
