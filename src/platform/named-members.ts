interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly 'x-names'?: () => Schema
}

/** Whether a body of this shape has members with names, of which one can be misspelled; maps and free values have none. */
export function hasNamedMembers(schema: Schema | undefined): boolean {
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
