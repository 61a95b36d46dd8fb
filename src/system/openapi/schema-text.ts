import type { JsonSchema } from './model.ts'

const deepest = 8

/** A JSON schema as short text: `{ name!: string, rows: array of Row }`, one member per line. */
export function schemaText(schema: JsonSchema | undefined, indent = ''): string {
  if (!schema) return 'any'
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? ''
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (alternatives) {
    const joint = schema.allOf ? ' & ' : ' | '
    return [...new Set(alternatives.map((one) => schemaText(one, indent)))].join(joint)
  }
  if (schema.items) return `array of ${schemaText(schema.items, indent)}`
  if (schema.properties) return objectText(schema, indent)
  const values = schema.patternProperties ? Object.values(schema.patternProperties)[0] : schema.additionalProperties
  if (typeof values === 'object') return `map of ${schemaText(values, indent)}`
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'any')
  return schema.format ? `${type} (${schema.format})` : type
}

function objectText(schema: JsonSchema, indent: string): string {
  if (indent.length >= 2 * deepest) return 'object'
  const inner = `${indent}  `
  const lines = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const comment = member.description ? `  // ${member.description}` : ''
    return `${inner}${name}${schema.required?.includes(name) ? '!' : ''}: ${schemaText(member, inner)}${comment}`
  })
  return lines.length === 0 ? 'object' : `{\n${lines.join('\n')}\n${indent}}`
}
