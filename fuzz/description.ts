import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { JsonSchema, OpenApiDocument, OpenApiOperation } from '../src/system/openapi/model.ts'

export interface DescribedOperation extends OpenApiOperation {
  method: string
  template: string
}

/** The OpenAPI description, ready to be compared with answers. */
export interface Description {
  readonly operations: readonly DescribedOperation[]
  /** The difference between the answer and the description; null when it is as described. */
  judge(operation: DescribedOperation, answer: { status: number; type: string; body: Buffer }): string | null
  /** Names of members and parameters that occur anywhere. */
  readonly keys: readonly string[]
  /** Values of all enumerations. */
  readonly values: readonly unknown[]
}

export function readDescription(document: OpenApiDocument): Description {
  const operations = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ ...one, template, method: method.toUpperCase() })),
  )
  const ajv = formats.default(new Ajv2020({ strict: false, validateFormats: false }))
  ajv.addSchema({ $id: 'interface', components: document.components })
  const validators = new Map<string, ValidateFunction>()
  const validatorOf = (key: string, schema: JsonSchema): ValidateFunction => {
    const known = validators.get(key)
    if (known) return known
    const text = JSON.stringify(schema).replaceAll('"#/components', '"interface#/components')
    const made = ajv.compile(JSON.parse(text))
    validators.set(key, made)
    return made
  }
  return {
    operations,
    keys: namesIn(document),
    values: constantsIn(document),
    judge(operation, { status, type, body }) {
      const said = operation.responses[status]
      if (!said) return `the status ${status} is not described`
      if (!type.includes('json')) return null
      const schema = said.content?.['application/json']?.schema
      if (!schema || body.length === 0) return null
      const value = JSON.parse(body.toString())
      const validate = validatorOf(`${operation.operationId} ${status}`, schema)
      if (validate(value)) return null
      const [error] = validate.errors ?? []
      const code = status >= 400 ? `${value.code}: ` : ''
      return `an answer ${status} is not as described: ${code}${error?.instancePath} ${error?.message}`
    },
  }
}

function constantsIn(document: OpenApiDocument): unknown[] {
  const constants = new Set<unknown>()
  const look = (value: unknown, key = ''): void => {
    if (typeof value !== 'object' || value === null || key.startsWith('example') || key === 'responses') return
    for (const one of (value as JsonSchema).enum ?? []) constants.add(one)
    for (const [name, member] of Object.entries(value)) look(member, name)
  }
  look(document.components.schemas)
  look(document.paths)
  return [...constants]
}

function namesIn(document: OpenApiDocument): string[] {
  const names = new Set<string>()
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { properties } = value as JsonSchema
    if (properties && typeof properties === 'object') for (const name of Object.keys(properties)) names.add(name)
    for (const member of Object.values(value)) look(member)
  }
  look(document.components.schemas)
  look(document.paths)
  return [...names].sort()
}
