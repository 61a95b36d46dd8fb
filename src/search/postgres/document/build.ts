/** Builds the search document of one object: the data by which it is found, counted and sorted. Does not use the database. */
import { collation } from '../../document/collation.ts'
import { hash53 } from '../../document/hash.ts'
import type { IndexSource } from '../../document/source.ts'
import type { NestedFields, SearchField, TypeFields } from '../../plan/fields.ts'
import { systemFacets } from '../slots.ts'
import { accessLexemes, ownerOf } from './access.ts'
import type { Draft, FacetSet, IndexContext, IndexDocument } from './draft.ts'
import { addFacet, facetSet } from './facets.ts'
import { addTitle, fieldLexemes } from './field-lexemes.ts'
import { belowPool, fulltextFrom, hasValue, LexemeSet, rowOf, standsBelow } from './lexemes.ts'
import { setSortKey } from './sort-keys.ts'

/** Builds documents one after the other, with the same working memory. */
export function createDocumentBuilder(context: IndexContext): (source: IndexSource) => IndexDocument | null {
  const lexemes = new LexemeSet()
  const names = new LexemeSet()
  const access = new LexemeSet()
  const shared = new LexemeSet()
  const people = new LexemeSet()
  const rowLexemes: LexemeSet[] = []
  return (source) => {
    lexemes.clear()
    names.clear()
    access.clear()
    shared.clear()
    people.clear()
    return build({
      context,
      source,
      lexemes,
      names,
      access,
      shared,
      people,
      namePosition: 1,
      members: new Map(),
      sortKeys: [],
      farKeys: [],
      rows: [],
      rowCount: 0,
      positions: new Map(),
      rowLexemes,
    })
  }
}

/** Null when the object type was removed from the datamodel: then there is nothing to find. */
function build(draft: Draft): IndexDocument | null {
  const { source } = draft
  const type = draft.context.fields.types.get(source.objecttype)
  if (!type) return null
  const validUntil = addAccess(draft, type.table.aclTable)
  // Every document of the type has this lexeme, so it causes no additional sets.
  draft.lexemes.add(fulltextFrom(type.fulltext.name))
  draft.shared.add(fulltextFrom(type.fulltext.name))
  if (type.table.linkedFrom.length > 0) addTitle(draft.lexemes, source.standard['1']?.text ?? {})
  for (const id of source.parents.length > 0 ? draft.context.ancestors(source.id) : [])
    draft.lexemes.add(standsBelow(id))
  readFields(draft, type)
  addStandardKeys(draft)
  return {
    id: source.id,
    objecttype: source.objecttype,
    deleted: source.deleted,
    createdAt: source.createdAt,
    modifiedAt: source.modifiedAt,
    validUntil,
    lexemes: draft.context.arena.keep(draft.lexemes.encode()),
    names: draft.context.arena.keep(draft.names.encode()),
    access: draft.context.arena.keep(draft.access.encode()),
    shared: draft.context.arena.keep(draft.shared.encode()),
    people: draft.context.arena.keep(draft.people.encode()),
    facets: facetSets(draft),
    sortKeys: draft.sortKeys,
    farKeys: draft.farKeys,
    rows: draft.rows,
    shown: hash53(JSON.stringify([source.standard['1']?.text, source.parents])),
    parentsHash: hash53(JSON.stringify(source.parents)),
  }
}

/** Adds the pool, the owner and the grants. Returns the moment at which these change by themselves. */
function addAccess({ lexemes, access, shared, people, source, context }: Draft, aclTable: boolean): number | null {
  const of = accessLexemes(source, aclTable, context.now)
  for (const [set, found] of [
    [shared, of.shared],
    [people, of.people],
  ] as const) {
    for (const lexeme of found) {
      lexemes.add(lexeme)
      access.add(lexeme)
      set.add(lexeme)
    }
  }
  if (source.poolId !== null) for (const id of context.poolPath(source.poolId)) lexemes.add(belowPool(id))
  return of.validUntil
}

function readFields(draft: Draft, type: TypeFields): void {
  const { content } = draft.source
  for (const field of type.fields) {
    const value = content[field.column.key]
    if (field.part) readPartValues(draft, field, value, null)
    else if (value !== undefined) {
      // For other fields, a sort key shows that there is a value.
      if (field.kind === 'link' || field.kind === 'l10n') draft.lexemes.add(hasValue(field.code))
      readValue(draft, field, value, null)
    }
    // A boolean without value is false: it counts and sorts as such.
    else if (field.kind === 'boolean') {
      addFacet(draft, field, false)
      setSortKey(draft, field, false)
    }
  }
  for (const nested of type.nested) readRows(draft, nested, content, 0)
}

/** Adds data of the preferred file of a column, or a member of its value: always a list. */
function readPartValues(draft: Draft, field: SearchField, values: unknown, row: LexemeSet | null): void {
  if (values === undefined) return
  draft.lexemes.add(hasValue(field.code))
  row?.add(hasValue(field.code))
  for (const value of values as readonly unknown[]) readValue(draft, field, value, row)
}

/** Indexes one value. Rows of nested tables also have lexemes of their own. */
function readValue(draft: Draft, field: SearchField, value: unknown, row: LexemeSet | null): void {
  fieldLexemes(draft, field, value, row)
  addFacet(draft, field, value)
  setSortKey(draft, field, value)
}

function readRows(
  draft: Draft,
  nested: NestedFields,
  content: Readonly<Record<string, unknown>>,
  parent: number,
  depth = 0,
): void {
  const rows = content[nested.table.key] as readonly Readonly<Record<string, unknown>>[] | undefined
  if (!rows || rows.length === 0) return
  draft.lexemes.add(hasValue(nested.table.key))
  for (const row of rows) {
    const number = ++draft.rowCount
    const lexemes = nested.rows ? freshRow(draft, depth) : null
    lexemes?.add(rowOf(nested.table.id))
    for (const field of nested.fields) {
      const value = row[field.column.key]
      if (value === undefined) continue
      if (field.part) {
        readPartValues(draft, field, value, lexemes)
        continue
      }
      draft.lexemes.add(hasValue(field.code))
      lexemes?.add(hasValue(field.code))
      readValue(draft, field, value, lexemes)
    }
    for (const inner of nested.nested) readRows(draft, inner, row, lexemes ? number : parent, depth + 1)
    if (lexemes) draft.rows.push({ row: number, parent, lexemes: draft.context.arena.keep(lexemes.encode()) })
  }
}

function freshRow({ rowLexemes }: Draft, depth: number): LexemeSet {
  rowLexemes[depth] ??= new LexemeSet()
  const lexemes = rowLexemes[depth]
  lexemes.clear()
  return lexemes
}

function addStandardKeys({ sortKeys, source, context }: Draft): void {
  const texts = source.standard['1']?.text
  if (!texts) return
  for (const language of context.languages) {
    const text = texts[language]
    const slot = context.slots.standardKey(language)
    if (text !== undefined && slot !== undefined) sortKeys[slot] = collation(language).key(text, { numeric: true })
  }
}

function facetSets({ members, source, context }: Draft): FacetSet[] {
  const sets: FacetSet[] = []
  if (source.tags.length > 0) sets.push(facetSet(systemFacets._tags, '_tags', source.tags))
  if (source.poolId !== null) sets.push(facetSet(systemFacets._pool, '_pool', context.poolPath(source.poolId)))
  const owner = ownerOf(source)
  if (owner) sets.push(facetSet(systemFacets._owner, '_owner', [owner]))
  for (const [field, found] of members) {
    const slot = context.slots.facet(field)
    if (slot !== undefined) sets.push(facetSet(slot, field.code, found))
  }
  return sets
}
