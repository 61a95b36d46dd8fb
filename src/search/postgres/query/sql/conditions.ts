/** Conditions and their combination. */
import { joined, type Sql } from './of-document.ts'
import { allOf, anyOf, lexeme, type Node } from './tsquery.ts'

/** An object matches when it has the lexemes and the SQL holds; null: no condition. `never`: nothing matches. */
export type Condition =
  | { readonly never: true }
  | { readonly never: false; readonly node: Node | null; readonly sql: Sql | null }

export const never: Condition = { never: true }
export const always: Condition = { never: false, node: null, sql: null }
export const ofNode = (node: Node): Condition => ({ never: false, node, sql: null })
export const ofSql = (sql: Sql): Condition => ({ never: false, node: null, sql })

/** All conditions must hold. */
export function conjunction(conditions: readonly Condition[]): Condition {
  const nodes: Node[] = []
  const parts: Sql[] = []
  for (const condition of conditions) {
    if (condition.never) return never
    if (condition.node) nodes.push(condition.node)
    if (condition.sql) parts.push(condition.sql)
  }
  return {
    never: false,
    node: nodes.length === 0 ? null : allOf(nodes),
    sql: parts.length === 0 ? null : joined(parts, ' and '),
  }
}

/** At least one of these lexemes is present. */
export function anyLexeme(texts: readonly string[]): Condition {
  return texts.length === 0 ? never : ofNode(anyOf(texts.map(lexeme)))
}
