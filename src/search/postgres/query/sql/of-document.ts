/** Conditions that a document alone fulfils or does not, so that it can be told by its moment whether they still hold. */

/** What conditions on documents and their values are made of. */
export const conditionColumns =
  'id, objecttype, deleted, created_at, modified_at, facets, sort_keys, names, far_keys, lexemes, access, access_set, people_set'

/** Characters of conditions that take longer to be compared with a document than the index takes for many. */
export const longestCondition = 40_000

/**
 * SQL about the document alone, wherever it is: not about its rows, its links, other objects, or the time. Whoever writes it says
 * so; whatever else becomes of it in a text says nothing, so nobody keeps what that finds.
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

/** A text says nothing of what it depends on. */
export type Sql = string | DocumentSql

export const documentSql = (text: string): DocumentSql => new DocumentSql(text)

/** About the document alone where all are that it is made of. */
export const madeOf = (parts: readonly Sql[], text: string): Sql =>
  parts.every(isOfDocument) ? new DocumentSql(text) : text

export const joined = (parts: readonly Sql[], between: string): Sql => madeOf(parts, parts.join(between))

export const isOfDocument = (sql: Sql | null): sql is DocumentSql => sql instanceof DocumentSql
