/** Converts elements of a search request to a query with the same meaning: the inverse of `elementsOf`. */
import type { FieldCatalogue } from '../plan/fields.ts'
import { resolvePath } from '../request/paths.ts'
import { deepest, type Fields, fieldsAt, listAt, wrong } from '../request/read.ts'
import { isDate, isTitle } from './elements.ts'
import { queryLimits } from './parse.ts'
import { hasWildcards, literalOf } from './texts.ts'

interface Written {
  readonly text: string
  /** The field, if the text is bounds of it. Next to other bounds of the same field they would become one range. */
  readonly range: string | null
  /** The connective within the text. */
  readonly joint: '&&' | '||' | null
}

/** @throws {AppError} `ServerGeneric` with the place of an element that no query can express. */
export function queryOf(search: unknown, fields: FieldCatalogue): string {
  const list = listAt(search ?? [], 'search', queryLimits.conditions)
  return list.length === 0 ? '' : listQuery(list, 'search', fields, 0).text
}

function listQuery(list: readonly unknown[], place: string, fields: FieldCatalogue, depth: number): Written {
  if (depth > deepest) throw wrong(place, `nested at most ${deepest} deep`)
  if (list.length === 0) throw unsayable(place, 'a group of nothing')
  const elements = list.map((element, index) => {
    const at = `${place}[${index}]`
    const record = fieldsAt(element, at)
    const { bool = 'must' } = record
    if (bool !== 'must' && bool !== 'should' && bool !== 'must_not')
      throw wrong(`${at}.bool`, 'must, should or must_not')
    if ((record.boost ?? 1) !== 1) throw unsayable(`${at}.boost`, 'a boost')
    const written = elementQuery(record, at, fields, depth)
    return { bool, written: bool === 'must_not' ? negation(written) : written }
  })
  const should = elements.filter(({ bool }) => bool === 'should').map(({ written }) => written)
  const others = elements.filter(({ bool }) => bool !== 'should').map(({ written }) => written)
  return should.length === 0 ? joined(others, '&&') : joined([...others, joined(should, '||')], '&&')
}

function joined(parts: readonly Written[], joint: '&&' | '||'): Written {
  const [first] = parts
  if (parts.length === 1 && first) return first
  const texts = parts.map((part, index) => {
    const beside = joint === '&&' && [parts[index - 1], parts[index + 1]].some((each) => each?.range === part.range)
    if (part.range !== null && beside) return `(${part.text})`
    return part.joint === null || part.joint === joint ? part.text : `(${part.text})`
  })
  return { text: texts.join(` ${joint} `), range: null, joint }
}

const negation = ({ text, joint }: Written): Written => ({
  text: joint === null && text.startsWith('"') ? `!${text}` : `!(${text})`,
  range: null,
  joint: null,
})

function elementQuery(element: Fields, place: string, fields: FieldCatalogue, depth: number): Written {
  switch (element.type) {
    case 'complex':
      return listQuery(
        listAt(element.search ?? [], `${place}.search`, queryLimits.conditions),
        `${place}.search`,
        fields,
        depth + 1,
      )
    case 'text':
    case 'match':
      return one(textQuery(element, place, fields))
    case 'in':
      return inQuery(element, place, fields, depth)
    case 'range':
      return rangeQuery(element, place, fields)
    case 'nested':
      return one(
        `${nameAt(element.path, `${place}.path`)} == ?(${listQuery(listAt(element.search, `${place}.search`, queryLimits.conditions), `${place}.search`, fields, depth + 1).text})`,
      )
    case 'geo_bounding_box':
      return one(boxQuery(element, place))
    default:
      throw unsayable(`${place}.type`, `an element of the type ${String(element.type).slice(0, 100)}`)
  }
}

const one = (text: string): Written => ({ text, range: null, joint: null })

function textQuery(element: Fields, place: string, fields: FieldCatalogue): string {
  const { string, mode = 'fulltext' } = element
  if (typeof string !== 'string') throw wrong(`${place}.string`, 'a string')
  for (const name of ['phrase', 'query', 'languages']) {
    const value = element[name]
    if (value && value !== 'match' && !(Array.isArray(value) && value.length === 0))
      throw unsayable(`${place}.${name}`, name)
  }
  const field = fieldOf(element, place)
  const isPattern = hasWildcards(string)
  if ((mode === 'fulltext' && !isPattern) || (mode === 'wildcard' && (isPattern || !string.includes('\\')))) {
    return field === null ? quoted(string) : `${field} =@ ${quoted(string)}`
  }
  if (field !== null && mode === 'token' && isTitle(resolvePath(fields, field).named))
    return `${field} == ${quoted(string)}`
  const literal = mode === 'exact' && string.endsWith('*') ? literalOf(string.replace(/^\*/, '').slice(0, -1)) : null
  if (field !== null && literal !== null && !endsEscaped(string)) {
    return `${field} ${string.startsWith('*') ? '=*' : '=^'} ${quoted(literal)}`
  }
  throw unsayable(`${place}.mode`, `this text in the mode ${String(mode).slice(0, 100)}`)
}

/** Whether the star at the end is escaped by a backslash. */
function endsEscaped(text: string): boolean {
  let before = text.length - 1
  while (text[before - 1] === '\\') before--
  return (text.length - 1 - before) % 2 === 1
}

function inQuery(element: Fields, place: string, fields: FieldCatalogue, depth: number): Written {
  for (const name of ['include_path', 'objecttype']) if (element[name]) throw unsayable(`${place}.${name}`, name)
  const names = listOfNames(element, place)
  if (element.subsearch !== undefined && element.subsearch !== null) {
    const inner = fieldsAt(element.subsearch, `${place}.subsearch`)
    if (inner.field && inner.field !== '_system_object_id')
      throw unsayable(`${place}.subsearch.field`, 'a field of a search within')
    const at = `${place}.subsearch.search`
    const of = listQuery(listAt(inner.search ?? [], at, queryLimits.conditions), at, fields, depth + 1).text
    return joined(
      names.map((name) => one(`${name} == ?(${of})`)),
      '||',
    )
  }
  const values = listAt(element.in, `${place}.in`, queryLimits.conditions)
  if (values.length === 0) throw unsayable(`${place}.in`, 'a list of no values')
  const tests = names.flatMap((name) => {
    const named = resolvePath(fields, name).named
    return values.map((value, index) => {
      const at = `${place}.in[${index}]`
      if (isDate(named) && value !== null) throw unsayable(at, 'exactly the interval of a date')
      return one(`${name} == ${literal(isTitle(named) && typeof value === 'string' ? Number(value) : value, at)}`)
    })
  })
  return joined(tests, '||')
}

function rangeQuery(element: Fields, place: string, fields: FieldCatalogue): Written {
  const field = nameAt(element.field, `${place}.field`)
  const bound = (end: 'from' | 'to', signs: readonly [string, string]): string[] => {
    const value = element[end]
    if (value === undefined || value === null || value === '') return []
    return [`${field} ${element[`${end}_equals`] === false ? signs[1] : signs[0]} ${literal(value, `${place}.${end}`)}`]
  }
  const bounds = [...bound('from', ['>=', '>']), ...bound('to', ['<=', '<'])]
  if (bounds.length === 0) return one(`${field} != null`)
  const included = element.from_equals !== false && element.to_equals !== false
  if (bounds.length === 2 && included && element.from === element.to && isDate(resolvePath(fields, field).named)) {
    return one(`${field} == ${literal(element.from, `${place}.from`)}`)
  }
  return { text: bounds.join(' && '), range: field, joint: bounds.length === 2 ? '&&' : null }
}

function boxQuery(element: Fields, place: string): string {
  const field = fieldOf(element, place)
  if (field === null) throw wrong(`${place}.fields`, 'a list with one field')
  const box = fieldsAt(element.geo_bounding_box, `${place}.geo_bounding_box`)
  const corners = [box.top_left, box.bottom_right]
  if (corners.every((corner) => typeof corner === 'string')) {
    return `${field} == [${corners.map((corner) => quoted(corner)).join(', ')}]`
  }
  const points = corners.map((corner, index) => {
    const at = `${place}.geo_bounding_box.${index === 0 ? 'top_left' : 'bottom_right'}`
    const { lat, lon } = fieldsAt(corner, at)
    return `[${literal(lat, `${at}.lat`)}, ${literal(lon, `${at}.lon`)}]`
  })
  return `${field} == ${points.join('')}`
}

function fieldOf(element: Fields, place: string): string | null {
  const names =
    element.field || (Array.isArray(element.fields) && element.fields.length > 0) ? listOfNames(element, place) : []
  if (names.length > 1) throw unsayable(`${place}.fields`, 'several fields of one text')
  return names[0] ?? null
}

function listOfNames(element: Fields, place: string): readonly string[] {
  const given = Array.isArray(element.fields) && element.fields.length > 0 ? element.fields : [element.field]
  return given.map((name, index) => nameAt(name, `${place}.fields[${index}]`))
}

function nameAt(name: unknown, place: string): string {
  if (typeof name === 'string' && /^[A-Za-z_]\w*(?:[.:-]\w+)*$/.test(name)) return name
  throw wrong(place, 'the name of a field')
}

function literal(value: unknown, place: string): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  throw wrong(place, 'a text, a number, true, false or null')
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

function unsayable(place: string, what: string) {
  return wrong(place, `something that a query can say, which ${what} is not`)
}
