import fc from 'fast-check'
import {
  columns,
  loansField,
  nestedOf,
  numbers,
  type TypeName,
  typeNames,
  words,
  years,
} from '../support/hidden/model.ts'
import { keyOf } from '../support/hidden/scene.ts'
import type { World } from '../support/hidden/twins.ts'

/** Random search requests over the scenes of test/support/hidden, with every kind of element. */

const nestedName = (type: TypeName) => `${type}._nested:${type}__${nestedOf[type]}`

const fieldName = (type: TypeName, column: string): string =>
  column.includes('.') ? `${nestedName(type)}.${column.slice(column.indexOf('.') + 1)}` : `${type}.${column}`

interface Field {
  readonly name: string
  readonly kind: string
  /** The table of the rows that it is in. */
  readonly nested: string | null
}

const targetOf = new Map<string, string>()

const own: Field[] = typeNames.flatMap((type) =>
  Object.entries<string>(columns[type]).map(([column, kind]) => {
    const name = fieldName(type, column)
    if (kind.startsWith('link:')) targetOf.set(name, kind.slice(5))
    return {
      name,
      kind: kind.startsWith('link:') ? 'link' : kind,
      nested: column.includes('.') ? nestedName(type) : null,
    }
  }),
)

/** The fields of what links lead to, named from the objects that have the links. */
const throughLinks = (of: readonly Field[]): Field[] =>
  [...targetOf].flatMap(([link, target]) => {
    const nested = own.find(({ name }) => name === link)?.nested ?? null
    const there = of.filter(({ name }) => name.startsWith(`${target}.`))
    return there.map(({ name, kind }) => ({ name: `${link}.${name}`, kind, nested }))
  })

const near = throughLinks(own)
const far = throughLinks(near)
/** The fields of loans, named from the works that are lent. */
const back = (of: readonly Field[]): Field[] =>
  of
    .filter(({ name }) => name.startsWith('loan.'))
    .map(({ name, kind }) => ({ name: `work._reverse_nested:${loansField}.${name}`, kind, nested: null }))

const some = (_: Field, index: number): boolean => index % 5 === 0
/** Of the longest names a few: there are many. */
const fields: Field[] = [...own, ...back(own), ...near, ...far.filter(some), ...back(near).filter(some)]
const ofKind = (...kinds: string[]): Field[] => fields.filter(({ kind }) => kinds.includes(kind))
const textKinds = ['text', 'text_oneline', 'text_l10n_oneline', 'string', 'key']
const texts = ofKind(...textKinds, 'link')
const links = ofKind('link')
const ownLinks = own.filter(({ kind }) => kind === 'link')
const counted = fields.filter(({ kind }) => kind !== 'link')
const dates = ofKind('date', 'daterange')
const figures = ofKind('number', 'integer.2')

const word = fc.constantFrom(...words)
const pattern = fc.oneof(
  word.map((each) => `${each.slice(0, 3)}*`),
  word.map((each) => `*${each.slice(2)}`),
  word.map((each) => `${each.slice(0, 1)}?${each.slice(2)}`),
)
const string = fc.oneof(
  word,
  fc.tuple(word, word).map((pair) => pair.join(' ')),
  fc.constantFrom('1801', '12', '1950'),
)
const bool = fc.constantFrom('must', 'must', 'should', 'must_not')

const quoted = (text: string): string => `"${text}"`

/** Random queries in the query language, and as people type them, over the same scenes. */
export const someQuery: fc.Arbitrary<{ query: string; syntax: string }> = fc.oneof(
  fc
    .array(
      fc.oneof(
        word.map(quoted),
        fc
          .tuple(fc.constantFrom(...texts), fc.constantFrom('=@', '!@'), fc.oneof(word, pattern))
          .map(([field, sign, value]) => `${field.name} ${sign} ${quoted(value)}`),
        fc
          .tuple(fc.constantFrom(...ofKind(...textKinds)), fc.constantFrom('==', '=^', '=*', '!^'), word)
          .map(([field, sign, value]) => `${field.name} ${sign} ${quoted(value)}`),
        fc
          .tuple(fc.constantFrom(...figures), fc.constantFrom('>=', '<', '=='), fc.constantFrom(...numbers))
          .map(([field, sign, value]) => `${field.name} ${sign} ${value}`),
        fc.tuple(fc.constantFrom(...links), word).map(([field, value]) => `${field.name} == ?(${quoted(value)})`),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .chain((parts) => fc.constantFrom(' && ', ' || ').map((joint) => ({ query: parts.join(joint), syntax: 'query' }))),
  fc
    .array(
      fc.oneof(
        word,
        pattern,
        word.map((each) => `'${each}'`),
        word.map((each) => `\`${each}*\``),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .chain((parts) =>
      fc.constantFrom(' ', ' OR ', ' -').map((joint) => ({ query: parts.join(joint), syntax: 'words' })),
    ),
)

/** What somebody has typed so far, and what is suggested for it. */
export const someSuggestion: fc.Arbitrary<object> = fc.record(
  {
    query: fc
      .tuple(fc.constantFrom('', 'amber ', 'birch '), word, fc.integer({ min: 1, max: 7 }))
      .map(([before, each, length]) => before + each.slice(0, length)),
    tokens_mode: fc.constantFrom('', 'edgengram', 'exact'),
    fields: fc
      .uniqueArray(fc.constantFrom(...ofKind('text', 'text_oneline', 'text_l10n_oneline', 'string')))
      .map((some) => some.slice(0, 2).map(({ name }) => name)),
    fields_suggest: fc.boolean(),
    objecttypes: fc.constantFrom(['work'], ['person', 'place']),
    linked_objecttypes: fc.constantFrom(['person'], ['place', 'topic'], ['work']),
    linked_objects_referenced_by_objecttypes: fc.constantFrom(['work'], ['work', 'loan']),
    timeout: fc.constant(60_000),
  },
  { requiredKeys: ['query', 'timeout'] },
)

/** Orders and facets by fields of objects that works link to, and of loans that link to works; pages begin anywhere. */
export const someThroughLinks: fc.Arbitrary<Record<string, unknown>> = fc.record(
  {
    objecttypes: fc.constant(['work']),
    sort: fc.array(
      fc.oneof(
        fc.record({
          field: fc.constantFrom(...near.filter(({ name }) => name.startsWith('work.')).map(({ name }) => name)),
          order: fc.constantFrom('asc', 'desc'),
        }),
        fc.record({
          field: fc.constantFrom(...back(own).map(({ name }) => name)),
          mode: fc.constantFrom('min', 'max'),
          order: fc.constantFrom('asc', 'desc'),
        }),
        fc.record({ field: fc.constantFrom('_system_object_id', '_standard'), order: fc.constantFrom('asc', 'desc') }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
    aggregations: fc
      .array(
        fc.constantFrom(
          ...[...near.filter(({ name }) => name.startsWith('work.')), ...back(own)]
            .filter(({ kind }) => kind !== 'daterange' && kind !== 'link')
            .map(({ name }) => ({ type: 'term', field: name, limit: 100 })),
        ),
        { maxLength: 2 },
      )
      .map((list) => Object.fromEntries(list.map((each, n) => [`a${n}`, each]))),
    offset: fc.nat(12),
    limit: fc.integer({ min: 1, max: 15 }),
  },
  { requiredKeys: ['objecttypes', 'sort', 'limit'] },
)

export interface RequestOptions {
  /** With searches in searches. */
  readonly subsearches: boolean
  /** With what the engine in memory does not know: other orders, measures, values of hits, links that hits are joined by. */
  readonly more?: boolean
}

export function someRequest(world: Pick<World, 'ids' | 'pools' | 'tags' | 'users'>, options: RequestOptions) {
  const id = fc.constantFrom(...world.ids)

  const textIn = (of: readonly Field[], always: readonly string[]) =>
    fc
      .record({
        fields: fc.uniqueArray(fc.constantFrom(...always, ...of.map(({ name }) => name)), {
          minLength: 1,
          maxLength: 3,
        }),
        phrase: fc.boolean(),
        languages: fc.constantFrom(undefined, undefined, ['de-DE']),
        text: fc.oneof(
          string.map((each) => ({ string: each })),
          string.map((each) => ({ string: each, mode: 'token' })),
          pattern.map((each) => ({ string: each, mode: 'wildcard' })),
        ),
      })
      .map(({ text, ...rest }) => ({ type: 'text', ...rest, ...text }))
  const exactIn = (of: readonly Field[]) =>
    fc
      .record({
        fields: fc.uniqueArray(fc.constantFrom('_fulltext', ...of.map(({ name }) => name)), {
          minLength: 1,
          maxLength: 2,
        }),
        string: fc.oneof(
          word,
          pattern,
          fc.tuple(word, word).map(([one, other]) => `${one}*${other.slice(2)}`),
        ),
      })
      .map((rest) => ({ type: 'text', mode: 'exact', ...rest }))
  const valueIn = (of: readonly Field[]) =>
    fc.constantFrom(...of).chain((field) => {
      const values =
        field.kind === 'link'
          ? id
          : field.kind === 'boolean'
            ? fc.boolean()
            : figures.includes(field)
              ? fc.constantFrom(...numbers)
              : field.kind === 'date'
                ? fc.constantFrom<string>(...years)
                : field.kind === 'key'
                  ? fc.nat(world.ids.length).map(keyOf)
                  : word
      return fc
        .record({
          in: fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: values }, fc.constant(null)), {
            minLength: 1,
            maxLength: 3,
          }),
          include_path: fc.boolean(),
        })
        .map((rest) => ({ type: 'in', fields: [field.name], ...rest }))
    })
  const rangeIn = (of: readonly Field[]) =>
    fc.constantFrom(...of).chain((field) => {
      const bound = fc.option(fc.constantFrom<string | number>(...(figures.includes(field) ? numbers : years)), {
        nil: undefined,
      })
      return fc.record({ type: fc.constant('range'), field: fc.constant(field.name), from: bound, to: bound })
    })
  const systemIn = fc.constantFrom<object>(
    ...world.pools.map((pool) => ({ fields: ['_pool'], in: [pool], include_path: false })),
    ...world.tags.map((tag) => ({ fields: ['_tags'], in: [tag] })),
    ...world.users.map((user) => ({ fields: ['_owner.user._id'], in: [user] })),
    { fields: ['_objecttype'], in: ['work'] },
  )
  const valued = fields.filter(({ kind }) => kind !== 'daterange')
  const inRow = (of: readonly Field[], table?: string) =>
    of.filter(({ nested }) => nested !== null && (table === undefined || nested === table))
  const outside = (of: readonly Field[]) => of.filter(({ nested }) => nested === null)
  const withBool = (element: fc.Arbitrary<object>) =>
    fc.tuple(element, bool).map(([each, how]) => ({ ...each, bool: how }))
  const inRows = fc.constantFrom<TypeName>('work', 'work', 'person').chain((type) => {
    const path = nestedName(type)
    const ordered = inRow([...figures, ...dates], path)
    const elements = [textIn(inRow(texts, path), []), valueIn(inRow(valued, path))]
    return fc
      .array(withBool(fc.oneof(...elements, ...(ordered.length > 0 ? [rangeIn(ordered)] : []))), {
        minLength: 1,
        maxLength: 2,
      })
      .map((search) => ({ type: 'nested', path, search }))
  })
  const simple = fc.oneof(
    { weight: 6, arbitrary: textIn(texts, ['_fulltext', '_fulltext']) },
    { weight: 2, arbitrary: exactIn(ofKind(...textKinds)) },
    { weight: 4, arbitrary: valueIn(valued) },
    { weight: 3, arbitrary: rangeIn([...figures, ...outside(dates), ...inRow(dates)]) },
    { weight: 1, arbitrary: systemIn.map((rest) => ({ type: 'in', ...rest })) },
    { weight: 2, arbitrary: inRows },
    { weight: 1, arbitrary: fc.constant({ type: 'changelog_range', operation: 'INSERT' }) },
  )
  const elements: fc.Arbitrary<object[]> = fc.array(withBool(simple), { minLength: 1, maxLength: 3 })
  const subsearch = fc
    .tuple(fc.constantFrom(...links), elements)
    .map(([field, search]) => ({ type: 'in', fields: [field.name], subsearch: { search } }))
  const joined = fc
    .tuple(
      fc.constantFrom('_system_object_id', ...links.map(({ name }) => name)),
      fc.constantFrom(...ownLinks),
      elements,
    )
    .map(([name, by, search]) => ({ type: 'in', fields: [name], subsearch: { search, field: by.name } }))
  const element = fc.oneof(
    { weight: 8, arbitrary: simple },
    { weight: 1, arbitrary: elements.map((search) => ({ type: 'complex', search })) },
    ...(options.subsearches ? [{ weight: 1, arbitrary: subsearch }] : []),
    ...(options.subsearches && options.more ? [{ weight: 1, arbitrary: joined }] : []),
  )
  const facet = fc.oneof(
    fc
      .tuple(fc.constantFrom(...counted.filter(({ kind }) => kind !== 'daterange')), fc.constantFrom('count', 'term'))
      .map(([field, sort]) => ({ type: 'term', field: field.name, sort, limit: 100 })),
    fc
      .record({
        field: fc.constantFrom(...links).map(({ name }) => name),
        sort: fc.constantFrom('count', 'term'),
        include: fc.constantFrom(undefined, undefined, '.*(amber|birch).*'),
        filter_parent: fc.oneof(fc.constant(undefined), fc.constant(0), id),
      })
      .map((rest) => ({ type: 'linked_object', limit: 100, ...rest })),
    fc.constantFrom<object>(
      { type: 'linked_object', field: '_pool', sort: 'term' },
      { type: 'linked_object', field: '_tags' },
      { type: 'term', field: '_owner' },
      { type: 'term', field: '_objecttype' },
      { type: 'date_range', field: 'work.made', ranges: [{ to: '1850' }, { from: '1850' }] },
      { type: 'range', field: 'work.width', ranges: [{ to: 5 }, { from: 5 }] },
    ),
  )
  const usual = fc.record({
    field: fc.constantFrom('_score', '_standard', '_objecttype', ...fields.map(({ name }) => name)),
    order: fc.constantFrom('asc', 'desc'),
  })
  const backwards = fc.record({
    field: fc.constantFrom(...back(own).map(({ name }) => name)),
    mode: fc.constantFrom('min', 'max'),
    order: fc.constantFrom('asc', 'desc'),
  })
  const special = fc.oneof(
    fc.constantFrom('_standard', ...links.map(({ name }) => name)).map((field) => ({ field, with_path: true })),
    fc.constantFrom('_standard_parent', '_standard_parents').map((field) => ({ field })),
    fc.constantFrom(...dates).map(({ name }) => ({ field: name, width: 'year' })),
    fc.constantFrom(...ofKind(...textKinds)).map(({ name }) => ({ field: name, numeric: false, number_groups: [1] })),
  )
  const sort = fc.oneof({ weight: 3, arbitrary: usual }, backwards, ...(options.more ? [special] : []))
  const measure = fc.oneof(
    fc.constantFrom('work.made.range_year', 'work.period.range_month').map((field) => ({ type: 'term', field })),
    fc
      .tuple(fc.constantFrom('work.title', 'work.code', 'work.signed'), fc.constantFrom('work.width', 'work.price'))
      .map(([field, value]) => ({ type: 'term_stats', field, value_field: value })),
  )
  const counts = options.more ? fc.oneof({ weight: 3, arbitrary: facet }, { weight: 1, arbitrary: measure }) : facet
  const value = fc
    .constantFrom(...fields)
    .chain(({ name, kind }) =>
      fc
        .tuple(fc.constantFrom('', ...(kind === 'link' ? ['._standard.1.text'] : [])), fc.boolean())
        .map(([part, path]) => ({ field: `${name}${part}`, with_path: path })),
    )
  return fc
    .record({
      objecttypes: fc.constantFrom(undefined, ['work'], ['work'], ['person', 'place'], ['topic', 'loan']),
      search: fc.array(withBool(element), { maxLength: 3 }),
      sort: fc.array(sort, { maxLength: 2 }),
      aggregations: fc
        .array(counts, { maxLength: 3 })
        .map((list) => Object.fromEntries(list.map((each, n) => [`a${n}`, each]))),
      fields: options.more
        ? fc.uniqueArray(value, { maxLength: 3, selector: ({ field }) => field })
        : fc.constant(undefined),
      highlight: options.more ? fc.constantFrom(undefined, true) : fc.constant(undefined),
      format: fc.constantFrom('short', 'standard', 'long', 'full', 'standard_extended'),
      merge_linked_objects: fc.constantFrom(undefined, undefined, 'all'),
    })
    .map((request) => JSON.parse(JSON.stringify(request)) as Record<string, unknown> & { search: object[] })
}
