/** Parameters of one statement, numbered as they come. */
export class Parameters {
  readonly values: unknown[] = []

  /** The placeholder of a new parameter, with its type where PostgreSQL must be told. */
  add(value: unknown, type = ''): string {
    this.values.push(value)
    return `$${this.values.length}${type === '' ? '' : `::${type}`}`
  }
}
