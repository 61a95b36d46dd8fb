/**
 * Marks SQL conditions that depend on a document alone. The moment of the document's last change tells whether their result is
 * still valid.
 */

/** Columns that conditions on documents use. */
export const conditionColumns =
  'id, objecttype, deleted, created_at, modified_at, facets, sort_keys, names, far_keys, lexemes, access, access_set, people_set'

/** Length of a condition in characters. Comparing a longer one with one document takes longer than the index takes for many. */
export const longestCondition = 40_000

/**
 * SQL that depends on the document alone: not on its rows, its links, other objects, or the time. The author of the SQL marks it
 * so. Concatenated plain text is not marked, so results of it are not cached.
 */
export class DocumentSql {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toString(): string {
    return this.text
  }
}

/** A plain text has no information about its dependencies. */
export type Sql = string | DocumentSql

export const documentSql = (text: string): DocumentSql => new DocumentSql(text)

/** Depends on the document alone if all of its parts do. */
export const madeOf = (parts: readonly Sql[], text: string): Sql =>
  parts.every(isOfDocument) ? new DocumentSql(text) : text

export const joined = (parts: readonly Sql[], between: string): Sql => madeOf(parts, parts.join(between))

export const isOfDocument = (sql: Sql | null): sql is DocumentSql => sql instanceof DocumentSql
