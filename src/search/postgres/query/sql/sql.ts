/**
 * Parameters of one statement. A part of a condition may be left out with its parameters, and PostgreSQL refuses parameters that
 * the statement does not use. So they are numbered when the statement is complete.
 */
export class Parameters {
  readonly #values: unknown[] = []

  /** The placeholder of a new parameter, with its type where PostgreSQL needs it. */
  add(value: unknown, type = ''): string {
    this.#values.push(value)
    return `{{${this.#values.length - 1}}}${type === '' ? '' : `::${type}`}`
  }

  /** The total number of characters of all text parameters, at most `enough`. */
  length(enough: number): number {
    let length = 0
    for (const value of this.#values) {
      if (typeof value === 'string') length += value.length
      else if (Array.isArray(value)) length += 8 * value.length
      if (length >= enough) return enough
    }
    return length
  }

  /** The statement with numbered parameters, and their values. */
  statement(sql: string): [text: string, values: unknown[]] {
    const values: unknown[] = []
    const numbers = new Map<string, number>()
    const text = sql.replace(/\{\{(\d+)\}\}/g, (_, index: string) => {
      let number = numbers.get(index)
      if (number === undefined) {
        number = values.push(this.#values[Number(index)])
        numbers.set(index, number)
      }
      return `$${number}`
    })
    return [text, values]
  }
}

/** A moment in microseconds since 1970. */
export const microseconds = (sql: string): string => `(extract(epoch from ${sql}) * 1000000)::bigint`

/** A moment, given its microseconds since 1970. */
export const atMicroseconds = (at: string): string =>
  `(timestamptz '1970-01-01 00:00:00+00' + ${at} * interval '1 microsecond')`

/**
 * A `tsquery` that PostgreSQL reads when the first row needs it, possibly never: reading the rights of a caller with a thousand
 * pools takes a millisecond. The inner `offset 0` keeps the planner from pulling the subquery up, which would make the text a
 * constant and read it at once.
 */
export const lateQuery = (text: string): string => `(select q::tsquery from (select ${text} as q offset 0) late)`

/** A value written into the text of a statement. */
export function inlineSql(value: string | number | Buffer, type: string): string {
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value)
  return `'${text.replaceAll("'", "''")}'::${type}`
}
