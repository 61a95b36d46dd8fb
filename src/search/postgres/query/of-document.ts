/** Conditions that a document alone fulfils or does not, so that it can be told by its moment whether they still hold. */
import { withoutLateQueries } from './sql.ts'

/** What conditions on documents and their values are made of. */
export const conditionColumns =
  'id, objecttype, deleted, created_at, modified_at, facets, sort_keys, names, far_keys, lexemes, access, access_set, people_set'

/** Characters of conditions that take longer to be compared with a document than the index takes for many. */
export const longestCondition = 40_000

/** Whether a condition is about the document alone, wherever it is: not about its rows, its links, or other objects. */
export const isOfDocument = (sql: string): boolean => !/\bselect\b/i.test(withoutLateQueries(sql))
