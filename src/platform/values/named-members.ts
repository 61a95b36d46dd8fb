/** What is read of a schema to know the names that a value may have in it. */
export interface NamedSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, NamedSchema>>
  readonly patternProperties?: Readonly<Record<string, NamedSchema>>
  readonly additionalProperties?: boolean | NamedSchema
  readonly items?: NamedSchema
  readonly anyOf?: readonly NamedSchema[]
  readonly oneOf?: readonly NamedSchema[]
  readonly allOf?: readonly NamedSchema[]
  readonly const?: unknown
  readonly enum?: unknown
  /**
   * A schema that describes less than there is, because the value is checked by hand with errors of its own, or has
   * itself inside, says here what it leaves out. No validator knows it, no description shows it.
   */
  readonly 'x-names'?: () => NamedSchema
  /** Why the member is refused: what it is for does not exist yet. */
  readonly 'x-refused'?: string
}

/** Whether a body of this shape has members with names, of which one can be misspelled; maps and free values have none. */
export function hasNamedMembers(schema: NamedSchema | undefined): boolean {
  if (!schema) return false
  if (schema['x-names'] || Object.keys(schema.properties ?? {}).length > 0) return true
  const { anyOf = [], oneOf = [], allOf = [], items, additionalProperties: rest } = schema
  const values = Object.values(schema.patternProperties ?? {})
  const inner = [
    ...anyOf,
    ...oneOf,
    ...allOf,
    ...values,
    ...(items ? [items] : []),
    ...(typeof rest === 'object' ? [rest] : []),
  ]
  return inner.some(hasNamedMembers)
}
