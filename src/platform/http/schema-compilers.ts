import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { once } from '../values/once.ts'
import { withSafeIntegers } from '../values/safe-integers.ts'

const common = {
  removeAdditional: false,
  useDefaults: true,
  allErrors: false,
  strict: false,
  discriminator: true,
  // The schema of schemas would be compiled with the first one: 80 ms (measured on a busy machine) in which no other request is
  // served, for each of the two compilers, and 3 MB. Ours are checked by a test.
  validateSchema: false,
  // Without this option, compiling takes twice as long, for code that is hardly faster.
  code: { optimize: false },
} as const

interface CompilerOwner {
  setValidatorCompiler(compiler: FastifySchemaCompiler<FastifySchema>): unknown
  setSerializerCompiler(compiler: FastifySerializerCompiler<FastifySchema>): unknown
}

/**
 * Bodies are validated as sent; query strings and path parameters, which are text, are coerced. A schema is compiled when its route
 * is first used: compiling all of them takes a third of a second, and memory, although most are never used. Returns a function that
 * checks all and compiles the rest, so that a test finds an invalid schema.
 */
export function useLazyCompilers(app: CompilerOwner): () => void {
  const strict = formats.default(new Ajv({ ...common, coerceTypes: false }))
  const coercing = formats.default(new Ajv({ ...common, coerceTypes: 'array' }))
  const serializers = SerializerSelector()({}, {})
  const pending: (() => unknown)[] = []

  app.setValidatorCompiler(({ schema, httpPart }) => {
    const compiled = once(() => (httpPart === 'body' ? strict : coercing).compile(withSafeIntegers(schema as object)))
    pending.push(compiled, () => strict.validateSchema(schema as object, true))
    // The framework reads the errors from the function that it called.
    const switches = httpPart === 'querystring' ? booleansOf(schema as object) : []
    const validate = (data: unknown): boolean => {
      for (const name of switches) readSwitch(data as Record<string, unknown>, name)
      const valid = compiled()(data)
      validate.errors = compiled().errors
      return valid
    }
    validate.errors = undefined as ReturnType<typeof compiled>['errors']
    return validate
  })
  app.setSerializerCompiler((route) => {
    const compiled = once(() => serializers({ ...route, httpStatus: route.httpStatus ?? 'default' }))
    pending.push(compiled)
    return (data) => compiled()(data)
  })
  return () => {
    for (const compile of pending) compile()
  }
}

/** Names of boolean parameters. */
function booleansOf(schema: { readonly properties?: Readonly<Record<string, { readonly type?: unknown }>> }): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) => (type === 'boolean' ? [name] : []))
}

const switchWords: Readonly<Record<string, boolean>> = { '1': true, true: true, '': true, '0': false, false: false }

/** Every switch of a query accepts the words of `Flag` (query.ts). */
function readSwitch(query: Record<string, unknown>, name: string): void {
  const word = query[name]
  if (typeof word === 'string' && Object.hasOwn(switchWords, word)) query[name] = switchWords[word]
}
