/** What the caller sees, in lexemes and as SQL on the documents themselves. */
import { isEverything } from '../../../rights/service.ts'
import type { Sight } from '../../plan/vision.ts'
import { ofObjecttype } from '../document/lexemes.ts'
import { either, expressionNode, nowhere } from './access.ts'
import { knownSetsSql } from './access-sets.ts'
import { madeOf, type Sql } from './of-document.ts'
import type { PostgresPlan } from './postgres-plan.ts'
import { inlineSql } from './sql.ts'
import { allOf, lastingQuery, lexeme, type Node } from './tsquery.ts'

/** A condition that holds only where the caller sees what it is about; null: nowhere. */
export function whereSeen(sight: Sight, of: Node): Node | null {
  if (sight === 'always') return of
  return sight === 'never' ? null : { op: 'seen', place: sight.place, of }
}

/** The sight by itself, as lexemes that `access` of a document has too; null: it asks nothing. */
export function sightNode(sight: Sight): Node | null {
  if (sight === 'always') return null
  return sight === 'never' ? nowhere : expressionNode(sight.place)
}

/** The sights of several object types together: what each type's objects are seen by. */
export function sightOfTypes(types: readonly { readonly id: number; readonly sight: Sight }[]): Node | null {
  if (types.every(({ sight }) => sight === 'always')) return null
  const always = types.filter(({ sight }) => sight === 'always').map(({ id }) => lexeme(ofObjecttype(id)))
  const some = types.flatMap(({ id, sight }) =>
    typeof sight === 'string' ? [] : allOf([lexeme(ofObjecttype(id)), expressionNode(sight.place)]),
  )
  return either([...always, ...some])
}

/** Whether a document fulfils a condition of lexemes that `access` has. */
export function accessSql(node: Node, alias: string): string {
  return `${alias}.access @@ '${lastingQuery(node).replaceAll("'", "''")}'::tsquery`
}

/**
 * Whether the caller may read a document: by the index, and unless its object has moved out of sight since. SQL without
 * parameters.
 */
export function readableSql(
  { vision, accessSets }: Pick<PostgresPlan, 'vision' | 'accessSets'>,
  alias: string,
): string {
  const { rights, without } = vision
  const known = isEverything(rights) ? null : accessSets.known(rights)
  const parts = [
    ...(known ? [knownSetsSql(known, alias, inlineSql)] : []),
    ...(known || isEverything(rights) ? [] : [accessSql(expressionNode(rights), alias)]),
    ...(without.length === 0 ? [] : [`${alias}.id <> all('{${without.map(Number)}}'::bigint[])`]),
  ]
  return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`
}

/** A value of a document where the caller sees it, else null, which is of the same type. */
export function seenSql(sight: Sight, sql: Sql, alias: string): Sql {
  if (sight === 'always') return sql
  const where = sight === 'never' ? 'false' : accessSql(expressionNode(sight.place), alias)
  return madeOf([sql], `case when ${where} then ${sql} end`)
}
