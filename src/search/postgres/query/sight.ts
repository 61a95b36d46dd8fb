/** What the caller sees, in lexemes and as SQL on the documents themselves. */
import type { Place } from '../../../objects/service.ts'
import type { TagFilter } from '../../../rights/service.ts'
import type { Sight, Vision } from '../../plan/vision.ts'
import {
  fileMark,
  inPool,
  limitedFor,
  maskFor,
  ofObjecttype,
  ownedBy,
  withoutContainer,
  withoutPool,
  withTag,
} from '../document/lexemes.ts'
import { allOf, anyOf, lastingQuery, lexeme, type Node } from './tsquery.ts'

/** A condition that holds only where the caller sees what it is about; null: nowhere. */
export function whereSeen(sight: Sight, of: Node): Node | null {
  if (sight === 'always') return of
  return sight === 'never' ? null : { op: 'seen', place: sight.place, of }
}

/** The sight by itself, as lexemes that `access` of a document has too; null: it asks nothing. */
export function sightNode(sight: Sight): Node | null {
  if (sight === 'always') return null
  return sight === 'never' ? nothing : placeNode(sight.place)
}

/** No document has it. */
const nothing: Node = lexeme('_-')

/** A place is part of what a caller sees, and the same in all searches. */
const nodes = new WeakMap<Place, Node>()

export function placeNode(place: Place): Node {
  const known = nodes.get(place)
  if (known) return known
  const node = nodeOf(place)
  nodes.set(place, node)
  return node
}

function nodeOf(place: Place): Node {
  switch (place.is) {
    case 'pools':
      return either([...place.ids.map((id) => lexeme(inPool(id))), ...(place.none ? [lexeme(withoutPool)] : [])])
    case 'tags':
      return tagsNode(place.filter)
    case 'owner':
      return either(place.who.map((who) => lexeme(ownedBy(who))))
    case 'granted': {
      const { masks } = place
      const write = (who: string): string =>
        masks === 'limited' ? limitedFor(who) : maskFor(who, masks === 'all' ? '*' : masks)
      return either(place.who.map((who) => lexeme(write(who))))
    }
    case 'private':
      return lexeme(withoutContainer)
    case 'files':
      return either(place.names.map((name) => lexeme(fileMark(place.column.id, place.by, name))))
    case 'and':
      return allOf(place.of.map(placeNode))
    case 'or':
      return either(place.of.map(placeNode))
    case 'not':
      return { op: 'not', of: placeNode(place.of) }
  }
}

function tagsNode({ all, any, not }: TagFilter): Node {
  const parts: Node[] = all.map((tag) => lexeme(withTag(tag)))
  if (any.length > 0) parts.push(anyOf(any.map((tag) => lexeme(withTag(tag)))))
  for (const tag of not) parts.push({ op: 'not', of: lexeme(withTag(tag)) })
  return parts.length === 0 ? { op: 'not', of: nothing } : allOf(parts)
}

function either(nodes: readonly Node[]): Node {
  return nodes.length === 0 ? nothing : anyOf(nodes)
}

/** The sights of several object types together: what each type's objects are seen by. */
export function sightOfTypes(types: readonly { readonly id: number; readonly sight: Sight }[]): Node | null {
  if (types.every(({ sight }) => sight === 'always')) return null
  const always = types.filter(({ sight }) => sight === 'always').map(({ id }) => lexeme(ofObjecttype(id)))
  const some = types.flatMap(({ id, sight }) =>
    typeof sight === 'string' ? [] : allOf([lexeme(ofObjecttype(id)), placeNode(sight.place)]),
  )
  return either([...always, ...some])
}

/** Whether a document fulfils a condition of lexemes that `access` has. */
export function accessSql(node: Node, alias: string): string {
  return `${alias}.access @@ '${lastingQuery(node).replaceAll("'", "''")}'::tsquery`
}

/** Besides the right to read a document, as the index knows it: its object has not moved out of sight since. */
export function stillSql({ without }: Pick<Vision, 'without'>, alias: string): string {
  return without.length === 0 ? '' : ` and ${alias}.id <> all('{${without.map(Number)}}'::bigint[])`
}

/** A value of a document where the caller sees it, else null, which is of the same type. */
export function seenSql(sight: Sight, sql: string, alias: string): string {
  if (sight === 'always') return sql
  return sight === 'never'
    ? `case when false then ${sql} end`
    : `case when ${accessSql(placeNode(sight.place), alias)} then ${sql} end`
}
