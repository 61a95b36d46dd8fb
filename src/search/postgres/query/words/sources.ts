/**
 * The texts of an object that a search may use: columns, and `_fulltext`, each as far as the caller sees it. A condition on a text
 * is a function of the lexeme form of its words.
 */
import type { Table } from '../../../../datamodel/model.ts'
import type { FieldVisibility, Visibility } from '../../../plan/field-visibility.ts'
import type { SearchField, TypeFields } from '../../../plan/fields.ts'
import type { TextTarget } from '../../../plan/plan.ts'
import {
  columnWord,
  fulltextFrom,
  fulltextWord,
  groupWord,
  languageCode,
  linkedWord,
  otherLanguages,
  titleWord,
} from '../../document/lexemes.ts'
import { whereSeen } from '../access/visibility.ts'
import type { LinkedObjects } from '../linked/linked.ts'
import { allOf, anyOf, lexeme, type Node } from '../sql/tsquery.ts'

export interface SourceContext {
  /** The searched object types. */
  readonly types: readonly TypeFields[]
  readonly languages: readonly string[]
  readonly fieldVisibility: FieldVisibility
  readonly linked: LinkedObjects
}

/** Writes one kind of lexeme: for a word, or for all words with the same beginning. */
export type Writer = (word: string) => string

/** A condition on one text, given the lexeme form of its words; null: nothing can match. */
export type TextCondition = (write: Writer) => Node | null

/** One text of an object that a search may use. */
export type Source = (asked: TextCondition) => Node | null

export function sourcesOf(target: TextTarget, context: SourceContext): Source[] {
  if (target.field) return columnSources(target.field, target.languages, context)
  return target.languages === null ? fulltextSources(context) : fulltextColumns(target, context)
}

/** A column, as far as the caller sees it; for localized texts, one source for each language. */
function columnSources(field: SearchField, languages: readonly string[] | null, context: SourceContext): Source[] {
  const visibility = context.fieldVisibility.column(field)
  if (visibility === 'never') return []
  return codesOf(field, languages, context.languages).map((code): Source => {
    const write: Writer = (word) => columnWord(code, word)
    return (asked) => {
      const own = asked(write)
      const node = own && field.kind === 'link' ? titleNode(field, asked, own, context) : own
      return node && whereSeen(visibility, node)
    }
  })
}

/** For titles of readable objects. The object that links to them then has their words too. */
function titleNode(field: SearchField, asked: TextCondition, own: Node, { linked }: SourceContext): Node | null {
  const table = field.column.target
  if (!table || linked.knowsAll(table)) return own
  const title = asked(titleWord)
  return title && linkNode(field, table, title, own, linked)
}

/** A link to an object that the caller may read and that matches. */
export function linkNode(
  field: SearchField,
  table: Table,
  of: Node,
  candidates: Node,
  linked: LinkedObjects,
): Node | null {
  const ids = linked.find(table, of)
  if (ids?.length === 0) return null
  return {
    op: 'linked',
    column: field.column.id,
    code: field.code,
    target: table.id,
    of,
    readable: linked.readable,
    ids,
    candidates,
  }
}

export const wholeFulltext: Source = (asked) => either([asked(fulltextWord), asked(linkedWord)])

/**
 * `_fulltext` of all searched object types. If some columns are hidden, the words of all columns together would disclose too much.
 * Then the groups of columns that the same masks show are searched, and titles link by link.
 */
function fulltextSources(context: SourceContext): Source[] {
  return context.fieldVisibility.whole ? [wholeFulltext] : [...ownFulltext(context), ...linkedFulltext(context)]
}

function ownFulltext({ fieldVisibility, types }: SourceContext): Source[] {
  const sources: Source[] = []
  const whole: TypeFields[] = []
  for (const type of types) {
    const { groups } = type.fulltext
    const visibilities = groups.map(([field]) => fieldVisibility.column(field as SearchField))
    if (visibilities.every((visibility) => visibility === 'always')) whole.push(type)
    else if (groups.length === 1)
      sources.push(seenSource(visibilities[0] as Visibility, fromTypes([type], fulltextWord)))
    else {
      sources.push(
        ...groups.map(([field], index): Source => {
          const write: Writer = (word) => groupWord(field?.group ?? '', word)
          return seenSource(visibilities[index] as Visibility, (asked) => asked(write))
        }),
      )
    }
  }
  return [fromTypes(whole, fulltextWord), ...sources]
}

function linkedFulltext(context: SourceContext): Source[] {
  const { fieldVisibility, types, linked } = context
  const open = (field: SearchField): boolean =>
    fieldVisibility.column(field) === 'always' && (!field.column.target || linked.knowsAll(field.column.target))
  const whole = types.filter(({ fulltext }) => fulltext.links.every(open))
  const isWhole = new Set(whole)
  const others: Source[] = []
  for (const type of types) {
    if (isWhole.has(type)) continue
    others.push(...type.fulltext.links.flatMap((field) => columnSources(field, null, context)))
  }
  return [fromTypes(whole, linkedWord), ...others]
}

function seenSource(visibility: Visibility, source: Source): Source {
  return (asked) => {
    const node = source(asked)
    return node && whereSeen(visibility, node)
  }
}

/** The last node for types that begin with this one: a search needs the same node several times. */
const lastFrom = new WeakMap<TypeFields, { readonly names: string; readonly node: Node }>()

function fromNode(types: readonly TypeFields[]): Node {
  const first = types[0] as TypeFields
  const names = types.map(({ fulltext }) => fulltext.name).join()
  const last = lastFrom.get(first)
  if (last?.names === names) return last.node
  // Otherwise the index would have to read a list of documents for each type.
  const node: Node = { op: 'shared', of: anyOf(types.map(({ fulltext }) => lexeme(fulltextFrom(fulltext.name)))) }
  lastFrom.set(first, { names, node })
  return node
}

/** Words of objects whose `_fulltext` consists of the columns that the current masks put there. */
function fromTypes(types: readonly TypeFields[], write: Writer): Source {
  if (types.length === 0) return () => null
  const from = fromNode(types)
  return (asked) => {
    const node = asked(write)
    return node && allOf([node, from])
  }
}

function either(nodes: readonly (Node | null)[]): Node | null {
  const possible = nodes.filter((node) => node !== null)
  return possible.length === 0 ? null : anyOf(possible)
}

/** The columns of `_fulltext`, as far as they have words of their own in the index. */
export function fulltextColumns(target: TextTarget, context: SourceContext): Source[] {
  return fulltextFields(context).flatMap((field) => columnSources(field, target.languages, context))
}

const fulltextFields = ({ types }: SourceContext): SearchField[] =>
  types.flatMap((type) => type.all).filter((field) => field.fulltext)

/** The same without titles of linked objects, whose words belong to those objects. */
export function ownSources({ field, languages }: TextTarget, context: SourceContext): Source[] {
  if (!field && languages === null) return ownFulltext(context)
  return (field ? [field] : fulltextFields(context))
    .filter(({ kind }) => kind !== 'link')
    .flatMap((each) => columnSources(each, languages, context))
}

export function asksTitles({ field }: TextTarget, { types }: SourceContext): boolean {
  return field ? field.kind === 'link' : types.some(({ fulltext }) => fulltext.links.length > 0)
}

/** The names of the column in lexemes, for some languages (null: all) out of those that are configured. */
export function codesOf(
  field: SearchField,
  languages: readonly string[] | null,
  configured: readonly string[],
): string[] {
  switch (field.kind) {
    case 'text':
    case 'string':
    case 'link':
    case 'custom':
      return [field.code]
    case 'l10n':
    case 'date': {
      if (languages === null) {
        return [
          ...configured.map((language) => languageCode(field.code, language, configured)),
          otherLanguages(field.code),
        ]
      }
      return [...new Set(languages.map((language) => languageCode(field.code, language, configured)))]
    }
    default:
      return []
  }
}
