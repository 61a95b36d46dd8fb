/** Clauses, each looked at by itself. */
import { AppError } from '../../../src/platform/errors.ts'
import { patterns } from '../../../src/search/document/analyze.ts'
import { customLabel, intervalOf } from '../../../src/search/document/values.ts'
import type { SearchField } from '../../../src/search/plan/fields.ts'
import type { Clause, MomentRange, NumberBound, SearchScope, TextClause } from '../../../src/search/plan/plan.ts'
import { type MemoryDocument, rowsAt, type Spot, valuesAt } from './documents.ts'
import { type Asked, bagOf, matchesText, overlaps, unitOf } from './text.ts'
import { isReadable, isSeen, mayDelete, mayRead } from './visibility.ts'

export function isInScope(scope: SearchScope, document: MemoryDocument, asked: Asked): boolean {
  const { objecttype, deleted } = document.source
  if (!(scope.objecttypes ?? [...asked.plan.fields.types.keys()]).includes(objecttype)) return false
  if (deleted && !(typeof scope.deleted === 'boolean' ? scope.deleted : mayDelete(scope.deleted, document)))
    return false
  if (asked.plan.fieldVisibility.without.includes(document.id)) return false
  if (asked.plan.fieldVisibility.without.includes(document.id)) return false
  return isReadable(scope.rights, document) && matches(scope.where, { document, row: null }, asked)
}

export function matches(clause: Clause, spot: Spot, asked: Asked): boolean {
  const { document } = spot
  const { source } = document
  const { fieldVisibility, fields } = asked.plan
  const seen = (field: SearchField): boolean => isSeen(fieldVisibility.column(field), document)
  const values = (field: SearchField): unknown[] => (seen(field) ? valuesAt(spot, field) : [])
  const table = fields.types.get(source.objecttype)?.table
  switch (clause.is) {
    case 'all':
      return true
    case 'none':
      return false
    case 'and':
      return clause.of.every((each) => matches(each, spot, asked))
    case 'or':
      return clause.of.some((each) => matches(each, spot, asked))
    case 'not':
      // Objects of other types have neither a value nor none.
      if (clause.of.is === 'empty') return isOfType(clause.of.field, spot) && hasValue(clause.of.field, spot, asked)
      return !matches(clause.of, spot, asked)
    case 'text':
      return matchesText(clause, spot, asked)
    case 'value':
      return hasOneOf(clause, spot, asked)
    case 'empty':
      return clause.field.kind !== 'boolean' && isOfType(clause.field, spot) && values(clause.field).length === 0
    case 'pattern': {
      const wanted = patternOf(clause.pattern)
      return clause.of.some(({ field, languages }) =>
        values(field)
          .flatMap((value) => textsOf(field, value, languages))
          .some((value) => wanted.test(value)),
      )
    }
    case 'numbers':
      return values(clause.field).some((value) => isBetween(value as number, clause))
    case 'dates':
      return values(clause.field).some((value) => overlaps(value, clause.range))
    case 'sameDate':
      return values(clause.field).some((value) => {
        const interval = intervalOf(value)
        return interval !== null && interval.from === clause.range.from && interval.to === clause.range.to
      })
    case 'collected':
    case 'published':
      throw new Error('this engine knows neither collections nor publish records')
    case 'geoBox':
    case 'geoShape':
      throw new Error('this engine knows no places')
    case 'created':
    case 'modified': {
      const at = clause.is === 'created' ? source.createdAt : source.modifiedAt
      return table !== undefined && isSeen(fieldVisibility.any(table), document) && isWithin(at, clause.range)
    }
    case 'objecttype':
      return clause.ids.includes(source.objecttype)
    case 'id':
      return clause.ids.includes(document.id)
    case 'pool':
      return (
        table !== undefined &&
        isSeen(fieldVisibility.system(table, 'pool'), document) &&
        isInPool(clause, document, asked)
      )
    case 'tag':
      return (
        table !== undefined &&
        isSeen(fieldVisibility.system(table, 'tags'), document) &&
        clause.ids.some((id) => source.tags.includes(id))
      )
    case 'owner':
      return (
        table !== undefined &&
        isSeen(fieldVisibility.system(table, 'owner'), document) &&
        document.owner !== null &&
        clause.principals.includes(document.owner)
      )
    case 'uuid':
      return clause.values.includes(source.uuid)
    case 'ownId':
      return source.objecttype === clause.objecttype && clause.ids.includes(source.ownId)
    case 'childOf':
      return (
        table !== undefined &&
        source.objecttype === clause.objecttype &&
        isSeen(fieldVisibility.system(table, 'parent'), document) &&
        hasParent(clause, document, asked)
      )
    case 'below':
      return (
        table !== undefined &&
        (clause.objecttype === null || clause.objecttype === source.objecttype) &&
        isSeen(fieldVisibility.system(table, 'parent'), document) &&
        standsBelow(clause, document, asked)
      )
    case 'row':
      return (
        isSeen(fieldVisibility.rows(clause.nested), document) &&
        rowsAt(spot, clause.nested).some((row) => matches(clause.of, { document, row }, asked))
      )
    case 'linked':
      return values(clause.field).some((id) => {
        const target = asked.all.get(id as number)
        return target !== undefined && isInScope(clause.of, target, asked)
      })
    case 'joined': {
      const own = clause.field === null ? [document.id] : values(clause.field)
      return own.some((id) =>
        [...asked.all.values()].some((found) => {
          if (clause.by === null && found.id !== id) return false
          if (!isInScope(clause.of, found, asked)) return false
          if (clause.by === null) return true
          const by = isSeen(fieldVisibility.column(clause.by), found)
            ? valuesAt({ document: found, row: null }, clause.by)
            : []
          return by.includes(id)
        }),
      )
    }
    case 'changed':
      return (
        table !== undefined &&
        isSeen(fieldVisibility.any(table), document) &&
        document.history.some(
          ({ at, operation, userId, comment }) =>
            isWithin(at, clause.range) &&
            (clause.operations === null || clause.operations.some((each) => each === operation)) &&
            (clause.userId === null || clause.userId === userId) &&
            (clause.comment === null || comment?.toLowerCase().includes(clause.comment.toLowerCase()) === true),
        )
      )
  }
}

function textsOf(field: SearchField, value: unknown, languages: readonly string[] | null): readonly string[] {
  if (field.kind === 'custom') return [(value as { conceptName?: string }).conceptName ?? []].flat()
  if (field.kind !== 'l10n') return [value as string]
  return Object.entries(value as Record<string, string>).flatMap(([language, text]) =>
    !languages || languages.includes(language) ? [text] : [],
  )
}

function patternOf(pattern: string): RegExp {
  const pieces = pattern.match(/\\[\s\S]|[\s\S]/gu) ?? []
  const source = pieces.map((piece) => {
    if (piece === '*') return '.*'
    return piece === '?'
      ? '.'
      : (piece.length > 1 && piece.startsWith('\\') ? piece.slice(1) : piece).replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')
  })
  return new RegExp(`^${source.join('')}$`, 'su')
}

/** Whether it could have the field at all. */
const isOfType = ({ column }: SearchField, { document }: Spot): boolean =>
  column.table.root.id === document.source.objecttype

/** A boolean without value is false. */
function hasValue(field: SearchField, spot: Spot, { plan }: Asked): boolean {
  if (!isSeen(plan.fieldVisibility.column(field), spot.document)) return false
  return field.kind === 'boolean' || valuesAt(spot, field).length > 0
}

function hasOneOf(clause: Extract<Clause, { is: 'value' }>, spot: Spot, asked: Asked): boolean {
  const { field, languages, below } = clause
  const wanted = new Set<unknown>(clause.values)
  if (!isSeen(asked.plan.fieldVisibility.column(field), spot.document)) return false
  const values = valuesAt(spot, field)
  switch (field.kind) {
    case 'boolean':
      return (
        isOfType(field, spot) &&
        ((wanted.has(true) && values.includes(true)) || (wanted.has(false) && !values.includes(true)))
      )
    case 'link':
      return values.some(
        (id) => wanted.has(id) || (below && aboveLink(id as number, spot, asked).some((each) => wanted.has(each))),
      )
    case 'files':
      return values.some((value) => (value as { _id: number }[]).some(({ _id }) => wanted.has(_id)))
    case 'l10n':
      return values.some((value) =>
        Object.entries(value as Record<string, string>).some(
          ([language, text]) => (!languages || languages.includes(language)) && wanted.has(text),
        ),
      )
    case 'custom':
      return values.some((value) => wanted.has(customLabel(value)))
    default:
      return values.some((value) => wanted.has(value))
  }
}

/** All that stands above a linked object, for those who may read that object. */
export function aboveLink(id: number, { document }: Spot, { all, plan }: Asked): readonly number[] {
  const target = all.get(id)
  return target && mayRead(plan.fieldVisibility, target) ? (document.links.get(id)?.ancestors ?? []) : []
}

function isBetween(
  value: number,
  { from, to }: { readonly from: NumberBound | null; readonly to: NumberBound | null },
): boolean {
  const above = !from || value > from.value || (from.inclusive && value === from.value)
  return above && (!to || value < to.value || (to.inclusive && value === to.value))
}

/** `at` in microseconds, the range in seconds with both ends. */
function isWithin(at: number, { from, to }: MomentRange): boolean {
  const seconds = BigInt(Math.floor(at / 1_000_000))
  return (from === null || seconds >= from) && (to === null || seconds <= to)
}

function isInPool(
  { ids, below, none }: Extract<Clause, { is: 'pool' }>,
  { source, poolPath }: MemoryDocument,
  { plan }: Asked,
): boolean {
  const { poolId } = source
  if (poolId === null) return none
  return ids.some((id) => {
    if (!below) return poolId === id
    const within = plan.fieldVisibility.poolsWithin(id)
    return within === 'all' ? poolPath.includes(id) : within.includes(poolId)
  })
}

/** In a polyhierarchy parents that the caller may not read are shown without their `_id`. */
function hasParent(
  { objecttype, ids, none }: Extract<Clause, { is: 'childOf' }>,
  { source }: MemoryDocument,
  { plan, all }: Asked,
): boolean {
  if (source.parents.length === 0) return none
  const poly = plan.fields.types.get(objecttype)?.table.polyhierarchical === true
  return source.parents.some((id) => {
    const parent = all.get(id)
    return parent !== undefined && ids.includes(parent.source.ownId) && (!poly || mayRead(plan.fieldVisibility, parent))
  })
}

/** The same for all that stands above. */
function standsBelow(
  { objecttype, ids }: Extract<Clause, { is: 'below' }>,
  { source, ancestors }: MemoryDocument,
  { plan, all }: Asked,
): boolean {
  const poly = plan.fields.types.get(source.objecttype)?.table.polyhierarchical === true
  return ancestors.some((id) => {
    const above = all.get(id)
    if (poly && (above === undefined || !mayRead(plan.fieldVisibility, above))) return false
    return ids.includes(objecttype === null ? id : (above?.source.ownId ?? -1))
  })
}

/** Words that a pattern may stand for, of those that the caller may know. */
const mostWords = 1024

/** @throws {AppError} `WildcardExpandedToTooManyTerms` */
export function assertFewWords(clause: Clause, documents: readonly MemoryDocument[], asked: Asked): void {
  if (clause.is === 'and' || clause.is === 'or') for (const each of clause.of) assertFewWords(each, documents, asked)
  else if (clause.is === 'not' || clause.is === 'row') assertFewWords(clause.of, documents, asked)
  else if (clause.is === 'linked' || clause.is === 'joined') assertFewWords(clause.of.where, documents, asked)
  else if (clause.is === 'text' && clause.mode === 'wildcard') assertFewWordsOf(clause, documents, asked)
}

function assertFewWordsOf({ text, targets }: TextClause, documents: readonly MemoryDocument[], asked: Asked): void {
  const open = patterns(text, 'words').filter(({ parts }) => parts.length > 1 && 'wildcard' in (parts[0] as object))
  if (open.length === 0) return
  const known = new Set(
    documents
      .filter((each) => mayRead(asked.plan.fieldVisibility, each))
      .flatMap((document) => targets.flatMap((target) => bagOf(target, { document, row: null }, asked))),
  )
  for (const pattern of open) {
    if ([...known].filter(unitOf(pattern)).length <= mostWords) continue
    throw new AppError('WildcardExpandedToTooManyTerms', { pattern: text.slice(0, 200), most: mostWords })
  }
}
