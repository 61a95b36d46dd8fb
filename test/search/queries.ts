/** Random queries about the works of the museum, as people could write them. */
import fc from 'fast-check'

const texts = fc.string({ unit: 'grapheme', maxLength: 8 })
const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
/** With a word in it: wildcards alone are refused. */
const quotedTexts = texts.map((text) => quoted(`a${text}`))
const numbers = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
)
const dates = fc.oneof(
  fc.constantFrom('"1801"', '"1801-05"', '"-0044-03-15"', '"2020-03-01T10:00"', '1900'),
  fc.constantFrom('"$year-3y"', '"$month+1M"', '"$today-2w"', '"$startOfWeek"'),
)
const inequality = fc.constantFrom('>=', '<=', '>', '<')
const equality = fc.constantFrom('==', '!=')
const likeness = fc.constantFrom('=@', '!@', '=*', '!*', '=^', '!^')

const comparison = (names: readonly string[], operator: fc.Arbitrary<string>, value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(fc.constantFrom(...names), operator, value, fc.constantFrom('', ' '))
    .map(([name, sign, operand, space]) => `${name}${space}${sign}${space}${operand}`)

const row = 'work._nested:work__material'
const textNames = ['work.title', 'work.title.de-DE', 'work.inventory', 'work.note', `${row}.name`]
const numberNames = ['work.width', 'work.weight', `${row}.amount`]

const conditions = fc.oneof(
  quotedTexts,
  comparison(textNames, fc.oneof(equality, likeness), quotedTexts),
  comparison([...textNames, ...numberNames, 'work.made', 'work.creator'], equality, fc.constant('null')),
  comparison(numberNames, fc.oneof(equality, inequality), numbers),
  comparison(['work.signed'], equality, fc.boolean()),
  comparison(['work.made', 'work.seen', '_created'], fc.oneof(equality, inequality), dates),
  comparison(['work.creator', 'work.place'], equality, fc.oneof(quotedTexts, fc.integer())),
  comparison(['work.creator'], fc.constantFrom('=@', '!@'), quotedTexts),
  fc
    .tuple(quotedTexts, equality)
    .map(([text, sign]) => `work.creator ${sign} ?(person.name == ${text} || person.born > 1800)`),
  fc
    .tuple(quotedTexts, numbers)
    .map(([text, number]) => `${row} == ?(${row}.name == ${text} && ${row}.amount >= ${number})`),
)

const { query } = fc.letrec<{ query: string }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    conditions,
    fc
      .tuple(fc.array(tie('query'), { minLength: 2, maxLength: 3 }), fc.constantFrom('&&', '||'), fc.boolean())
      .map(([parts, sign, grouped]) => (grouped ? `(${parts.join(` ${sign}\n`)})` : parts.join(sign))),
    tie('query').map((part) => `!(${part})`),
    tie('query').map((part) => `( ${part} )`),
  ),
}))

export const queries = query
