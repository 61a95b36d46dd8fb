import fc from 'fast-check'

/** Values that break careless code: wrong types, huge numbers, NUL, lone surrogates, deep nesting, odd keys. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    2 ** 31,
    9.2e18,
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'x\udc00y',
    '%00',
    "'; drop table object; --",
    '../../etc/passwd',
    'x'.repeat(70_000),
    [],
    {},
    [[]],
    [null],
    { _id: '1' },
    { 'lookup:_id': {} },
    { constructor: { prototype: {} } },
    deep(200),
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
)

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** All places of a JSON value, as paths. */
export function placesOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((member, index) => placesOf(member, [...path, index]))]
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, member]) => placesOf(member, [...path, key]))]
}

/** A copy with another value at one place. */
export function replaced(value: unknown, path: readonly (string | number)[], next: unknown): unknown {
  const [head, ...rest] = path
  if (head === undefined) return next
  if (Array.isArray(value))
    return value.map((member, index) => (index === head ? replaced(member, rest, next) : member))
  const record = value as Record<string, unknown>
  return { ...record, [head]: replaced(record[head as string], rest, next) }
}

/** The value with a hostile one at any place of it. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  return fc.tuple(fc.constantFrom(...placesOf(value)), hostileValue).map(([path, next]) => replaced(value, path, next))
}
