/** The parts of a schema that are read to find the names that a value may have. */
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
   * For a schema that is incomplete, because the value is checked by hand with specific errors, or is recursive: returns the
   * missing names. No validator knows this member, no description shows it.
   */
  readonly 'x-names'?: () => NamedSchema
  /** The reason why the member is refused: its feature does not exist yet. */
  readonly 'x-refused'?: string
}

/** Whether a body of this schema has members whose names can be misspelled; maps and free values have none. */
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
