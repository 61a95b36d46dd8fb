/** Compiles elements of a search request to clauses of a plan. */
import { mostBits } from '../../files/model.ts'
import { AppError } from '../../platform/errors.ts'
import { patterns } from '../document/analyze.ts'
import { firstStep } from '../plan/field-paths.ts'
import type { NestedFields, SearchField } from '../plan/fields.ts'
import type { Clause, ScoreTerm, SearchScope, TextClause, TextTarget } from '../plan/plan.ts'
import { assetFields, expandAssets, noneOf } from './assets.ts'
import { changeClause } from './changes.ts'
import { and, type ElementContext, inRows, or } from './clauses.ts'
import { boxClause, shapeClause } from './geo.ts'
import { notAllowed, resolveLink, resolveName, unknownField } from './names.ts'
import { linkedClause, throughLink } from './paths.ts'
import { patternClause } from './patterns.ts'
import { rangeClause } from './ranges.ts'
import { choice, deepest, type Fields, fieldsAt, listAt, mostElements, optional, stringsAt, wrong } from './read.ts'
import { alikeByWeight, pictureOf } from './similar.ts'
import { expandStandardGeo } from './standard-geo.ts'
import { alternativesOf } from './synonyms.ts'
import { type NamesClause, ofAnyNames, valuesThroughLink, withoutStart, wordsApart } from './through-links.ts'
import { valuesClause } from './values.ts'

/** A clause with its contribution to the score. */
interface Parsed {
  readonly bool: 'must' | 'should' | 'must_not'
  readonly clause: Clause
  readonly score: readonly ScoreTerm[]
}

const types = [
  'text',
  'match',
  'in',
  'range',
  'changelog_range',
  'complex',
  'nested',
  'similar',
  'geo_bounding_box',
  'geo_shape',
] as const

/** A list of elements as one clause: all `must`, at least one `should` (where there are any), no `must_not`. */
export function elementsClause(
  list: unknown,
  place: string,
  context: ElementContext,
): { clause: Clause; score: readonly ScoreTerm[] } {
  if (context.depth > deepest) throw wrong(place, `nested at most ${deepest} deep`)
  const elements = listAt(list ?? [], place, mostElements).map((element, index) =>
    parseElement(fieldsAt(element, `${place}[${index}]`), `${place}[${index}]`, context),
  )
  const of = (bool: Parsed['bool']): Clause[] =>
    elements.filter((each) => each.bool === bool).map((each) => each.clause)
  const should = of('should')
  const certain = (each: Parsed): boolean => each.bool === 'must' || (each.bool === 'should' && should.length === 1)
  const clauses: Clause[] = [
    ...of('must'),
    ...(should.length > 0 ? [or(should)] : []),
    ...of('must_not').map((clause): Clause => ({ is: 'not', of: clause })),
  ]
  const score = elements.flatMap((each) =>
    each.score.map((term) => ({ ...term, certain: term.certain && certain(each) })),
  )
  return { clause: and(clauses), score }
}

function parseElement(element: Fields, place: string, context: ElementContext): Parsed {
  const type = choice(optional(element, 'type', 'string', place) ?? '', types, `${place}.type`)
  const bool = choice(
    optional(element, 'bool', 'string', place) ?? 'must',
    ['must', 'should', 'must_not'],
    `${place}.bool`,
  )
  const boost = optional(element, 'boost', 'number', place) ?? 1
  if (boost < 0 || !Number.isFinite(boost)) throw wrong(`${place}.boost`, 'a number that is not negative')
  const { clause, score } = parsers[type](element, place, context)
  if (bool === 'must_not') return { bool, clause, score: [] }
  if (score) return { bool, clause, score: score.map((term) => ({ ...term, boost: term.boost * boost })) }
  // A clause that every hit must match raises all scores alike, so it matters only with a weight of its own.
  return { bool, clause, score: bool === 'should' || boost !== 1 ? [{ clause, boost, certain: true }] : [] }
}

type Parser = (
  element: Fields,
  place: string,
  context: ElementContext,
) => { clause: Clause; score?: readonly ScoreTerm[] }

const parsers: Record<(typeof types)[number], Parser> = {
  text: textElement,
  match: textElement,
  in: inElement,
  range: (element, place, context) => ({ clause: rangeClause(element, place, context) }),
  changelog_range: (element, place, context) => ({ clause: changeClause(element, place, context) }),
  complex: (element, place, context) =>
    elementsClause(element.search, `${place}.search`, { ...context, depth: context.depth + 1 }),
  nested: nestedElement,
  similar: similarElement,
  geo_bounding_box: (element, place, context) => geoElement(boxClause, element, place, context),
  geo_shape: (element, place, context) => geoElement(shapeClause, element, place, context),
}

function geoElement(
  clauseOf: typeof boxClause,
  element: Fields,
  place: string,
  context: ElementContext,
): ReturnType<Parser> {
  const sent = namesOf(element, place)
  const names = expandStandardGeo(sent, context)
  if (names.length === 0 && sent.length > 0) return { clause: { is: 'none' } }
  return { clause: ofAnyNames(names, place, context, (own, inner) => clauseOf(element, own, place, inner)) }
}

function textElement(element: Fields, place: string, context: ElementContext): ReturnType<Parser> {
  // Clients send a year as a number.
  const text =
    typeof element.string === 'number' ? String(element.string) : optional(element, 'string', 'string', place)
  if (text === undefined) throw wrong(`${place}.string`, 'a string')
  if (text.length > longestText) throw wrong(`${place}.string`, `a string of at most ${longestText} characters`)
  const mode = choice(
    optional(element, 'mode', 'string', place) || 'fulltext',
    ['fulltext', 'token', 'wildcard', 'exact'],
    `${place}.mode`,
  )
  const query = choice(
    optional(element, 'query', 'string', place) || 'match',
    ['match', 'match_phrase'],
    `${place}.query`,
  )
  const phrase = (optional(element, 'phrase', 'boolean', place) ?? false) || query === 'match_phrase'
  const languages = element.languages ? stringsAt(element.languages, `${place}.languages`, 100) : []
  const names = namesOf(element, place)
  // People type a lone asterisk to see everything.
  if (text.trim() === '*' && mode !== 'token' && mode !== 'exact' && names.length === 0 && !context.nested)
    return { clause: and([]) }
  const wanted = names.length === 0 && !context.nested ? ['_fulltext'] : expandAssets(names, context)
  if (wanted.some((name) => throughLink(name, context))) {
    const { field: _, fields: __, ...rest } = element
    const texts = phrase ? [text] : wordsApart(text, mode)
    const textIn = (string: string): NamesClause => {
      return (fields, inner) => textElement({ ...rest, fields, string }, place, inner).clause
    }
    const clause = and(texts.map((string) => ofAnyNames(wanted, place, context, textIn(string))))
    return { clause, score: [{ clause, boost: 1, certain: true }] }
  }
  const targets = wanted.map((name) => textTarget(name, languages, context))
  if (targets.length === 0 && names.length > 0) return { clause: { is: 'none' }, score: [] }
  if (targets.length === 0) throw wrong(`${place}.fields`, 'a list of the fields of the nested table')
  if (mode === 'exact') {
    if (phrase) throw wrong(`${place}.phrase`, 'absent in the mode exact')
    return { clause: patternClause(text, targets, place, context) }
  }
  if (mode === 'wildcard') assertWildcards(text, place)
  const synonyms = mode === 'fulltext' && !phrase ? alternativesOf(text, context.synonyms, languagesOf(targets)) : null
  const asked: TextClause = { is: 'text', targets, text, mode, phrase, ...(synonyms ? { synonyms } : {}) }
  const clause: Clause = inRows(context, targets, asked)
  return { clause, score: [{ clause, boost: 1, certain: true }] }
}

/** The requested languages of the texts; null: all. */
function languagesOf(targets: readonly TextTarget[]): readonly string[] | null {
  const named = targets.map(({ languages }) => languages)
  return named.includes(null) ? null : (named.flat() as string[])
}

/** Longer than any query that people write, and short enough to analyse. */
const longestText = 10_000

function textTarget(name: string, languages: readonly string[], context: ElementContext): TextTarget {
  const named = resolveName(context.fields, name)
  if (named.kind === 'system' && named.name === '_fulltext' && !context.nested) {
    return { field: null, languages: languages.length === 0 ? null : languages }
  }
  if (named.kind !== 'field') throw notAllowed(name, 'text')
  assertInRow(named.field, name, context)
  if (named.field.kind === 'geo' || named.field.kind === 'files' || named.field.kind === 'boolean') {
    throw notAllowed(name, 'text')
  }
  const only = named.language === null ? languages : [named.language]
  return { field: named.field, languages: only.length === 0 ? null : only }
}

/** `fields`, or the single `field`. */
function namesOf(element: Fields, place: string): readonly string[] {
  const field = optional(element, 'field', 'string', place)
  const names = element.fields ? stringsAt(element.fields, `${place}.fields`, 100) : []
  return names.length === 0 && field ? [field] : names
}

/** @throws {AppError} `WildcardOnlyNotAllowed` when the text consists only of wildcards. */
function assertWildcards(text: string, place: string): void {
  const found = patterns(text, 'words')
  const onlyWildcards = (pattern: (typeof found)[number]): boolean => pattern.parts.every((part) => 'wildcard' in part)
  if (found.length > 0 && found.every(onlyWildcards)) throw new AppError('WildcardOnlyNotAllowed', { name: place })
}

function inElement(element: Fields, place: string, context: ElementContext): ReturnType<Parser> {
  const below = optional(element, 'include_path', 'boolean', place) ?? false
  const objecttype = optional(element, 'objecttype', 'string', place)
  const names = namesOf(element, place)
  const fields = names.length > 0 ? names : linksTo(objecttype, place, context)
  if (element.subsearch !== undefined && element.subsearch !== null) {
    const scope = context.scope(
      fieldsAt(element.subsearch, `${place}.subsearch`),
      `${place}.subsearch`,
      context.depth + 1,
    )
    const by = subsearchField(element.subsearch as Fields, `${place}.subsearch`, context)
    return { clause: or(fields.map((name) => foundBy(name, scope, by, place, context))) }
  }
  const values = listAt(element.in, `${place}.in`, mostValues)
  const clauses = fields.map((name): Clause => {
    const assets = assetFields(name, context)
    if (assets) return assetValues(assets, name, values, place, context)
    const through = throughLink(name, context)
    if (through) {
      const { field: _, ...rest } = element
      return valuesThroughLink(through, { name, place, values }, context, (list, inner) => {
        return inElement({ ...rest, fields: [through.rest], in: list }, place, inner).clause
      })
    }
    const named = resolveName(context.fields, name)
    if (named.kind === 'field') assertInRow(named.field, name, context)
    else if (context.nested) throw notAllowed(name, 'nested')
    if (named.kind === 'period') return periodsClause(named.field, values, place, context)
    if (named.kind === 'targetId') return targetsById(named.field, { values, below, name, place }, context)
    return valuesClause(named, values, {
      below,
      place: `${place}.in`,
      fields: context.fields,
      clock: context.clock,
      databaseName: context.databaseName,
      collections: context.collections,
      poolByReference: context.poolByReference,
      inRows: (field, clause) => inRows(context, [{ field }], clause),
    })
  })
  return { clause: or(clauses) }
}

/** Objects whose preferred files look like a picture. A higher similarity gives a higher score. */
function similarElement(element: Fields, place: string, context: ElementContext): ReturnType<Parser> {
  const id = pictureOf(element, place)
  const bits = optional(element, 'bits', 'integer', place) ?? mostBits
  if (bits < 0 || bits > mostBits) throw wrong(`${place}.bits`, `an integer from 0 to ${mostBits}`)
  const names = namesOf(element, place)
  const fields = (names.length > 0 ? names : ['_linked._asset']).map((name) => `${name}.preferred._id`)
  const score = alikeByWeight(id, bits, context.alike).map(({ weight, ids }) => {
    const { clause } = inElement({ fields, in: ids }, place, context)
    return { clause, boost: weight, certain: false }
  })
  return { clause: or(score.map(({ clause }) => clause)), score }
}

const mostValues = 10_000

/** Values in any of the columns. `null` among the values: objects without a value in all of these columns. */
function assetValues(
  fields: readonly SearchField[],
  name: string,
  values: readonly unknown[],
  place: string,
  context: ElementContext,
): Clause {
  if (context.nested) throw notAllowed(name, 'nested')
  const present = values.filter((value) => value !== null)
  const inner = { type: 'in', fields: fields.map((field) => field.name), in: present }
  return or([
    ...(present.length < values.length ? [noneOf(fields)] : []),
    ...(present.length > 0 && fields.length > 0 ? [inElement(inner, place, context).clause] : []),
  ])
}

/** All links to an object type, for elements with the type instead of the fields. */
function linksTo(objecttype: string | undefined, place: string, context: ElementContext): readonly string[] {
  if (objecttype === undefined) throw wrong(`${place}.fields`, 'a list of field names')
  // Pools are named like a type of linked objects, since every object has its pool by a link.
  if (objecttype === '_pool') return ['_pool']
  const names = context.objecttypes
    .flatMap((table) => context.fields.types.get(table.id)?.all ?? [])
    .filter((field) => field.column.target?.name === objecttype)
    .map((field) => field.name)
  if (names.length === 0) throw new AppError('UnknownObjecttype', { name: `${place}.objecttype`, objecttype })
  return names
}

/**
 * Links whose target has such an `_id`. The index has only the system object ids of targets, so this is a search of its own. Like
 * every other search it finds only objects that the caller may read, because the `_id` of other objects is not disclosed.
 */
function targetsById(
  field: SearchField,
  { values, below, name, place }: { values: readonly unknown[]; below: boolean; name: string; place: string },
  context: ElementContext,
): Clause {
  if (below) throw notAllowed(name, 'include_path')
  const target = field.column.target?.name as string
  const ids = values.filter((value) => value !== null)
  const search = [{ type: 'in', fields: [`${target}._id`], in: ids }]
  const scope = context.scope({ objecttypes: [target], search }, place, context.depth + 1)
  const empty: readonly Clause[] = ids.length < values.length ? [{ is: 'empty', field }] : []
  return or([...empty, ...(ids.length > 0 ? [{ is: 'linked', field, of: scope } as const] : [])])
}

/** Dates that share a moment with one of the years or months. */
function periodsClause(field: SearchField, values: readonly unknown[], place: string, context: ElementContext): Clause {
  return or(
    values.map((value, index): Clause => {
      if (value === null) return { is: 'empty', field }
      if (typeof value !== 'string' && typeof value !== 'number')
        throw wrong(`${place}.in[${index}]`, 'a year or a month')
      return rangeClause({ field: field.name, from: value, to: value }, `${place}.in[${index}]`, context)
    }),
  )
}

function foundBy(
  name: string,
  of: SearchScope,
  by: SearchField | null,
  place: string,
  context: ElementContext,
): Clause {
  const through = throughLink(name, context)
  if (through) {
    return linkedClause(through, name, place, context, (inner) => foundBy(through.rest, of, by, place, inner))
  }
  const named = resolveLink(context.fields, name)
  if (context.nested) throw notAllowed(name, 'subsearch')
  if (named.kind === 'system' && named.name === '_system_object_id') return { is: 'joined', field: null, of, by }
  if (named.kind !== 'field' || named.field.kind !== 'link') throw notAllowed(name, 'subsearch')
  return by === null ? { is: 'linked', field: named.field, of } : { is: 'joined', field: named.field, of, by }
}

/**
 * The link field, of the objects found by the search within, whose targets are meant. `null`: the found objects themselves are
 * meant.
 */
function subsearchField(subsearch: Fields, place: string, { fields }: ElementContext): SearchField | null {
  const name = optional(subsearch, 'field', 'string', place)
  if (name === undefined || name === '' || name === '_system_object_id') return null
  const named = resolveLink(fields, name)
  if (named.kind === 'system' && named.name === '_system_object_id') return null
  if (named.kind !== 'field' || named.field.kind !== 'link') throw notAllowed(name, 'the field of a search within')
  return named.field
}

function nestedElement(element: Fields, place: string, context: ElementContext): ReturnType<Parser> {
  const path = optional(element, 'path', 'string', place) ?? ''
  const nested = nestedAt(path, context)
  const through = nested ? null : firstStep(context.fields, path)
  if (through && path.endsWith(through.rest)) {
    const own = withoutStart(element, path.slice(0, path.length - through.rest.length), place)
    return { clause: linkedClause(through, path, place, context, (inner) => nestedElement(own, place, inner).clause) }
  }
  if (!nested) throw unknownField(path, [...context.fields.nestedByName.keys()])
  const inner = { ...context, nested, depth: context.depth + 1 }
  const { clause } = elementsClause(element.search, `${place}.search`, inner)
  if (nested.rows) return { clause: { is: 'row', nested, of: clause } }
  // Without rows of its own, a condition on the only column means the same for the object as for a row.
  if (isSingle(clause)) return { clause }
  throw new AppError(
    'SearchFieldNotAllowed',
    { field: path, use: 'nested' },
    { message: `${place}: several conditions on one row of ${path} need a mask with search.nested for it` },
  )
}

function isSingle(clause: Clause): boolean {
  return clause.is === 'or'
    ? clause.of.every(isSingle)
    : clause.is !== 'and' && clause.is !== 'not' && clause.is !== 'empty'
}

/** `artwork._nested:artwork__contributor`, or the table's name alone. */
function nestedAt(path: string, context: ElementContext): NestedFields | undefined {
  const found =
    context.fields.nestedByName.get(path) ??
    [...context.fields.nestedByName.values()].find(({ table }) => path === table.name || path === table.wireKey)
  if (!found || !context.nested) return found
  if (found.table.owner !== context.nested.table) throw new AppError('NestedQueryIn', { path, in: context.nested.name })
  return found
}

/** @throws {AppError} `NestedQueryIn` for a field outside the rows that the element is about. */
function assertInRow(field: SearchField, name: string, context: ElementContext): void {
  if (!context.nested || field.path.at(-1) === context.nested.table) return
  throw new AppError('NestedQueryIn', { field: name, in: context.nested.name })
}
