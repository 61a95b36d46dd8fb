/**
 * The grammar of the query language, and its parser, which is built at the first use. No rule reads a text again that may contain
 * other conditions, so the parsing time depends only on the length of the query.
 */
import peggy from 'peggy'
import type { Expression } from './syntax.ts'

const grammar = String.raw`
Query = _ @(Or / Nothing) _

Nothing = "" { return null }

Or = first:And rest:(_ "||" _ @And)* {
  return rest.length === 0 ? first : { kind: 'or', of: [first, ...rest], at: range().start }
}

And = first:Not rest:(_ "&&" _ @Not)* {
  return rest.length === 0 ? first : { kind: 'and', of: [first, ...rest], at: range().start }
}

Not = nots:(@"!" _)* of:Primary {
  return nots.length % 2 === 1 ? { kind: 'not', of, at: range().start } : of
}

Primary
  = "(" _ of:Or _ ")" { return { kind: 'group', of, at: range().start } }
  / text:(Text / Digits) { return { kind: 'text', text, at: range().start } }
  / field:Field _ test:Test { return { kind: 'compare', field, ...test, at: range().start } }

Test
  = operator:("==" / "!=") _ value:Value { return { operator, value } }
  / operator:("=@" / "!@" / "=*" / "!*" / "=^" / "!^") _ value:TextValue { return { operator, value } }
  / operator:(">=" / "<=" / ">" / "<") _ value:(TextValue / NumberValue) { return { operator, value } }

Value = TextValue / NumberValue / Constant / SubSearch / Corners / Cells

TextValue = text:Text { return { kind: 'text', text, at: range().start } }
NumberValue = number:Number { return { kind: 'number', number, at: range().start } }
Constant
  = "null" End { return { kind: 'null', at: range().start } }
  / "true" End { return { kind: 'boolean', boolean: true, at: range().start } }
  / "false" End { return { kind: 'boolean', boolean: false, at: range().start } }
SubSearch = Within _ of:Or _ ")" { return { kind: 'search', of, at: range().start } }
Corners = one:Corner _ other:Corner { return { kind: 'box', corners: [one, other], at: range().start } }
Corner = "[" _ lat:Number _ "," _ lon:Number _ "]" { return { lat, lon } }
Cells = "[" _ one:Text _ other:("," _ @Text _)? "]" {
  return { kind: 'box', corners: other === null ? [one, one] : [one, other], at: range().start }
}

Within "?(" = "?" _ "("

End = ![A-Za-z0-9_.]

Field "the name of a field" = $([A-Za-z_] [A-Za-z0-9_]* ([.:-] [A-Za-z0-9_]+)*)

Text "a text in double quotes" = '"' parts:($[^"\\]+ / "\\" @$.)* '"' { return parts.join('') }

Number = digits:Digits { return Number(digits) }

Digits "a number" = @$("-"? [0-9]+ ("." [0-9]+)? ([eE] [+-]? [0-9]+)?) End

_ "white space" = [ \t\r\n]*
`

/** The position of a syntax error in a query, and what the parser expected there. */
export interface Misfit {
  readonly at: number
  readonly expected: readonly string[]
}

let parser: peggy.Parser | null = null

/** The syntax of a query (null: an empty one), or the position of the error. */
export function readQuery(text: string): { readonly query: Expression | null } | Misfit {
  parser ??= peggy.generate(grammar)
  try {
    return { query: parser.parse(text) }
  } catch (error) {
    if (!(error instanceof parser.SyntaxError)) throw error
    return { at: error.location.start.offset, expected: namesOf(error.expected ?? []) }
  }
}

/** White space is allowed nearly everywhere, so it is not listed. */
function namesOf(expected: readonly peggy.parser.Expectation[]): string[] {
  const names = expected.flatMap((each): string[] => {
    if (each.type === 'literal') return [each.text]
    if (each.type === 'class') return each.parts.flatMap((part) => (typeof part === 'string' ? [part] : []))
    if (each.type === 'end') return ['the end of the query']
    return each.type === 'other' && each.description !== 'white space' ? [each.description] : []
  })
  return [...new Set(names)].sort()
}
