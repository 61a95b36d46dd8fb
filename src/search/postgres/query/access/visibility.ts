/** The visibility of fields for the caller, in lexemes and as SQL on the documents. */
import { isEverything } from '../../../../rights/service.ts'
import type { Visibility } from '../../../plan/field-visibility.ts'
import { ofObjecttype } from '../../document/lexemes.ts'
import { madeOf, type Sql } from '../sql/of-document.ts'
import { inlineSql } from '../sql/sql.ts'
import { allOf, isPlain, lastingQuery, lexeme, type Node } from '../sql/tsquery.ts'
import { either, expressionNode, nowhere } from './access.ts'
import { knownSetsSql } from './access-sets.ts'
import { memberSql } from './member.ts'
import type { PostgresPlan } from './postgres-plan.ts'

/** Restricts a condition to places where the caller sees its field; null: nowhere. */
export function whereSeen(visibility: Visibility, of: Node): Node | null {
  if (visibility === 'always') return of
  return visibility === 'never' ? null : { op: 'seen', place: visibility.place, of }
}

/** The condition of a visibility, in lexemes that the `access` column of a document also has; null: there is no condition. */
export function visibilityNode(visibility: Visibility): Node | null {
  if (visibility === 'always') return null
  return visibility === 'never' ? nowhere : expressionNode(visibility.place)
}

/** The visibilities of several object types together, each for the objects of its type. */
export function visibilityOfTypes(
  types: readonly { readonly id: number; readonly visibility: Visibility }[],
): Node | null {
  if (types.every(({ visibility }) => visibility === 'always')) return null
  const always = types.filter(({ visibility }) => visibility === 'always').map(({ id }) => lexeme(ofObjecttype(id)))
  const some = types.flatMap(({ id, visibility }) =>
    typeof visibility === 'string' ? [] : allOf([lexeme(ofObjecttype(id)), expressionNode(visibility.place)]),
  )
  return either([...always, ...some])
}

/** Whether a document fulfils a condition on lexemes of its `access` column. */
export function accessSql(node: Node, alias: string): string {
  if (isPlain(node)) return `${alias}.access @@ '${lastingQuery(node).replaceAll("'", "''")}'::tsquery`
  if (!('op' in node)) throw new Error('a lexeme is a tsquery')
  switch (node.op) {
    case 'member':
      return memberSql(node, alias)
    case 'not':
      return `not ${accessSql(node.of, alias)}`
    case 'and':
    case 'or':
      return `(${plainTogether(node)
        .map((each) => accessSql(each, alias))
        .join(` ${node.op} `)})`
    default:
      throw new Error(`${node.op} is no condition on who may see an object`)
  }
}

const together = new WeakMap<Node, readonly Node[]>()

/** The operands, with all lexemes combined. */
function plainTogether(node: Extract<Node, { op: 'and' | 'or' | 'phrase' }>): readonly Node[] {
  const known = together.get(node)
  if (known) return known
  const plain = node.of.filter(isPlain)
  const one: Node[] = plain.length === 0 ? [] : [plain.length === 1 ? (plain[0] as Node) : { op: node.op, of: plain }]
  const operands = [...one, ...node.of.filter((each) => !isPlain(each))]
  together.set(node, operands)
  return operands
}

/**
 * Whether the caller may read a document: by the index, and unless its object has become invisible since. SQL without parameters.
 */
export function readableSql(
  { fieldVisibility, accessSets }: Pick<PostgresPlan, 'fieldVisibility' | 'accessSets'>,
  alias: string,
): string {
  const { rights, without } = fieldVisibility
  const known = isEverything(rights) ? null : accessSets.known(rights)
  const parts = [
    ...(known ? [knownSetsSql(known, alias, inlineSql, true)] : []),
    ...(known || isEverything(rights) ? [] : [accessSql(expressionNode(rights), alias)]),
    ...(without.length === 0 ? [] : [`${alias}.id <> all('{${without.map(Number)}}'::bigint[])`]),
  ]
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

/** A value of a document where the caller sees it, else null of the same type. */
export function visibleSql(visibility: Visibility, sql: Sql, alias: string): Sql {
  if (visibility === 'always') return sql
  const where = visibility === 'never' ? 'false' : accessSql(expressionNode(visibility.place), alias)
  return madeOf([sql], `case when ${where} then ${sql} end`)
}
