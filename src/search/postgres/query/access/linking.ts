/** The objects that link to others: the way back through a link. */
import type { SearchField } from '../../../plan/fields.ts'
import type { PostgresPlan } from './postgres-plan.ts'
import { accessSql, readableSql, visibilityNode } from './visibility.ts'

export interface LinkBack {
  /** The id of the object that is linked to, as SQL. */
  readonly to: string
  /** Alias of the document of an object that links to it, and of its row in the table of links. */
  readonly source: string
  readonly link: string
}

/** Joins to the objects whose column links to an object, as far as the caller sees the link and may read them. */
export function linkingSql(field: SearchField, { to, source, link }: LinkBack, plan: PostgresPlan): string {
  const where = visibilityNode(plan.fieldVisibility.column(field))
  return `join object_link ${link} on ${link}.to_id = ${to} and ${link}.column_id = ${Number(field.column.id)}
    join search_document ${source} on ${source}.id = ${link}.from_id and not ${source}.deleted
      and ${readableSql(plan, source)}${where ? ` and ${accessSql(where, source)}` : ''}`
}
